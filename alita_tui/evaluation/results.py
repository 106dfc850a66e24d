"""The setup of a suite's run, and its results: one for each case that ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from alita_tui.events import Value, digest_of, ready

Rule = Literal["none", "policy", "digests", "person"]
"""Who approves builds: nobody; the rules of the policy; the digests that were approved before; a person."""

Without = Literal["memory", "learning", "hidden-tests", "planner"]
"""Parts of alita that a run switches off, to measure their effect."""

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
"""Why a case was not solved, derived from its record. `misread task` is used if the record shows no error. Older
versions wrote `wrong answer` for that and for the two kinds above it. With `harness` alita itself failed."""

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
    "misread task": "no step failed, yet the answer is wrong, so the task was probably misread",
    "wrong answer": "answered wrongly",
    "harness": "the case itself could not be run or checked",
}


class Setup(Value, frozen=True):
    """Everything on which a run depends."""

    run: str
    suite: str
    suite_path: str
    suite_digest: str
    models: tuple[str, ...]
    """Written as `provider:name`."""
    configured: bool = False
    """True if no model was named, so that the settings decide the models of all roles."""
    repeat: int = 1
    budget_usd: float = 0.0
    """Cap of the whole run in US dollars; 0 for only the caps of the settings."""
    approve: Rule = "none"
    without: tuple[Without, ...] = ()
    stream: bool = False
    """True if the cases of one model and repeat run one after the other in the same home."""
    tags: tuple[str, ...] = ()
    """Only cases with one of these tags are run; empty for all."""
    cases: int = 0
    """Maximum number of cases, always the same ones of a suite; 0 for all."""
    planned: int = 0
    """Number of cases times models times repeats; 0 if unknown, as older versions did not count them."""
    started_at: str = ""
    """ISO 8601, UTC."""
    version: str = ""
    """Version of alita."""
    python: str = ""
    settings: dict[str, str] = {}
    """Settings that differ from their defaults; no secret is a setting."""
    prompts: dict[str, str] = {}
    """SHA-256 of each prompt, by name."""
    library_digest: str = ""
    """Digest of the tools that each case, or each stream, begins with; older versions left it empty for none."""
    approved_digests: tuple[str, ...] = ()
    """For the rule `digests`: the digests that were approved when the run began."""


class CaseResult(Value, frozen=True):
    """The result of one repeat of a case with one model."""

    case: str
    model: str
    turn: int
    """Number of the repeat, from 1."""
    session_id: str = ""
    home: str = ""
    """Folder of the case's home, in the run's folder."""
    solved: bool = False
    why: str = ""
    """What the check found."""
    failure: FailureKind = ""
    at: int = 0
    """Number of the event that shows the failure; 0 for none."""
    outcome: str = ""
    answer: str = ""
    usd: float = 0.0
    """Known cost, including assumed prices if the settings assume any."""
    judge_usd: float = 0.0
    """Cost of the judge of a rubric, which `usd` leaves out."""
    unpriced: int = 0
    """Number of calls without a known price."""
    tokens: int = 0
    seconds: float = 0.0
    """Duration without waiting for the person."""
    steps: int = 0
    calls: int = 0
    """Number of model calls."""
    runs: int = 0
    """Number of tool runs."""
    reused: int = 0
    """Number of runs of tools that this task did not build."""
    builds: int = 0
    library_digest: str = ""
    """Digest of the tools in the case's home at its end; in a stream the next case begins with them."""
    ungrounded: int = 0
    overhead_ms: float = 0.0
    """Time for creating the home and for the check."""

    @property
    def key(self) -> tuple[str, str, int]:
        """Case, model and number of the repeat."""
        return self.case, self.model, self.turn


def library_digest(tools: Iterable[tuple[str, str]]) -> str:
    """Return the digest of a library; of each tool a name, and the digest of its build or what describes it."""
    return digest_of(*(text for tool in tools for text in tool))


NO_TOOLS = library_digest(())


def lines(raw: bytes) -> tuple[CaseResult, ...]:
    """Return the results in JSON Lines, each key once; a line that a kill cut off is left out."""
    results: dict[tuple[str, str, int], CaseResult] = {}
    for line in raw.split(b"\n"):
        try:
            result = msgspec.json.decode(line, type=ready(CaseResult))
        except (msgspec.DecodeError, RecursionError):
            continue
        results.setdefault(result.key, result)
    return tuple(results.values())


def share(results: tuple[CaseResult, ...]) -> float:
    """Return the share of solved cases, 0 to 1; 0 if there are none."""
    return sum(result.solved for result in results) / len(results) if results else 0.0
