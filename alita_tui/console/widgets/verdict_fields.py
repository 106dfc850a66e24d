"""What a verdict may need in words: a reason, tags for it, the name of a risky tool."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import Input

from alita_tui.console.arming import QUIET
from alita_tui.console.widgets.entry import Entry
from alita_tui.console.widgets.plain import Plain


class Tag(Entry, Plain, can_focus=True):
    """A word for a common reason, marked with Space or a click. Enter does nothing here."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "mark", show=False)]

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word
        self.marked = False

    def on_mount(self) -> None:
        """Draw it unmarked."""
        self.mark(False)

    def mark(self, marked: bool) -> None:
        """Set or take the mark."""
        self.marked = marked
        self.update(f"{'▣' if marked else '□'} {self.word}")
        self.set_class(marked, "-marked")

    def action_mark(self) -> None:
        """The other way round."""
        self.mark(not self.marked)

    def on_click(self) -> None:
        """See `action_mark`."""
        self.action_mark()


class NameInput(Entry, Input):
    """Takes a name letter by letter: pasting one is no proof that it was read."""

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()

    def action_paste(self) -> None:
        """Nothing is pasted here."""


class ReasonInput(Entry, Input):
    """One line for the agent. An Enter from a burst that began before the field was there does not send it."""

    opened = 0.0
    """When the field appeared, on the monotonic clock of events."""

    def on_key(self, event: events.Key) -> None:
        """Hold an Enter back that comes at once."""
        if event.key == "enter" and event.time < self.opened + QUIET:
            event.prevent_default()
            event.stop()
