"""What was sent and is not taken up yet: messages to the running task, answers, and queued tasks."""

from __future__ import annotations

from typing import Literal

import msgspec
from textual.content import Content

from alita_tui.console.widgets.painted import TellsPainted
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.text import one_line
from alita_tui.view.model import SessionView

Kind = Literal["task", "steer", "answer"]
_LABELS: dict[Kind, str] = {
    "task": "next task  ",
    "steer": "before the next step  ",
    "answer": "your answer  ",
}


_LINES = 4


class _Waiting(msgspec.Struct, frozen=True):
    text: str
    kind: Kind
    seen: int
    """Number of tasks or rows when it was sent."""

    def taken_up(self, view: SessionView) -> bool:
        if self.kind == "task":
            started = any(one_line(task.text) == self.text for task in view.tasks.since(self.seen))
            return started or any(one_line(task.text) == self.text for task in view.queue)
        rows = view.trace.since(self.seen)
        if self.kind == "answer":
            return any(row.meta == "answered" for row in rows)  # a number stands for the text of a choice
        return any(row.meta == "steered" and one_line(row.detail) == self.text for row in rows)


class Queued(TellsPainted, Plain):
    """One line each; hidden while there are none."""

    DEFAULT_CSS = f"""
    Queued {{
        height: auto; max-height: {_LINES}; padding: 0 1; background: $surface; color: $alita-muted;
        display: none; text-wrap: nowrap; text-overflow: ellipsis;
    }}
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._waiting: tuple[_Waiting, ...] = ()
        """Messages and tasks that are not recorded yet."""
        self._queue: tuple[str, ...] = ()

    @property
    def waiting(self) -> tuple[str, ...]:
        """The texts not taken up yet, oldest first."""
        return (*self._queue, *(message.text for message in self._waiting))

    def add(self, text: str, view: SessionView, *, kind: Kind) -> None:
        """Add what was sent during a task."""
        seen = len(view.tasks) if kind == "task" else len(view.trace)
        self._waiting = (*self._waiting, _Waiting(one_line(text), kind, seen))
        self._draw()

    def advance(self, view: SessionView) -> None:
        """Show the queue; remove what was taken up, and messages to a task that ended."""
        waiting = tuple(
            message
            for message in self._waiting
            if not message.taken_up(view) and (message.kind == "task" or view.busy or view.live.held)
        )
        queue = tuple(one_line(task.text) for task in view.queue)
        if (waiting, queue) != (self._waiting, self._queue):
            self._waiting, self._queue = waiting, queue
            self._draw()

    def _draw(self) -> None:
        waiting = [("next task  ", text) for text in self._queue]
        waiting += [(_LABELS[message.kind], message.text) for message in self._waiting]
        self.display = bool(waiting)
        shown = waiting if len(waiting) <= _LINES else waiting[: _LINES - 1]
        lines = [Content.assemble((label, "$alita-wait"), text) for label, text in shown]
        if more := len(waiting) - len(shown):
            lines.append(Content(f"and {more} more"))
        self.update(Content("\n").join(lines))
        if not waiting:
            self.call_now()
