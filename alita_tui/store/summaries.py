"""Summaries of sessions for lists, made from their documents without decoding all of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from typing import Literal

import msgspec

from alita_tui.events import (
    ApprovalRequested,
    ApprovalResolved,
    BudgetSpent,
    Json,
    SessionClosed,
    SessionOpened,
    SessionResumed,
    TaskFinished,
    TaskSubmitted,
    ToolRegistered,
    Value,
)
from alita_tui.spine.envelope import Envelope, from_builtins
from alita_tui.spine.history import History
from alita_tui.spine.ports.builds import ParkedBuild
from alita_tui.spine.text import one_line

_HEARD = (
    SessionOpened,
    SessionResumed,
    SessionClosed,
    TaskSubmitted,
    TaskFinished,
    ToolRegistered,
    ApprovalRequested,
    ApprovalResolved,
)
_KINDS = frozenset(kind.__struct_config__.tag for kind in (*_HEARD, BudgetSpent))


class SessionSummary(Value, frozen=True):
    """A session in a list."""

    session_id: str
    path: str
    title: str = ""
    """The session's title, else its first task, on one line."""
    model: str = ""
    """`provider:name` of the model that the session was opened with."""
    started: datetime | None = None
    last_activity: datetime | None = None
    events: int = 0
    state: Literal["open", "closed", "stopped", "unreadable"] = "closed"
    """`open`: a process has it. `stopped`: it ended without being closed, for instance by a crash.

    `unreadable`: its file cannot be opened; the title says why.
    """
    outcome: str = ""
    """How the last task ended; empty while one runs or if there was none."""
    tasks: int = 0
    tools_built: int = 0
    cost_usd: float = 0.0
    """Known spend; see `unpriced_calls`."""
    unpriced_calls: int = 0
    pending: tuple[ParkedBuild, ...] = ()
    """Builds that wait for a verdict, oldest first."""
    discarded: int = 0
    """Number of records that could not be read."""
    parent: str = ""
    """The session that this one was forked from; empty if it is not a fork."""
    parent_seq: int = 0
    """The last event that both share."""
    imported: bool = False
    """It was imported: nothing in it waits here, and it cannot be continued."""


def summarise(session_id: str, path: str, rows: Iterable[Json], *, discarded: int = 0) -> SessionSummary:
    """Return the summary of a session's stored envelopes. Its state only distinguishes closed from not closed."""
    tally = Tally()
    for row in rows:
        tally.take(row)
    return tally.summary(session_id, path, discarded=discarded)


class Tally:
    """A summary in the making, event by event."""

    def __init__(self) -> None:
        self.events = self.tasks = self.tools = 0
        self.started: datetime | None = None
        self.last: datetime | None = None
        self.title = self.model = self.first_task = self.task = self.outcome = ""
        self.parent, self.parent_seq, self.imported = "", 0, False
        self.closed = False
        self.spent: BudgetSpent | None = None
        self.pending: dict[str, ParkedBuild] = {}

    def summary(self, session_id: str, path: str, *, discarded: int = 0) -> SessionSummary:
        """Return the summary so far."""
        return SessionSummary(
            session_id=session_id,
            path=path,
            title=self.title or self.first_task,
            model=self.model,
            started=self.started,
            last_activity=self.last,
            events=self.events,
            state="closed" if self.closed else "stopped",
            outcome=self.outcome,
            tasks=self.tasks,
            tools_built=self.tools,
            cost_usd=self.spent.total_usd if self.spent else 0.0,
            unpriced_calls=self.spent.unpriced_calls if self.spent else 0,
            pending=() if self.imported else tuple(self.pending.values()),
            discarded=discarded,
            parent=self.parent,
            parent_seq=self.parent_seq,
            imported=self.imported,
        )

    def take_all(self, history: History) -> None:
        """Add a whole history; of one that is not in memory only relevant events are read."""
        ends = [history[0], *history[-1:]] if len(history) else []
        self.events += len(history)
        for envelope in history.of(*_HEARD):
            self._apply(envelope)
        for envelope in islice(history.newest(BudgetSpent), 1):
            self._apply(envelope)
        for envelope in ends:
            self.started, self.last = self.started or envelope.at, envelope.at

    def take(self, row: Json) -> None:
        """Add one stored event."""
        self.events += 1
        fields = row if isinstance(row, dict) else {}
        if (at := _time(fields.get("at"))) is not None:
            self.started, self.last = self.started or at, at
        event = fields.get("event")
        if isinstance(event, dict) and event.get("kind") in _KINDS:
            self._apply(from_builtins(row))

    def _apply(self, envelope: Envelope) -> None:
        match envelope.event:
            case SessionOpened(title=title, model=model, parent=parent, parent_seq=parent_seq) as opened:
                self.title, self.model = one_line(title), one_line(model)
                self.parent, self.parent_seq = one_line(parent or ""), parent_seq
                self.imported = opened.imported
            case SessionClosed():
                self.closed = True
            case SessionResumed():
                self.closed = False
            case TaskSubmitted(text=text):
                self.tasks, self.task, self.outcome = self.tasks + 1, one_line(text), ""
                self.first_task = self.first_task or self.task
            case TaskFinished(outcome=outcome):
                self.outcome = outcome
            case ToolRegistered():
                self.tools += 1
            case BudgetSpent() as spent:
                self.spent = spent
            case ApprovalRequested() as request:
                self.pending[request.approval_id] = ParkedBuild(
                    approval_id=request.approval_id,
                    build_id=request.build_id,
                    session_id=envelope.session_id,
                    digest=request.digest,
                    name=request.name,
                    version=request.version,
                    requested_at=envelope.at.isoformat(),
                    task=self.task,
                )
            case ApprovalResolved(approval_id=approval_id):
                self.pending.pop(approval_id, None)
            case _:
                pass


def _time(raw: Json) -> datetime | None:
    try:
        at = msgspec.convert(raw, datetime)
    except msgspec.ValidationError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
