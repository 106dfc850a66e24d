"""Builds: drafts, the evidence about them, and the person's verdict."""

from __future__ import annotations

from typing import Literal, NamedTuple

from alita_tui.events.base import BuildDigest, BuildId, DraftDigest, Fact, Json, Value
from alita_tui.events.library import Lasting, NearMiss
from alita_tui.events.tool import Capabilities, Lock, RunReport, ToolDraft, Twin
from alita_tui.events.web import Source


class Finding(Value, frozen=True):
    """One remark of the static review."""

    severity: Literal["info", "low", "medium", "high"]
    rule: str
    """`contract`, `schema`, `ast/...` or a bandit id such as `B602`."""
    text: str
    line: int = 0
    """1-based line in the code; 0 if none applies."""
    blocking: bool = False
    """True if the draft has to be repaired before it is tested."""


GateName = Literal[
    "requirements",
    "contract",
    "capabilities",
    "literals",
    "coverage",
    "mutation",
    "conditions",
    "fuzz",
    "growth",
    "hidden",
    "neighbours",
    "replay",
]


class CheckLabel(NamedTuple):
    """The title of a check, and the name of its risk."""

    title: str
    risk: str
    """The name by which the person accepts its failure."""


CHECKS: dict[GateName, CheckLabel] = {
    "requirements": CheckLabel("Requirements", "packages"),
    "contract": CheckLabel("Contract", "examples-fail"),
    "capabilities": CheckLabel("Permissions", "reach"),
    "literals": CheckLabel("Copied answers", "literal-leak"),
    "coverage": CheckLabel("Coverage", "never-run"),
    "mutation": CheckLabel("Planted bugs", "weak-tests"),
    "conditions": CheckLabel("Other conditions", "conditions"),
    "fuzz": CheckLabel("Inputs from the schema", "schema-inputs"),
    "growth": CheckLabel("Time over input size", "slow"),
    "hidden": CheckLabel("Hidden tests", "hidden-tests"),
    "neighbours": CheckLabel("Neighbours", "twin"),
    "replay": CheckLabel("Recorded calls", "other-results"),
}
"""All checks in the order in which they are shown."""


GateState = Literal["passed", "failed", "skipped"]


class GateRow(Value, frozen=True):
    """One line of a check's details."""

    label: str
    text: str
    tone: Literal["", "good", "warn", "bad", "muted"] = ""
    line: int = 0
    """The line of the code that it refers to; 0 for none."""


class GateResult(Value, frozen=True):
    """The result of one check of a draft."""

    gate: GateName
    state: GateState
    """`skipped`: it could not run, which does not count as passed."""
    summary: str
    """What was found, or why it could not run, in one line."""
    rows: tuple[GateRow, ...] = ()
    good: int = 0
    """Number of `tried` in favour of the draft: hidden tests passed, planted bugs caught, calls with equal results."""
    tried: int = 0
    """Number of tests, bugs or calls; 0 if the check counts none, and in records of earlier versions."""
    duration_ms: float = 0.0
    twins: tuple[Twin, ...] = ()
    """Tools that give the same answers, the nearest first."""
    no_fault_database: bool = False
    """True if nothing is wrong except that no fault database answered."""
    accepted_with: str = ""
    """The tool for which a person accepted that earlier in the session; empty if nobody did."""


class BuildStarted(Fact, frozen=True):
    """The toolsmith began to build a tool or a new version of one."""

    build_id: BuildId
    action_id: str
    name: str
    goal: str
    task: str = ""
    """What the person asked for, in their words."""
    version: int = 1
    parent: ToolDraft | None = None
    """The version that this one would replace."""
    near_misses: tuple[NearMiss, ...] = ()
    sources: tuple[Source, ...] = ()
    lessons: tuple[str, ...] = ()
    """Why earlier builds were rejected, as given to the toolsmith."""
    examples: tuple[Json, ...] = ()
    """Examples in the agent's order, each `{"input": ARGUMENTS, "output": RESULT}`."""
    given: tuple[str, ...] = ()
    """A proposal's material from earlier sessions: failed calls, needs, other tools' code. Untrusted."""


class BuildDrafted(Fact, frozen=True):
    """A draft was written."""

    build_id: BuildId
    attempt: int
    """1 for the first draft; each repair adds one."""
    author: Literal["model", "person"]
    model: str
    draft: ToolDraft
    digest: DraftDigest
    language_reason: str = ""
    """The model's reason for another language than Python."""


class BuildReviewed(Fact, frozen=True):
    """A draft was reviewed without running it."""

    build_id: BuildId
    attempt: int
    digest: DraftDigest
    findings: tuple[Finding, ...] = ()
    passed: bool = True
    imports: tuple[str, ...] = ()
    """Top-level modules the code imports."""


class RequirementsLocked(Fact, frozen=True):
    """The requirements were resolved to hashed packages, or refused."""

    build_id: BuildId
    attempt: int
    lock: Lock
    problem: str = ""


class BuildTested(Fact, frozen=True):
    """The draft's own tests ran in the sandbox."""

    build_id: BuildId
    attempt: int
    digest: DraftDigest
    passed: bool
    reports: tuple[RunReport, ...]
    """One per repetition."""
    problem: str = ""
    """Why it does not pass, in one line."""
    granted: Capabilities = Capabilities()
    """The grants of the tests, if the person asked for a test with grants; otherwise nothing."""


class GateChecked(Fact, frozen=True):
    """A check of a draft passed, failed, or could not run."""

    build_id: BuildId
    attempt: int
    digest: DraftDigest
    result: GateResult


class BuildFailed(Fact, frozen=True):
    """The build failed."""

    build_id: BuildId
    reason: str


class ApprovalRequested(Fact, frozen=True):
    """A build waits for a verdict. This is on disk before the person is asked."""

    approval_id: str
    build_id: BuildId
    digest: BuildDigest
    name: str
    version: int


Decision = Literal["approved", "rejected", "edited", "retested", "stopped", "banned", "aliased", "withdrawn"]
"""`edited`: a draft by the person follows. `retested`: the self-tests run again with these grants, then the person is
asked again. `stopped`: the task ends, too. `banned`: rejected, and never asked about again. `aliased`: nothing is
registered; the name becomes an alias of a tool that gives the same answers. `withdrawn`: its task was cancelled, or the
person dropped the build without a verdict.
"""


class Verdict(Value, frozen=True):
    """A decision about a build: who decided what, and why.

    The same struct is in the command, the event, the state, and the notes of the verdict inbox.
    """

    decision: Decision
    reason: str = ""
    tags: tuple[str, ...] = ()
    """Common reasons of a rejection, such as `unsafe`."""
    lasting: Lasting = "library"
    """For `approved`: how long the approval lasts."""
    grants: Capabilities | None = None
    """For `approved` and `retested`: the granted part of what the draft asks for; None for all of it."""
    accepted: tuple[str, ...] = ()
    """For `approved`: the names of the risks that were accepted, as in `view.risk`."""
    banned: tuple[str, ...] = ()
    """For `banned`: `name`, `digest`, and words of `Capabilities.items`."""
    alias_of: Twin | None = None
    """For `aliased`: one of the twins that the neighbours check found."""
    by: str = ""
    """The account that decided, or the rule of the policy; set by the process that takes the command."""
    via: Literal["console", "cli", "engine", "policy"] = "console"
    seen_ms: float = 0.0
    """How long the build was on screen."""
    scrolled_to_end: bool = False

    @property
    def refuses(self) -> bool:
        """True if the person decided against the build."""
        return self.decision in ("rejected", "banned", "stopped")

    @property
    def why(self) -> str:
        """Tags and reason in one line."""
        return ": ".join(text for text in (", ".join(self.tags), self.reason) if text)


class ApprovalResolved(Fact, frozen=True):
    """A person or a rule decided on exactly these bytes. This is on disk before the decision is carried out."""

    approval_id: str
    build_id: BuildId
    digest: BuildDigest
    verdict: Verdict
    signature: str = ""
    """Signature with the key of the audit log of the home where it was given; empty in sessions before version 0.2."""


class BuildPutOff(Fact, frozen=True):
    """The person decides later: the build keeps waiting, and the agent continues without it."""

    build_id: BuildId
    approval_id: str
