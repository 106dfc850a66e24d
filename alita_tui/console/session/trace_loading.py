"""The trace of a session that is being opened: its end at once, and the whole in its place once it is laid out."""

from __future__ import annotations

from collections.abc import Sequence

from textual.reactive import reactive
from textual.strip import Strip

from alita_tui.console.session.inline_pictures import ROWS
from alita_tui.console.session.loading import LONG, Loading, tail_of
from alita_tui.console.session.trace_drawing import TraceDrawing
from alita_tui.spine.envelope import Envelope
from alita_tui.view.model import SessionView


class TraceLoading(TraceDrawing):
    """Base of the trace."""

    follow: reactive[bool] = reactive(True)
    """Whether the trace scrolls along with new rows."""
    known = 0
    """Number of the last event that was on record when the session was opened."""

    @property
    def share_loaded(self) -> float | None:
        """The share of the session that was read; None once all of it is shown."""
        return self._view.seq / max(self._load.until, 1) if self._load else None

    def _place(self, top: int | None = None) -> None:
        raise NotImplementedError

    def _select_again(self, newest: bool) -> None:
        raise NotImplementedError

    def opens(self, known: int, end: Sequence[Envelope]) -> None:
        """Expect a session of `known` events; of a long one show its end until the rest is read."""
        self.known = known
        if known < LONG or len(self._layout.rows):
            return
        self._layout.show(tail_of(end))
        self._load = Loading(known, self._layout.width, self._layout)
        if self._layout.width:
            self._place()
            self._select_again(newest=True)

    def fill(self, view: SessionView) -> bool:
        """Lay out a newer view while the end is on screen; return False if the whole session is shown already."""
        load = self._load
        if load is None:
            return False
        self._view = view
        if load.take(view):
            self._replace_end(load)
        return True

    def _replace_end(self, load: Loading) -> None:
        """Replace the end by the whole session; what is on screen stays in place."""
        tail, self._load = self._layout, None
        top = round(self.scroll_y)
        top_card = tail.card_at(top) if tail.width and len(tail.cards) else 0
        shift = top - tail.place(top_card)[0] if tail.width and top_card < len(tail.cards) else 0
        load.carry_over()
        card, _row = load.counterpart_of(top_card, -1)
        selected = load.counterpart_of(self.cursor, self.inner)
        self._layout = load.layout
        self.cursor, self.inner = selected
        layout = self._layout
        if layout.width:
            for _ in range(2):  # measuring cards near the line moves it
                layout.settle(layout.place(card)[0] if card >= 0 else layout.end, max(self.size.height, 1))
            self._select_again(newest=self.follow)
            self._place(layout.place(card)[0] + shift if card >= 0 and not self.follow else None)

    def picture(self, handle: str, columns: int, lines: Sequence[Strip]) -> None:
        """Show a picture's lines; take back the reserved lines that it does not need, all if it cannot be read."""
        super().picture(handle, columns, lines)
        layout = self._layout
        deck, key = layout.deck, (handle, columns)
        if not layout.width or (
            deck.picture_rows.get(key, ROWS) == len(lines) if lines else handle in deck.unreadable
        ):
            return
        if lines:
            deck.picture_rows[key] = len(lines)
        else:
            deck.unreadable.add(handle)
        top = layout.card_at(round(self.scroll_y))
        layout.fit(layout.width)  # redraws every card that names the picture
        if self._load is not None:
            self._load.fit(layout.width)
        self._place(layout.place(top)[0] if top < len(layout.cards) else None)
