"""What was sent but not taken up yet: messages to the running task, and queued tasks."""

from __future__ import annotations

import msgspec
from textual.content import Content

from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.text import one_line
from alita_tui.view.model import SessionView


class _Waiting(msgspec.Struct, frozen=True):
    text: str
    task: bool
    seen: int
    """Number of tasks or rows when it was sent."""

    def taken(self, view: SessionView) -> bool:
        if self.task:
            return any(one_line(task.text) == self.text for task in view.tasks.since(self.seen))
        return any(
            row.meta == "steered" and one_line(row.detail) == self.text for row in view.trace.since(self.seen)
        )


class Queued(Plain):
    """One line each; hidden while there are none."""

    DEFAULT_CSS = """
    Queued {
        height: auto; max-height: 4; padding: 0 1; background: $surface; color: $alita-muted;
        display: none; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._waiting: tuple[_Waiting, ...] = ()

    @property
    def waiting(self) -> tuple[str, ...]:
        """The texts not taken up yet, oldest first."""
        return tuple(one.text for one in self._waiting)

    def add(self, text: str, view: SessionView, *, task: bool) -> None:
        """Add what was sent during a task."""
        seen = len(view.tasks) if task else len(view.trace)
        self._waiting = (*self._waiting, _Waiting(one_line(text), task, seen))
        self._draw()

    def advance(self, view: SessionView) -> None:
        """Remove what was taken up, and messages to a task that ended."""
        if not self._waiting:
            return
        left = tuple(one for one in self._waiting if not one.taken(view) and (one.task or view.busy))
        if left != self._waiting:
            self._waiting = left
            self._draw()

    def _draw(self) -> None:
        self.display = bool(self._waiting)
        lines = (
            Content.assemble(
                ("next task  " if one.task else "before the next step  ", "$alita-wait"), one.text
            )
            for one in self._waiting
        )
        self.update(Content("\n").join(lines))
