"""A session's tasks, runs, model calls and builds as rows of plain values.

They are derived from the events alone. A fork's rows begin after the events that it shares with its parent, so that
nothing counts twice. An imported session has no rows, because its money was spent elsewhere.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.feedback import valid_ratings
from alita_tui.spine.ranking.terms import words
from alita_tui.spine.text import one_line

KINDS = (
    e.SessionOpened, e.SessionResumed, e.SessionClosed, e.TaskSubmitted, e.TaskFinished, e.ToolCalled, e.ToolReturned,
    e.ToolFailed, e.ModelReplied, e.ModelFailed, e.BudgetSpent, e.BuildStarted, e.BuildFailed, e.ApprovalRequested,
    e.ApprovalResolved, e.ToolRegistered, e.QuestionAsked, e.QuestionAnswered, e.ServerQuestion,
    e.ServerQuestionEnded, e.FeedbackGiven,
)  # fmt: skip
"""The events from which rows are derived."""

_WORDS = 60
"""Maximum number of words stored per task, as hashes: enough to find similar tasks, without their text."""
_MOST_USD, _MOST_MS = 1e6, 1e10
"""Plausible maxima; a higher value comes from a damaged record."""
_NAMES = 120


class Run(NamedTuple):
    """One run of a tool."""

    at: float
    seq: int
    task: int
    """Index among the session's tasks; -1 for none."""
    tool: str
    version: int
    kind: str
    """Why it failed; empty if it did not."""
    ms: float
    """Milliseconds; NaN if unknown, as in all rows."""
    reused: bool


class Call(NamedTuple):
    """One call of a model, with its cost."""

    at: float
    seq: int
    task: int
    role: str
    model: str
    kind: str
    """Why it failed; empty if it did not."""
    tokens: int
    cached: int
    """Tokens read from the provider's cache."""
    usd: float
    """NaN if no price is known."""
    paid: bool
    """True if the record has its cost, or states that no price is known."""
    ms: float
    tool: str
    """The tool that it helps to build, or that made the call; empty for none."""


class Build(NamedTuple):
    """One build that ended."""

    at: float
    seq: int
    task: int
    tool: str
    kind: str
    """`failed` or `rejected`; empty if the tool joined the library."""


class Task(NamedTuple):
    """One task, ended or running."""

    at: float
    seq: int
    end: int
    """Number of the event that ended it; 0 if it still runs, or stopped with its process."""
    outcome: str
    seconds: float
    """Duration without the time that it waited for the person."""
    rating: int
    """The person's rating, 1 or -1; 0 for none."""
    ungrounded: int
    words: tuple[int, ...]
    again: bool
    """True if it continues an earlier task."""


class SessionRows(msgspec.Struct):
    """The rows of one session."""

    runs: list[Run] = []
    calls: list[Call] = []
    builds: list[Build] = []
    tasks: list[Task] = []
    damaged: bool = False
    """True if a part of the record could not be read."""


def words_of(text: str) -> tuple[int, ...]:
    """Return the hashes of the stems of a text's words, sorted, each once."""
    return tuple(sorted({zlib.crc32(stem.encode("utf-8", "replace")) for stem, _ in words(text)[:_WORDS]}))


def rows_of(envelopes: Iterable[Envelope]) -> SessionRows:
    """Return the rows of a session's record. No content of a record makes it raise."""
    reader = _Reader()
    for envelope in envelopes:
        if reader.imported:
            break
        reader.take(envelope)
    return SessionRows() if reader.imported else reader.rows()


class _Reader:
    def __init__(self) -> None:
        self.imported = False
        self._shared = 0
        self._runs: list[Run] = []
        self._calls: list[Call] = []
        self._builds: list[Build] = []
        self._tasks: dict[str, Task] = {}
        self._places: dict[str, int] = {}
        self._newest = ""
        self._running_calls: dict[str, tuple[Envelope, e.ToolCalled]] = {}
        self._open_builds: dict[str, str] = {}
        """Build id -> name."""
        self._built: dict[str, str] = {}
        """Name of a tool -> the task that built it."""
        self._call_rows: dict[str, int] = {}
        """Id of a call -> its row."""
        self._waits: dict[str, tuple[str, float]] = {}
        """Id of what waits for the person -> its task, and since when (seconds since 1970)."""
        self._waited: dict[str, float] = {}
        """Seconds in which each task waited for the person, or no process worked on it."""
        self._last = math.nan
        """When the newest event of `KINDS` was recorded (seconds since 1970)."""
        self._ratings: dict[str, list[e.FeedbackGiven]] = {}
        """The person's ratings of the answer of each task."""

    def rows(self) -> SessionRows:
        """Return the rows so far."""
        return SessionRows(self._runs, self._calls, self._builds, list(self._tasks.values()))

    def take(self, envelope: Envelope) -> None:
        """Process the next event."""
        if isinstance(envelope.event, e.SessionResumed):
            self._resumed(envelope)
        if isinstance(envelope.event, KINDS):  # so that `_last` is the same if only these events are read
            self._last = _at(envelope)
            self._take(envelope, envelope.task_id or self._newest, (envelope.seq or 0) > self._shared)

    def _take(self, envelope: Envelope, task: str, counts: bool) -> None:
        event = envelope.event
        match event:
            case e.SessionOpened():
                self.imported = event.imported
                self._shared = event.parent_seq if event.parent else 0
            case e.TaskSubmitted():
                self._newest = event.task_id
                if counts:
                    self._submit(envelope, event)
            case e.TaskFinished():
                self._finish(envelope, event)
            case e.ToolCalled():
                self._running_calls[event.call_id] = (envelope, event)
            case e.ToolReturned() | e.ToolFailed():
                started = self._running_calls.pop(event.call_id, None)
                if started is not None and counts:
                    self._run(envelope, event, started[1], started[0].task_id or task)
            case e.ModelReplied() | e.ModelFailed() | e.BudgetSpent() if counts:
                self._call(envelope, event, task)
            case e.BuildStarted():
                self._open_builds[event.build_id] = event.name
            case e.BuildFailed() | e.ToolRegistered() | e.ApprovalResolved():
                self._end_build(envelope, event, task, counts)
            case e.ApprovalRequested():
                self._waits[event.approval_id] = (task, _at(envelope))
            case e.QuestionAsked() | e.ServerQuestion():
                self._waits[event.question_id] = (task, _at(envelope))
            case e.QuestionAnswered() | e.ServerQuestionEnded():
                self._end_wait(event.question_id, envelope)
            case e.FeedbackGiven(call_id="", build_id="") if event.task_id in self._tasks:
                self._rate(event)
            case _:
                pass

    def _rate(self, event: e.FeedbackGiven) -> None:
        ratings = self._ratings.setdefault(event.task_id, [])
        ratings.append(event)
        standing_ratings = valid_ratings(ratings)
        rating = 0 if not standing_ratings else 1 if standing_ratings[-1].rating == "up" else -1
        self._tasks[event.task_id] = self._tasks[event.task_id]._replace(rating=rating)

    def _resumed(self, envelope: Envelope) -> None:
        """Add the time in which no process worked to the waits of open tasks; a task that waits has it anyway."""
        pause = _at(envelope) - self._last
        waiting_tasks = {task for task, _ in self._waits.values()}
        for task, row in self._tasks.items():
            if not row.end and task not in waiting_tasks and pause > 0:
                self._waited[task] = self._waited.get(task, 0.0) + pause

    def _place(self, task: str) -> int:
        return self._places.get(task, -1)

    def _submit(self, envelope: Envelope, event: e.TaskSubmitted) -> None:
        self._places.setdefault(event.task_id, len(self._tasks))
        self._tasks[event.task_id] = Task(
            at=_at(envelope), seq=_seq(envelope), end=0, outcome="", seconds=math.nan, rating=0, ungrounded=0,
            words=words_of(event.text), again=bool(event.again),
        )  # fmt: skip

    def _finish(self, envelope: Envelope, event: e.TaskFinished) -> None:
        row = self._tasks.get(event.task_id)
        if row is None:
            return
        seconds = _at(envelope) - row.at - self._waited.get(event.task_id, 0.0)
        self._tasks[event.task_id] = row._replace(
            end=_seq(envelope),
            outcome=event.outcome,
            seconds=seconds if 0 <= seconds * 1000 < _MOST_MS else math.nan,  # the clock may have gone back
            ungrounded=len(event.ungrounded),
        )

    def _run(
        self, envelope: Envelope, event: e.ToolReturned | e.ToolFailed, call: e.ToolCalled, task: str
    ) -> None:
        kind = event.reason if isinstance(event, e.ToolFailed) else "misfit" if event.misfit else ""
        report = event.report
        self._runs.append(
            Run(
                at=_at(envelope),
                seq=_seq(envelope),
                task=self._place(task),
                tool=_name(call.name),
                version=min(max(call.version, 0), 65_535),
                kind=kind,
                ms=_figure(report.duration_ms, _MOST_MS) if report is not None else math.nan,
                reused=self._built.get(call.name) != task,
            )
        )

    def _call(
        self, envelope: Envelope, event: e.ModelReplied | e.ModelFailed | e.BudgetSpent, task: str
    ) -> None:
        index = self._call_rows.get(event.call_id)
        if isinstance(event, e.BudgetSpent):
            usd = math.nan if event.cost_usd is None else _figure(event.cost_usd, _MOST_USD)
            tool = self._open_builds.get(event.build_id, "") if event.build_id else self._running(task)
            if index is not None and not self._calls[index].paid:
                row = self._calls[index]
                tokens = row.tokens or _count(event.tokens)
                model = _name(event.model) or row.model  # a reply has the server's own name of the model
                self._calls[index] = row._replace(usd=usd, paid=True, tool=tool, tokens=tokens, model=model)
                return
            self._add(
                event.call_id,
                Call(
                    _at(envelope), _seq(envelope), self._place(task), event.role, _name(event.model), "",
                    _count(event.tokens), 0, usd, True, math.nan, tool,
                ),
            )  # fmt: skip
            return
        if isinstance(event, e.ModelReplied):
            used = event.usage
            kind, ms = "", _figure(event.duration_ms, _MOST_MS)
            tokens, cached = (
                _count(used.input_tokens) + _count(used.output_tokens),
                _count(used.cached_tokens),
            )
        else:
            kind, ms, tokens, cached = event.error, math.nan, 0, 0
        # The cost may be recorded before the reply.
        if index is not None and self._calls[index].paid and math.isnan(self._calls[index].ms):
            paid = self._calls[index]
            self._calls[index] = paid._replace(kind=kind, ms=ms, cached=cached)
            return
        self._add(
            event.call_id,
            Call(
                _at(envelope), _seq(envelope), self._place(task), event.role, _name(event.model), kind, tokens,
                cached, 0.0, False, ms, self._running(task),
            ),
        )  # fmt: skip

    def _add(self, call_id: str, row: Call) -> None:
        self._call_rows[call_id] = len(self._calls)
        self._calls.append(row)

    def _running(self, task: str) -> str:
        """Return the tool that runs for a task, to which the task's model calls belong meanwhile; empty for none."""
        calls = (
            call
            for envelope, call in reversed(self._running_calls.values())
            if envelope.task_id in ("", task)
        )
        return _name(next((call.name for call in calls), ""))

    def _end_build(
        self,
        envelope: Envelope,
        event: e.BuildFailed | e.ToolRegistered | e.ApprovalResolved,
        task: str,
        counts: bool,
    ) -> None:
        name = self._open_builds.get(event.build_id, "")
        kind = "failed"
        match event:
            case e.ToolRegistered():
                self._built[event.card.name] = task
                name, kind = str(event.card.name), ""
            case e.ApprovalResolved():
                self._end_wait(event.approval_id, envelope)
                if not event.verdict.refuses:
                    return
                kind = "rejected"
            case _:
                pass
        if counts:
            self._builds.append(Build(_at(envelope), _seq(envelope), self._place(task), _name(name), kind))

    def _end_wait(self, waiting_id: str, envelope: Envelope) -> None:
        task, since = self._waits.pop(waiting_id, ("", 0.0))
        if task:
            self._waited[task] = self._waited.get(task, 0.0) + max(_at(envelope) - since, 0.0)


def _at(envelope: Envelope) -> float:
    return envelope.at.timestamp()


def _seq(envelope: Envelope) -> int:
    return min(max(envelope.seq or 0, 0), 2**32 - 1)


def _figure(value: float, limit: float) -> float:
    """Return a figure of a record; NaN for an impossible one."""
    return value if 0 <= value <= limit else math.nan


def _count(value: int) -> int:
    return min(max(value, 0), 10**12)


def _name(text: str) -> str:
    return one_line(text, _NAMES)
