"""A session's tasks, runs, model calls and builds as rows of plain values.

Derived from the events alone. A fork's rows begin after what it shares with its parent, so nothing counts twice, and
a session from elsewhere has none: its money was spent elsewhere.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.feedback import standing
from alita_tui.spine.ranking.terms import words
from alita_tui.spine.text import one_line

KINDS = (
    e.SessionOpened, e.SessionResumed, e.SessionClosed, e.TaskSubmitted, e.TaskFinished, e.ToolCalled, e.ToolReturned,
    e.ToolFailed, e.ModelReplied, e.ModelFailed, e.BudgetSpent, e.BuildStarted, e.BuildFailed, e.ApprovalRequested,
    e.ApprovalResolved, e.ToolRegistered, e.QuestionAsked, e.QuestionAnswered, e.ServerQuestion,
    e.ServerQuestionEnded, e.FeedbackGiven,
)  # fmt: skip
"""The events that rows are made of."""

_WORDS = 60
"""Maximum number of words of a task that are stored, as hashes: enough to find similar tasks, and no text."""
_MOST_USD, _MOST_MS = 1e6, 1e10
"""What is above comes from a damaged record."""
_NAMES = 120


class Run(NamedTuple):
    """One run of a tool."""

    at: float
    seq: int
    task: int
    """Place among the session's tasks; -1 for none."""
    tool: str
    version: int
    kind: str
    """Why it failed; empty where it did not."""
    ms: float
    """NaN where it is not known, as everywhere."""
    reused: bool


class Call(NamedTuple):
    """One call of a model, with what it cost."""

    at: float
    seq: int
    task: int
    role: str
    model: str
    kind: str
    """Why it failed; empty where it did not."""
    tokens: int
    cached: int
    """Tokens out of the provider's cache."""
    usd: float
    """NaN where no price is known."""
    paid: bool
    """True where the record has its cost, or that no price is known."""
    ms: float
    tool: str
    """The tool that it builds or runs in; empty for none."""


class Build(NamedTuple):
    """One build that ended."""

    at: float
    seq: int
    task: int
    tool: str
    kind: str
    """`failed` or `rejected`; empty where it joined the library."""


class Task(NamedTuple):
    """One task that ended, or that still runs."""

    at: float
    seq: int
    end: int
    """The event that ended it; 0 for one that runs, or stopped with its process."""
    outcome: str
    seconds: float
    """Without the time that it waited for the person."""
    rating: int
    """1 or -1 as the person rated it; 0 for no rating."""
    ungrounded: int
    words: tuple[int, ...]
    again: bool
    """It goes on with an earlier one."""


class SessionRows(msgspec.Struct):
    """The rows of one session."""

    runs: list[Run] = []
    calls: list[Call] = []
    builds: list[Build] = []
    tasks: list[Task] = []
    damaged: bool = False
    """Something of the record could not be read."""


def words_of(text: str) -> tuple[int, ...]:
    """Return the stems of what a text is about as sorted numbers, each once."""
    return tuple(sorted({zlib.crc32(stem.encode("utf-8", "replace")) for stem, _ in words(text)[:_WORDS]}))


def rows_of(envelopes: Iterable[Envelope]) -> SessionRows:
    """Return the rows of a session's record. Never raises for its contents."""
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
        self._begun: dict[str, tuple[Envelope, e.ToolCalled]] = {}
        self._open_builds: dict[str, str] = {}
        """Build id -> name."""
        self._built: dict[str, str] = {}
        """Name of a tool -> the task that built it."""
        self._asked: dict[str, int] = {}
        """Id of a call -> its row."""
        self._waits: dict[str, tuple[str, float]] = {}
        """What waits for the person -> its task, and since when."""
        self._waited: dict[str, float] = {}
        """Seconds of each task that are not its own: it waited for the person, or no process did it."""
        self._last = math.nan
        """When the newest of `KINDS` was recorded."""
        self._given: dict[str, list[e.FeedbackGiven]] = {}
        """The person's ratings of the answer of each task."""

    def rows(self) -> SessionRows:
        """What was taken so far."""
        return SessionRows(self._runs, self._calls, self._builds, list(self._tasks.values()))

    def take(self, envelope: Envelope) -> None:
        """Take in the next event."""
        if isinstance(envelope.event, e.SessionResumed):
            self._resumed(envelope)
        if isinstance(envelope.event, KINDS):  # the same, whether all events are read or these alone
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
                self._begun[event.call_id] = (envelope, event)
            case e.ToolReturned() | e.ToolFailed():
                begun = self._begun.pop(event.call_id, None)
                if begun is not None and counts:
                    self._run(envelope, event, begun[1], begun[0].task_id or task)
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
                self._answered(event.question_id, envelope)
            case e.FeedbackGiven(call_id="", build_id="") if event.task_id in self._tasks:
                self._rate(event)
            case _:
                pass

    def _rate(self, event: e.FeedbackGiven) -> None:
        given = self._given.setdefault(event.task_id, [])
        given.append(event)
        left = standing(given)
        rating = 0 if not left else 1 if left[-1].rating == "up" else -1
        self._tasks[event.task_id] = self._tasks[event.task_id]._replace(rating=rating)

    def _resumed(self, envelope: Envelope) -> None:
        """Count the time until a process took the open tasks up again; it is in the wait of one that waits."""
        away = _at(envelope) - self._last
        asked = {task for task, _ in self._waits.values()}
        for task, row in self._tasks.items():
            if not row.end and task not in asked and away > 0:
                self._waited[task] = self._waited.get(task, 0.0) + away

    def _place(self, task: str) -> int:
        return self._places.get(task, -1)

    def _submit(self, envelope: Envelope, event: e.TaskSubmitted) -> None:
        self._places.setdefault(event.task_id, len(self._tasks))
        self._tasks[event.task_id] = Task(
            at=_at(envelope), seq=_seq(envelope), end=0, outcome="", seconds=math.nan, rating=0, ungrounded=0,
            words=words_of(event.text), again=bool(event.again),
        )  # fmt: skip

    def _finish(self, envelope: Envelope, event: e.TaskFinished) -> None:
        known = self._tasks.get(event.task_id)
        if known is None:
            return
        seconds = _at(envelope) - known.at - self._waited.get(event.task_id, 0.0)
        self._tasks[event.task_id] = known._replace(
            end=_seq(envelope),
            outcome=event.outcome,
            seconds=seconds if 0 <= seconds * 1000 < _MOST_MS else math.nan,  # the clock may have gone back
            ungrounded=len(event.ungrounded),
        )

    def _run(
        self, envelope: Envelope, event: e.ToolReturned | e.ToolFailed, called: e.ToolCalled, task: str
    ) -> None:
        kind = event.reason if isinstance(event, e.ToolFailed) else "misfit" if event.misfit else ""
        report = event.report
        self._runs.append(
            Run(
                at=_at(envelope),
                seq=_seq(envelope),
                task=self._place(task),
                tool=_name(called.name),
                version=min(max(called.version, 0), 65_535),
                kind=kind,
                ms=_figure(report.duration_ms, _MOST_MS) if report is not None else math.nan,
                reused=self._built.get(called.name) != task,
            )
        )

    def _call(
        self, envelope: Envelope, event: e.ModelReplied | e.ModelFailed | e.BudgetSpent, task: str
    ) -> None:
        known = self._asked.get(event.call_id)
        if isinstance(event, e.BudgetSpent):
            usd = math.nan if event.cost_usd is None else _figure(event.cost_usd, _MOST_USD)
            tool = self._open_builds.get(event.build_id, "") if event.build_id else self._running(task)
            if known is not None and not self._calls[known].paid:
                row = self._calls[known]
                tokens = row.tokens or _count(event.tokens)
                model = _name(event.model) or row.model  # the reply names it as its server does
                self._calls[known] = row._replace(usd=usd, paid=True, tool=tool, tokens=tokens, model=model)
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
        if known is not None and self._calls[known].paid and math.isnan(self._calls[known].ms):  # paid first
            paid = self._calls[known]
            self._calls[known] = paid._replace(kind=kind, ms=ms, cached=cached)
            return
        self._add(
            event.call_id,
            Call(
                _at(envelope), _seq(envelope), self._place(task), event.role, _name(event.model), kind, tokens,
                cached, 0.0, False, ms, self._running(task),
            ),
        )  # fmt: skip

    def _add(self, call_id: str, row: Call) -> None:
        self._asked[call_id] = len(self._calls)
        self._calls.append(row)

    def _running(self, task: str) -> str:
        """Return the tool that runs for a task, which waits for it: so it is who asks a model; empty for none."""
        calls = (
            called for envelope, called in reversed(self._begun.values()) if envelope.task_id in ("", task)
        )
        return _name(next((called.name for called in calls), ""))

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
                self._answered(event.approval_id, envelope)
                if event.verdict.decision not in ("rejected", "banned", "stopped"):
                    return
                kind = "rejected"
            case _:
                pass
        if counts:
            self._builds.append(Build(_at(envelope), _seq(envelope), self._place(task), _name(name), kind))

    def _answered(self, what: str, envelope: Envelope) -> None:
        task, since = self._waits.pop(what, ("", 0.0))
        if task:
            self._waited[task] = self._waited.get(task, 0.0) + max(_at(envelope) - since, 0.0)


def _at(envelope: Envelope) -> float:
    return envelope.at.timestamp()


def _seq(envelope: Envelope) -> int:
    return min(max(envelope.seq or 0, 0), 2**32 - 1)


def _figure(value: float, most: float) -> float:
    """Return a figure of a record; NaN for one that cannot be."""
    return value if 0 <= value <= most else math.nan


def _count(value: int) -> int:
    return min(max(value, 0), 10**12)


def _name(text: str) -> str:
    return one_line(text, _NAMES)
