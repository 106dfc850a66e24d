"""What a verdict may need in words: a reason, the names of the risks that are accepted."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from alita_tui.console.arming import QUIET
from alita_tui.console.widgets.entry import Entry


class NameInput(Entry, Input):
    """Takes names letter by letter: pasting them is no proof that they were read."""

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
