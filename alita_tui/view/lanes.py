"""Marks rows of the trace with their tasks while several run, and filters the rows of one task.

Rows are marked only while more than one task runs, so a trace of tasks that ran one after another has no marks.
"""

from __future__ import annotations

from msgspec.structs import asdict, replace

from alita_tui.events import NO_TASK, TaskId
from alita_tui.spine.envelope import Envelope
from alita_tui.state.rows import Rows
from alita_tui.state.session import SessionState
from alita_tui.view.model import SessionView, TraceRow
from alita_tui.view.queue import CHANGES

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class LaneRow(TraceRow, frozen=True, gc=False):
    """A row that was added while several tasks ran."""

    task_id: TaskId = NO_TASK
    lane: str = ""
    """The letter of its task; letters repeat after 26 tasks."""


def mark_lane(
    rows: tuple[TraceRow, ...], envelope: Envelope, before: SessionState, after: SessionState
) -> tuple[TraceRow, ...]:
    """Return an event's rows, marked with their task if several tasks run."""
    if not envelope.task_id or not (before.lanes or after.lanes):
        return rows
    lane = letter(after, envelope.task_id)
    return tuple(LaneRow(**asdict(row), task_id=envelope.task_id, lane=lane) for row in rows)


def letter(state: SessionState, task_id: TaskId) -> str:
    """Return the letter of a task; empty for an unknown task."""
    for index in range(len(state.tasks) - 1, -1, -1):
        if state.tasks[index].task_id == task_id:
            return _LETTERS[index % len(_LETTERS)]
    return ""


def lane_of(row: TraceRow | None) -> str:
    """Return the letter of a row's task; empty if no other task ran."""
    return row.lane if isinstance(row, LaneRow) else ""


class OneTask:
    """Filters the rows of one task, incrementally as the trace grows."""

    def __init__(self, task_id: TaskId) -> None:
        self.task_id = task_id
        self._restart()

    def _restart(self) -> None:
        self._seen: Rows[TraceRow] = Rows()
        self._rows: Rows[TraceRow] = Rows()
        self._running: list[str] = []
        self._last = ""

    def shown(self, view: SessionView) -> SessionView:
        """Return a view with this task's rows only, and with live output only if it is this task's."""
        count = len(self._seen)
        if len(view.trace) < count or (count and view.trace[count - 1] != self._seen[count - 1]):
            self._restart()  # an earlier moment is shown
            count = 0
        task_ids = {task.task_id for task in view.state.tasks}
        ours = [row for row in view.trace.since(count) if self._owner(row, task_ids) == self.task_id]
        self._seen, self._rows = view.trace, self._rows.append(*ours)
        live = view.live if view.state.focus == self.task_id else view.live.lasting()
        return replace(view, trace=self._rows, live=live)

    def _owner(self, row: TraceRow, task_ids: set[TaskId]) -> str:
        """Return the task of a row. An unmarked row belongs to the only running task, or to the last one."""
        if row.kind == "task" and row.span in task_ids:
            self._running.append(row.span)
        if row.kind == "task" and row.meta in CHANGES.values():
            return ""  # it waits in the queue
        owner = row.task_id if isinstance(row, LaneRow) else ([*self._running, self._last])[0]
        if row.kind == "answer" and row.span in self._running:
            self._running.remove(row.span)
        self._last = owner
        return owner
