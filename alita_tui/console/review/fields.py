"""What a verdict may need in words: a reason, the names of the risks that are accepted."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from alita_tui.console.input.judged import Entry


class NameInput(Entry, Input):
    """Takes names letter by letter: pasting them is no proof that they were read."""

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()

    def action_paste(self) -> None:
        """Nothing is pasted here."""


class ReasonInput(Entry, Input):
    """One line for the agent. The Enter that sends it is judged as every verdict is (see `GuardedScreen.judge`)."""
