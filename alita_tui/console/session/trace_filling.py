"""The trace of a session that is being opened: its end at once, and the whole in its place once it is laid out."""

from __future__ import annotations

from collections.abc import Sequence

from textual.reactive import reactive
from textual.strip import Strip

from alita_tui.console.session.filling import LONG, Filling, tail_of
from alita_tui.console.session.trace_drawing import TraceDrawing
from alita_tui.spine.envelope import Envelope
from alita_tui.view.model import SessionView


class TraceFilling(TraceDrawing):
    """Base of the trace."""

    follow: reactive[bool] = reactive(True)
    """Whether the trace scrolls along with new rows."""
    known = 0
    """Number of the last event that was on record when the session was opened."""

    @property
    def filling(self) -> float | None:
        """Which share of the session was read; None once all of it is shown."""
        return self._view.seq / max(self._filling.until, 1) if self._filling else None

    def _place(self, top: int | None = None) -> None:
        raise NotImplementedError

    def _select_again(self, newest: bool) -> None:
        raise NotImplementedError

    def opens(self, known: int, end: Sequence[Envelope]) -> None:
        """Expect a session of `known` events; of a long one show its end until the rest is read."""
        self.known = known
        if known < LONG or len(self._laid.rows):
            return
        self._laid.show(tail_of(end))
        self._filling = Filling(known, self._laid.width, self._laid)
        if self._laid.width:
            self._place()
            self._select_again(newest=True)

    def fill(self, view: SessionView) -> bool:
        """Take a newer view behind the end on screen; return False where nothing is filled in."""
        filling = self._filling
        if filling is None:
            return False
        self._view = view
        if filling.take(view):
            self._filled(filling)
        return True

    def _filled(self, filling: Filling) -> None:
        """Put the whole session in place of its end; what is on screen stays there."""
        before, self._filling = self._laid, None
        top = round(self.scroll_y)
        at = before.card_at(top) if before.width and len(before.cards) else 0
        shift = top - before.place(at)[0] if before.width and at < len(before.cards) else 0
        filling.carry_over()
        card, _row = filling.same(at, -1)
        chosen = filling.same(self.cursor, self.inner)
        self._laid = filling.laid
        self.cursor, self.inner = chosen
        laid = self._laid
        if laid.width:
            for _ in range(2):  # what is measured near the place moves it
                laid.settle(laid.place(card)[0] if card >= 0 else laid.end, max(self.size.height, 1))
            self._select_again(newest=self.follow)
            self._place(laid.place(card)[0] + shift if card >= 0 and not self.follow else None)

    def picture(self, handle: str, columns: int, lines: Sequence[Strip]) -> None:
        """Show a picture's lines; where it cannot be read, give back the room that was kept for it."""
        super().picture(handle, columns, lines)
        laid = self._laid
        if lines or handle in laid.deck.unreadable or not laid.width:
            return
        laid.deck.unreadable.add(handle)
        top = laid.card_at(round(self.scroll_y))
        laid.fit(laid.width)  # drawn anew, also what else names it
        if self._filling is not None:
            self._filling.fit(laid.width)
        self._place(laid.place(top)[0] if top < len(laid.cards) else None)
