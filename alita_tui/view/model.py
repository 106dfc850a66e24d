"""The frozen view of a session. Widgets draw it; nothing else holds what the screen means.

Text is neutralised on the way in, except in `Attempt`, which keeps the exact bytes that an
approval has to show.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from alita_tui.spine.events import ProviderState, TaskOutcome
from alita_tui.spine.text import SafeText
from alita_tui.spine.values import (
    Capabilities,
    Finding,
    GateName,
    GateResult,
    Lasting,
    LimitHit,
    Lock,
    MemoryItem,
    NearMiss,
    RunReport,
    SandboxStatus,
    Source,
    ToolCard,
    ToolDraft,
    Twin,
    build_digest,
)
from alita_tui.view.later import Later
from alita_tui.view.rows import Rows
from alita_tui.view.spending import Spend

RowKind = Literal[
    "session",
    "task",
    "plan",
    "thought",
    "action",
    "observation",
    "build",
    "approval",
    "run",
    "question",
    "memory",
    "notice",
    "error",
    "answer",
    "unknown",
]
Tone = Literal["normal", "muted", "good", "warn", "bad", "wait"]
Phase = Literal["idle", "thinking", "acting", "building", "running", "waiting", "asking", "parked", "closed"]


class TraceRow(msgspec.Struct, frozen=True, gc=False):
    """One entry of the ReAct trace. Rows are only ever appended."""

    seq: int
    at: datetime
    step: int
    span: str
    kind: RowKind
    title: SafeText
    text: SafeText | Later = msgspec.field(default=SafeText(""), name="detail")
    """What `detail` gives, or where that is read again."""
    meta: SafeText = SafeText("")
    """A short figure for the right edge: a duration, a score, a count."""
    tone: Tone = "normal"

    @property
    def detail(self) -> SafeText:
        """The whole text, shown when the row is opened; may have many lines."""
        return self.text if isinstance(self.text, str) else self.text.read()


class TaskView(msgspec.Struct, frozen=True, gc=False):
    """A task and how it ended."""

    task_id: str
    text: SafeText
    started: datetime
    again: str = ""
    """The parked task that it goes on with."""
    outcome: TaskOutcome | None = None
    answer: SafeText = SafeText("")
    reason: SafeText = SafeText("")
    hint: SafeText = SafeText("")


BuildState = Literal[
    "drafting",
    "reviewing",
    "locking",
    "testing",
    "repairing",
    "pending",
    "approved",
    "rejected",
    "edited",
    "retested",
    "stopped",
    "banned",
    "withdrawn",
    "registered",
    "aliased",
    "linked",
    "lent",
    "failed",
]


GATES: dict[GateName, str] = {
    "requirements": "Requirements",
    "contract": "Contract",
    "capabilities": "Capabilities",
    "literals": "Literal leak",
    "coverage": "Coverage",
    "mutation": "Mutation",
    "conditions": "Other conditions",
    "fuzz": "Inputs from the schema",
    "growth": "Time over input size",
    "hidden": "Hidden tests",
    "neighbours": "Neighbours",
    "replay": "Recorded calls",
}
"""What the gates are called on screen, in the order in which they are shown."""


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """One draft of a build and what was observed of it. Raw text: reveal it before showing."""

    number: int
    author: Literal["model", "person"]
    model: str
    draft: ToolDraft
    digest: str
    findings: tuple[Finding, ...] = ()
    imports: tuple[str, ...] = ()
    reviewed: bool | None = None
    lock: Lock | None = None
    lock_problem: str = ""
    reports: tuple[RunReport, ...] = ()
    passed: bool | None = None
    problem: str = ""
    granted: Capabilities = Capabilities()
    """What a person had the tests run with again; nothing while that was not asked for."""
    granted_reports: tuple[RunReport, ...] = ()
    granted_problem: str = ""
    gates: tuple[GateResult, ...] = ()
    """What each gate that looked found out, in the order of GATES."""

    @property
    def unchecked(self) -> tuple[GateName, ...]:
        """Gates of which nothing is on record."""
        looked = {one.gate for one in self.gates}
        return tuple(name for name in GATES if name not in looked)

    @property
    def twins(self) -> tuple[Twin, ...]:
        """Tools of the library that give the same answers, the nearest first."""
        return next((one.twins for one in self.gates if one.gate == "neighbours"), ())

    @property
    def build_digest(self) -> str:
        """Of the bytes held here: what an approval of this attempt would name."""
        return build_digest(self.draft, self.lock or Lock())


class BuildView(msgspec.Struct, frozen=True, gc=False):
    """A build from the gap to the verdict."""

    build_id: str
    action_id: str
    name: str
    version: int
    goal: str
    step: int
    task_id: str = ""
    task: str = ""
    parent: ToolDraft | None = None
    near_misses: tuple[NearMiss, ...] = ()
    sources: tuple[Source, ...] = ()
    lessons: tuple[str, ...] = ()
    """Why earlier builds were rejected, as the toolsmith was told."""
    attempts: tuple[Attempt, ...] = ()
    state: BuildState = "drafting"
    put_off: bool = False
    """Whether the task goes on without it."""
    approval_id: str = ""
    digest: str = ""
    """The digest that approval is asked for; empty before."""
    requested_at: datetime | None = None
    resolved_at: datetime | None = None
    reason: str = ""
    by: str = ""
    lasting: Lasting = "library"
    grants: Capabilities | None = None
    """What was granted of what the draft asks for; None for all of it."""
    accepted: tuple[str, ...] = ()
    """The names of the risks that were accepted with it."""
    banned: tuple[str, ...] = ()
    alias_of: Twin | None = None
    """The tool that its name became another name of."""
    spent_usd: float = 0.0
    """Known spend on it so far: drafts, repairs, hidden tests."""
    limit_usd: float | None = None
    """What it may cost; None: as much as its task."""

    @property
    def cost(self) -> str:
        """What it cost so far, of what it may; empty where nothing is known of it."""
        if self.limit_usd is None:
            return f"${self.spent_usd:.4f}" if self.spent_usd else ""
        return f"${self.spent_usd:.4f} of ${self.limit_usd:.4f}"

    @property
    def current(self) -> Attempt | None:
        """The newest draft."""
        return self.attempts[-1] if self.attempts else None

    @property
    def presented(self) -> Attempt | None:
        """The draft whose bytes approval is asked for; the newest where none has that digest."""
        asked = (one for one in reversed(self.attempts) if one.build_digest == self.digest)
        return next(asked, self.current)


class SandboxRun(msgspec.Struct, frozen=True, gc=False):
    """One run in the sandbox, finished."""

    run_id: str
    title: SafeText
    at: datetime
    status: str
    stdout: SafeText
    stderr: SafeText
    exit_code: int | None
    duration_ms: float
    peak_memory_bytes: int
    limits_hit: tuple[LimitHit, ...]
    truncated: bool
    reason: SafeText = SafeText("")
    """Why it did not end well, in a word or two."""
    cpu_ms: float = 0.0
    cases: tuple[tuple[str, bool], ...] = ()
    """Self-tests as (name, passed)."""


class Question(msgspec.Struct, frozen=True, gc=False):
    """A question that waits for the person."""

    question_id: str
    text: SafeText
    about: Literal["task", "budget"] = "task"


class ProviderView(msgspec.Struct, frozen=True, gc=False):
    """A model that was asked, or that may not be asked for now."""

    model: SafeText
    state: ProviderState = "closed"
    reason: SafeText = SafeText("")
    until: datetime | None = None
    """When it is tried again."""
    tokens_per_second: float = 0.0
    """Of its last reply; 0 when unknown."""
    serves: bool = False
    """True for the model that the orchestrator asked last."""


class LiveOutput(msgspec.Struct, frozen=True, gc=False):
    """What a run is printing right now."""

    run_id: str
    title: SafeText
    text: SafeText


class Live(msgspec.Struct, frozen=True, gc=False):
    """What is still growing. Never stored, and no part of a view's identity."""

    role: str = ""
    thinking: SafeText = SafeText("")
    text: SafeText = SafeText("")
    arguments: SafeText = SafeText("")
    output: LiveOutput | None = None
    work: SafeText = SafeText("")
    work_detail: SafeText = SafeText("")
    work_done: float = 0.0
    work_total: float = 0.0
    unsaved: SafeText = SafeText("")
    """Why nothing can be saved at present, and what to do about it."""


class SessionView(msgspec.Struct, frozen=True, eq=False):
    """The whole screen as data. Two views are equal when their durable parts are."""

    session_id: str = ""
    title: SafeText = SafeText("")
    model: SafeText = SafeText("")
    recorded: bool = False
    parent: str | None = None
    seq: int = 0
    at: datetime | None = None
    step: int = 0
    phase: Phase = "idle"
    tasks: Rows[TaskView] = Rows()
    plan: tuple[SafeText, ...] = ()
    trace: Rows[TraceRow] = Rows()
    library: tuple[ToolCard, ...] = ()
    touched: str = ""
    """Name of the tool that was registered, found or run last."""
    builds: Rows[BuildView] = Rows()
    runs: tuple[SandboxRun, ...] = ()
    sandbox: SandboxStatus | None = None
    spend: Spend = Spend()
    providers: tuple[ProviderView, ...] = ()
    question: Question | None = None
    recalled: tuple[MemoryItem, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    """Open tool calls as (call id, tool name)."""
    live: Live = Live()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SessionView):
            return NotImplemented
        durable = (name for name in self.__struct_fields__ if name != "live")
        return self is other or all(getattr(self, name) == getattr(other, name) for name in durable)

    __hash__ = None  # type: ignore[assignment]

    @property
    def task(self) -> TaskView | None:
        """The newest task."""
        return self.tasks[-1] if self.tasks else None

    @property
    def busy(self) -> bool:
        """True while the agent works or waits on a task."""
        return self.phase not in ("idle", "parked", "closed")
