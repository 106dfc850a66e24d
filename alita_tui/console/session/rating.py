"""Part of the session's screen: rating an answer, and saying what is wrong with it or what it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.screen import Screen
from textual.widgets import Input

from alita_tui.console.messages import CommandAsked
from alita_tui.console.session import words
from alita_tui.console.session.trace import Trace
from alita_tui.spine.commands import GiveFeedback

if TYPE_CHECKING:
    from alita_tui.console.replay.bar import ReplayBar
    from alita_tui.console.themes import ThemedApp


class Rating(Screen[None]):
    """Base of the session's screen."""

    app: ThemedApp[object]
    bar: ReplayBar | None
    _rated = 0
    """The event that is being rated."""
    _asks_should_be = False
    """Whether the line asks what the answer should be, not what is wrong with it."""

    @on(Trace.RateAsked)
    def _rate(self, message: Trace.RateAsked) -> None:
        """Send a 👍 or a withdrawal at once; otherwise ask what is wrong, or what it should be."""
        if self.bar is not None:
            return
        if not message.seq:
            self.notify(words.NOT_RATED)
            return
        if message.rating in ("up", "undo"):
            self.post_message(
                CommandAsked(GiveFeedback(rating="up", seq=message.seq, undo=message.rating == "undo"))
            )
            return
        self._rated, self._asks_should_be = message.seq, message.rating == "should_be"
        line = self.query_one("#wrong", Input)
        line.placeholder = words.SHOULD_BE if self._asks_should_be else words.WRONG
        line.value = self.app.drafts.get(self._draft)
        line.display = True
        line.focus()

    @property
    def _draft(self) -> str:
        """The name under which the typed text is saved until it is sent."""
        return f"{'should be' if self._asks_should_be else 'wrong'}:{self._rated}"

    @on(Input.Changed, "#wrong")
    def _wrong_typed(self, event: Input.Changed) -> None:
        if event.input.display:  # leaving the line empties it
            self.app.drafts.keep(self._draft, event.value)

    @on(Input.Submitted, "#wrong")
    def _rate_down(self, event: Input.Submitted) -> None:
        event.input.display = False
        text, expected = ("", event.value) if self._asks_should_be else (event.value, "")
        if expected.strip() or not self._asks_should_be:
            self.post_message(
                CommandAsked(GiveFeedback(rating="down", seq=self._rated, text=text, expected=expected))
            )
            self.app.drafts.keep(self._draft, "")
        event.input.value = ""
        self.query_one(Trace).focus()
