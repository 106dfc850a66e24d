"""The text fields of a verdict: a reason, and the names of accepted risks."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from alita_tui.console.input.judged_widget import JudgedWidget


class NameInput(JudgedWidget, Input):
    """Refuses pastes: pasted names do not prove that they were read."""

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()

    def action_paste(self) -> None:
        """Ignore pasting."""


class ArgumentsInput(JudgedWidget, Input):
    """Arguments of a test call. The Enter that sends them is judged like any verdict (`GuardedScreen.judge`)."""


class ReasonInput(JudgedWidget, Input):
    """A reason for the agent. The Enter that sends it is judged like any verdict (`GuardedScreen.judge`)."""
