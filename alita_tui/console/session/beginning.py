"""Part of the session's screen: suggestions before the first task, and the end of a session that is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.screen import Screen

from alita_tui.console.session import words
from alita_tui.console.session.suggestions import Suggestions
from alita_tui.console.session.trace import Trace
from alita_tui.spine.envelope import Envelope
from alita_tui.view.model import SessionView

if TYPE_CHECKING:
    from alita_tui.console.session.recent import Recent


class Beginning(Screen[None]):
    """Base of the session's screen."""

    view: SessionView
    _ready: bool
    _opened: tuple[int, Sequence[Envelope]] = (0, ())
    """What `opens` got before the screen was ready: the number of events, and the last ones."""

    def draw(self, view: SessionView) -> None:
        """Draw a newer view in every pane."""
        raise NotImplementedError

    def offer(self, tasks: tuple[str, ...]) -> None:
        """Offer tasks to choose from."""
        offers = Suggestions(tasks or words.TRY, words.SUGGESTED if tasks else words.TO_TRY, first=not tasks)
        offers.advance(self.view)
        self.query_one("#trace-pane").mount(offers)

    def opens(self, known: int, end: Sequence[Envelope]) -> None:
        """Expect a session of `known` events, whose last ones are `end`."""
        if self._ready:
            self.query_one(Trace).opens(known, end)
            self.draw(self.view)
        else:
            self._opened = (known, end)

    def remember(self, recent: Recent) -> None:
        """Offer recent sessions while this one is empty."""
        recent.advance(self.view, sent=self.query_one(Trace).expects)
        self.query_one("#trace-pane").mount(recent)
