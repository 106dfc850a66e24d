"""The view of a session: its state with neutralised texts, trace rows, and live output.

Widgets draw it. Builds hold exact bytes, because an approval has to show them; reveal these before showing them.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Literal

import msgspec

from alita_tui.events import (
    NO_TASK,
    LimitHit,
    ProviderState,
    SandboxStatus,
    TaskId,
    TaskOutcome,
    ToolCard,
)
from alita_tui.spine.text import SafeText, neutralise, one_line
from alita_tui.state.build import BuildState
from alita_tui.state.lanes import phase_of
from alita_tui.state.providers import Provider
from alita_tui.state.queue import Queue
from alita_tui.state.rows import Rows
from alita_tui.state.session import Phase, Question, Run, SessionState, TaskState
from alita_tui.state.spend import Share, Spend
from alita_tui.view.deferred_text import DeferredText
from alita_tui.view.plan import offered

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
    "file",
    "question",
    "memory",
    "notice",
    "error",
    "answer",
    "unknown",
]
Tone = Literal["normal", "muted", "good", "warn", "bad", "wait"]


class TraceRow(msgspec.Struct, frozen=True, gc=False):
    """One entry of the ReAct trace. Rows are only ever appended."""

    seq: int
    at: datetime
    step: int
    span: str
    kind: RowKind
    title: SafeText
    text: SafeText | DeferredText = msgspec.field(default=SafeText(""), name="detail")
    """The detail, or a stand-in that reads it."""
    meta: SafeText = SafeText("")
    """A short figure for the right edge: a duration, a score, a count."""
    tone: Tone = "normal"
    task: TaskId = NO_TASK
    """Id of its task; empty if the record has none."""
    key: str = ""
    """Id of the action, call or build whose rows make one card; empty for a row with its own card."""
    within: str = ""
    """Id of the action or call that began `key`."""
    action: str = ""
    """Name of the action that the row begins; empty for other rows."""

    @property
    def detail(self) -> SafeText:
        """The complete text, shown when the row is opened; it may have many lines."""
        return self.text if isinstance(self.text, str) else self.text.read()


class TaskView(msgspec.Struct, frozen=True, gc=False):
    """A task and how it ended."""

    task_id: TaskId
    text: SafeText
    started: datetime
    again: TaskId = NO_TASK
    """Id of the task that it continues; empty for a new one."""
    outcome: TaskOutcome | None = None
    answer: SafeText = SafeText("")
    reason: SafeText = SafeText("")
    hint: SafeText = SafeText("")

    @classmethod
    def of(cls, task: TaskState) -> TaskView:
        """Return the neutralised view of a task."""
        return cls(
            task.task_id,
            neutralise(task.text),
            task.started,
            task.again,
            task.outcome,
            neutralise(task.answer),
            neutralise(task.reason),
            neutralise(task.hint),
        )


class SandboxRun(msgspec.Struct, frozen=True, gc=False):
    """A finished run in the sandbox."""

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
    """Why it failed, in a word or two."""
    cpu_ms: float = 0.0
    cases: tuple[tuple[str, bool], ...] = ()
    """Self-tests as (name, passed)."""

    @classmethod
    def of(cls, run: Run) -> SandboxRun:
        """Return the neutralised view of a run."""
        report = run.report
        return cls(
            run_id=run.run_id,
            title=one_line(run.title),
            at=run.at,
            status=report.status,
            stdout=neutralise(report.stdout),
            stderr=neutralise(report.stderr + (f"\n{report.error}" if report.error else "")),
            exit_code=report.exit_code,
            duration_ms=report.duration_ms,
            peak_memory_bytes=report.peak_memory_bytes,
            limits_hit=report.limits_hit,
            truncated=bool(report.truncated),
            reason=one_line(report.reason, 60),
            cpu_ms=report.cpu_ms,
            cases=tuple((one_line(case.name), case.passed) for case in report.cases),
        )


class QuestionView(msgspec.Struct, frozen=True, gc=False):
    """A question to the person."""

    question_id: str
    text: SafeText
    about: Literal["task", "budget", "server"] = "task"

    @classmethod
    def of(cls, question: Question) -> QuestionView:
        """Return the neutralised view of a question."""
        return cls(question.question_id, neutralise(offered(question.text, question.choices)), question.about)


class ProviderView(msgspec.Struct, frozen=True, gc=False):
    """A model that was asked, or that is off for now."""

    model: SafeText
    state: ProviderState = "closed"
    reason: SafeText = SafeText("")
    until: datetime | None = None
    """When it is tried again."""
    tokens_per_second: float = 0.0
    """Speed of its last reply; 0 if unknown."""
    serves: bool = False
    """True if the orchestrator asked it last."""

    @classmethod
    def of(cls, provider: Provider) -> ProviderView:
        """Return the neutralised view of a model."""
        return cls(
            one_line(provider.model),
            provider.state,
            one_line(provider.reason, 300),
            provider.until,
            provider.tokens_per_second,
            provider.serves,
        )


class LiveOutput(msgspec.Struct, frozen=True, gc=False):
    """The output of a running tool."""

    run_id: str
    title: SafeText
    text: SafeText


class Live(msgspec.Struct, frozen=True, gc=False):
    """Output that is still growing; never stored, and ignored when views are compared."""

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
    """Why nothing can be saved now, and what to do about it."""
    held: tuple[TaskId, ...] = ()
    """Unfinished tasks that wait until the person continues them."""
    held_queue: int = 0
    """Number of queued tasks that wait for the same."""

    @property
    def holds(self) -> bool:
        """True if unfinished work waits until the person continues it."""
        return bool(self.held or self.held_queue)

    def lasting(self) -> Live:
        """Return only the parts that do not depend on the shown task."""
        return Live(unsaved=self.unsaved, held=self.held, held_queue=self.held_queue)


class SessionView(msgspec.Struct, frozen=True, eq=False):
    """A session as shown on screen. Equality ignores `live`."""

    state: SessionState = SessionState()
    trace: Rows[TraceRow] = Rows()
    live: Live = Live()
    title: SafeText = SafeText("")
    model: SafeText = SafeText("")
    tasks: Rows[TaskView] = Rows()
    plan: tuple[SafeText, ...] = ()
    runs: tuple[SandboxRun, ...] = ()
    providers: tuple[ProviderView, ...] = ()
    question: QuestionView | None = None
    spend: Spend = Spend()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SessionView):
            return NotImplemented
        return self is other or (self.state == other.state and self.trace == other.trace)

    __hash__ = None  # type: ignore[assignment]

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self.state.session_id

    @property
    def seq(self) -> int:
        """Number of the newest event."""
        return self.state.seq

    @property
    def recorded(self) -> bool:
        """True if the model's replies are a recording (the demo)."""
        return self.state.recorded

    @property
    def phase(self) -> Phase:
        """What the agent is doing."""
        return phase_of(self.state, self.state.focus)

    @property
    def queue(self) -> Queue:
        """Tasks that wait for their turn, in order. Raw text: reveal it before showing."""
        return self.state.queue

    @property
    def running(self) -> tuple[TaskId, ...]:
        """Ids of the tasks that run, or that wait for the person meanwhile, in the order in which they began."""
        return self.state.running

    @property
    def paused(self) -> bool:
        """True if the person has paused the queue."""
        return self.state.paused

    @property
    def library(self) -> tuple[ToolCard, ...]:
        """The tools of the library; their texts are checked when they are registered."""
        return self.state.library

    @property
    def touched(self) -> str:
        """Name of the tool last registered, found or run."""
        return self.state.touched

    @property
    def builds(self) -> Rows[BuildState]:
        """All builds. Raw text: reveal it before showing."""
        return self.state.builds

    @property
    def sandbox(self) -> SandboxStatus | None:
        """Result of the last probe of the sandbox."""
        return self.state.sandbox

    @property
    def calls(self) -> tuple[tuple[str, str], ...]:
        """Open tool calls as (call id, tool name)."""
        return self.state.calls

    @property
    def task(self) -> TaskView | None:
        """The newest task."""
        return self.tasks[-1] if self.tasks else None

    @property
    def busy(self) -> bool:
        """True if the agent is working or waiting on a task."""
        return self.phase not in ("idle", "parked", "closed")


_label = lru_cache(1024)(one_line)
"""Cached, because names of models, tools and roles repeat."""


def safe_spend(spend: Spend) -> Spend:
    """Return spend with neutralised names; the same object if nothing changes."""
    names = [share.name for shares in (spend.by_role, spend.by_model, spend.by_tool) for share in shares]
    if all(_label(name) == name for name in (*names, *(call.model for call in spend.last_calls))):
        return spend
    return msgspec.structs.replace(
        spend,
        by_role=tuple(map(_safe_share, spend.by_role)),
        by_model=tuple(map(_safe_share, spend.by_model)),
        by_tool=tuple(map(_safe_share, spend.by_tool)),
        last_calls=tuple(
            msgspec.structs.replace(call, model=_label(call.model)) for call in spend.last_calls
        ),
    )


def _safe_share(share: Share) -> Share:
    return msgspec.structs.replace(share, name=_label(share.name))
