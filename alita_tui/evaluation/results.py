"""What a run of a suite is and gave: its setup in one file, a line for each case that ended."""

from __future__ import annotations

from typing import Literal

import msgspec

from alita_tui.events import Value, ready

Rule = Literal["none", "policy", "digests", "person"]
"""Who approves builds: nobody; the rules of the policy; the digests that were approved before; a person."""

Without = Literal["memory", "learning", "hidden-tests", "planner"]
"""What a run leaves out, to see what it brings."""

FailureKind = Literal[
    "",
    "budget",
    "provider",
    "sandbox",
    "loop",
    "approval",
    "question",
    "malformed call",
    "tool failed",
    "missing tool",
    "wrong tool",
    "gap misjudged",
    "ungrounded answer",
    "not found",
    "misread task",
    "wrong answer",
    "harness",
]
"""Why a case was not solved, derived from the record. `misread task` remains where the record shows no error;
`wrong answer` was written by older versions for that and the two above it; `harness`: alita itself failed."""

FAILURE_WORDS: dict[FailureKind, str] = {
    "": "solved",
    "budget": "the budget was used up",
    "provider": "the model did not answer",
    "sandbox": "there was no sandbox",
    "loop": "went round in circles, or ran out of steps",
    "approval": "a build was not approved",
    "question": "asked the person, and nobody was there",
    "malformed call": "asked for an action in a form that it does not have",
    "tool failed": "a tool failed",
    "missing tool": "a tool was missing and could not be built",
    "wrong tool": "the answer is what a tool returned, and that is not what was asked for",
    "gap misjudged": "no tool was made where one was missing, or one was made where there was one",
    "ungrounded answer": "figures that nothing supports",
    "not found": "the tool that fits was not among those that a search found",
    "misread task": "nothing went wrong on record, so the task was read otherwise",
    "wrong answer": "answered wrongly",
    "harness": "the case itself could not be run or checked",
}


class Setup(Value, frozen=True):
    """Everything that a run depends on, as it was."""

    run: str
    suite: str
    suite_path: str
    suite_digest: str
    models: tuple[str, ...]
    """As `provider:name`."""
    configured: bool = False
    """The model is the one of the settings, with the models of all other roles; none was named."""
    repeat: int = 1
    budget_usd: float = 0.0
    """Cap of the whole run in US dollars; 0: none but those of the settings."""
    approve: Rule = "none"
    without: tuple[Without, ...] = ()
    stream: bool = False
    """The cases of one model and repeat share a home, one after the other."""
    tags: tuple[str, ...] = ()
    """Cases with one of these alone; empty: all."""
    cases: int = 0
    """So many cases at most, always the same for a suite; 0: all."""
    planned: int = 0
    """Cases of the run, times models and repeats; 0: not known, as older versions did not count them."""
    started_at: str = ""
    """ISO 8601, UTC."""
    version: str = ""
    """Of alita."""
    python: str = ""
    settings: dict[str, str] = {}
    """Those that are not at their defaults; no secret is a setting."""
    prompts: dict[str, str] = {}
    """SHA-256 of each prompt by its name."""
    library_digest: str = ""
    """Over the tools that each case can find from the start; empty for none."""
    approved_digests: tuple[str, ...] = ()
    """For `digests`: those that were approved when the run began."""


class CaseResult(Value, frozen=True):
    """One case that ended, with one model, once."""

    case: str
    model: str
    turn: int
    """Which repeat, from 1."""
    session_id: str = ""
    home: str = ""
    """Folder of the case's home, in the run's folder."""
    solved: bool = False
    why: str = ""
    """What the check saw."""
    failure: FailureKind = ""
    at: int = 0
    """The event where it went wrong; 0: none."""
    outcome: str = ""
    answer: str = ""
    usd: float = 0.0
    """What is known to be paid; with assumed prices where the settings assume them."""
    judge_usd: float = 0.0
    """What the judge of a rubric cost, besides."""
    unpriced: int = 0
    """Calls without a known price."""
    tokens: int = 0
    seconds: float = 0.0
    """Of the agent's own time; without waiting for the person."""
    steps: int = 0
    calls: int = 0
    """Of models."""
    runs: int = 0
    """Of tools."""
    reused: int = 0
    """Runs of tools that this task did not build."""
    builds: int = 0
    ungrounded: int = 0
    overhead_ms: float = 0.0
    """What making the home and the check took."""

    @property
    def key(self) -> tuple[str, str, int]:
        """Return which case it is, with which model, which time."""
        return self.case, self.model, self.turn


def lines(raw: bytes) -> tuple[CaseResult, ...]:
    """Return the results in a file of JSON lines; a line that a kill cut off is left out. A case counts once."""
    results: dict[tuple[str, str, int], CaseResult] = {}
    for line in raw.split(b"\n"):
        try:
            result = msgspec.json.decode(line, type=ready(CaseResult))
        except (msgspec.DecodeError, RecursionError):
            continue
        results.setdefault(result.key, result)
    return tuple(results.values())


def share(results: tuple[CaseResult, ...]) -> float:
    """Return the share that was solved; 0 for none."""
    return sum(result.solved for result in results) / len(results) if results else 0.0
