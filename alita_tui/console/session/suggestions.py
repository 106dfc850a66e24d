"""Suggested tasks while nothing runs: Tab or an arrow selects, Enter or a click sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message

from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import at_words
from alita_tui.view.model import SessionView


class Suggestion(Plain, can_focus=True):
    """A suggested task."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", show=False),
        Binding("down,j", "app.focus_next", "Next", show=False),
        Binding("up,k", "app.focus_previous", "Previous", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """Send this task."""

        task: str

    def __init__(self, task: str) -> None:
        super().__init__(Content(f"❯ {task}"))
        self.suggested = task

    def on_resize(self) -> None:
        """Draw for the width."""
        self.fit()

    def fit(self) -> None:
        """Cut the task between words."""
        self.update(Content(at_words(f"❯ {self.suggested}", self.size.width)))

    def action_choose(self) -> None:
        """Send this task."""
        self.post_message(self.Chosen(self.suggested))

    @on(Click)
    def _clicked(self) -> None:
        self.action_choose()


class Suggestions(Vertical):
    """The suggestions, hidden while there are none."""

    DEFAULT_CSS = """
    Suggestions { height: auto; max-height: 60%; padding: 1 1 0 2; background: $background; overflow-y: auto; }
    Suggestions > .heading { height: 1; padding: 0 1; color: $alita-muted; }
    Suggestions > Suggestion {
        height: 1; padding: 0 1; color: $primary; text-wrap: nowrap; text-overflow: ellipsis;
    }
    Suggestions > Suggestion:hover { background: $panel; }
    Suggestions > Suggestion:focus { background: $alita-cursor; text-style: bold; }
    """

    def __init__(self, tasks: tuple[str, ...], heading: str, *, first: bool = False) -> None:
        """`first`: show them only in a session that has no task yet."""
        super().__init__(id="suggestions")
        self._first = first
        self._tasks = tasks
        self._heading = heading
        self._done: set[str] = set()

    def compose(self) -> ComposeResult:
        """Heading and tasks."""
        yield Plain(self._heading, classes="heading")
        for task in self._tasks:
            offer = Suggestion(task)
            offer.display = task not in self._done
            yield offer

    def advance(self, view: SessionView, *, sent: bool = False) -> None:
        """Show the remaining tasks, unless a task runs or was just `sent`."""
        self._done = {task.text for task in view.tasks if task.outcome in (None, "answered", "parked")}
        remaining = any(task not in self._done for task in self._tasks)
        self.display = not view.busy and not sent and remaining and not (self._first and len(view.tasks))
        for offer in self.query(Suggestion):
            offer.display = offer.suggested not in self._done
