"""A long session as it is opened: its end is shown at once, and the rest is filled in behind."""

from __future__ import annotations

from collections.abc import Iterable

from alita_tui.console.session.trace_layout import Layout
from alita_tui.spine.envelope import Envelope
from alita_tui.state.rows import Rows
from alita_tui.view.cards import Card, Deck
from alita_tui.view.model import SessionView, TraceRow
from alita_tui.view.trace import rows_for

TAIL = 400
"""Events at the end that are shown at once."""
LONG = 2_000
"""Events from which on a session is opened like this; a shorter one opens at once anyway."""


def tail_of(envelopes: Iterable[Envelope]) -> Rows[TraceRow]:
    """Return the rows of the last events, from the last task that begins in their first half on."""
    rows = [row for envelope in envelopes for row in rows_for(envelope)]
    half = rows[: len(rows) // 2]
    start = next(
        (at for at in range(len(half) - 1, -1, -1) if half[at].kind == "task" and not half[at].meta), 0
    )
    return Rows[TraceRow]().append(*rows[start:])


class Loading:
    """The layout of the whole session, not shown until it is complete."""

    def __init__(self, until: int, width: int, shown: Layout) -> None:
        """`until` is the number of the last event on record; `shown` is the end that is on screen meanwhile."""
        self.until = until
        self._shown = shown
        self.layout = Layout()
        self.layout.deck.level = shown.deck.level
        self.layout.deck.unreadable = shown.deck.unreadable
        self.layout.deck.picture_rows = shown.deck.picture_rows
        self.layout.review = shown.review
        if width:
            self.layout.fit(width)

    def take(self, view: SessionView) -> bool:
        """Lay out a newer view; return whether the session is complete."""
        self.layout.show(view.trace, view.builds, view.state.ratings)
        return view.seq >= self.until

    def fit(self, width: int) -> None:
        """Lay out for another width."""
        self.layout.fit(width)

    def detail(self) -> None:
        """Use the level of detail of the end on screen."""
        self.layout.detail(self._shown.deck.level)

    def counterpart_of(self, card: int, row: int) -> tuple[int, int]:
        """Return the card and row of the whole session that match a card and row of its end; -1 for none."""
        if not 0 <= card < len(self._shown.cards):
            return -1, -1
        index = _match(self._shown.deck, self._shown.cards[card], self.layout.deck)
        return index, (self._row(row) if row >= 0 and index >= 0 else -1)

    def carry_over(self) -> None:
        """Open and close the same cards and rows in the whole session as in its end."""
        deck, full = self._shown.deck, self.layout.deck
        for card in deck.cards:
            at = _match(deck, card, full) if card.opened is not None or card.kind == "steps" else -1
            if at < 0:
                continue
            counterpart = full.cards[at]
            counterpart.opened = card.opened
            if card.kind == "steps" and card.section is not None and counterpart.section is not None:
                counterpart.section.folded = card.section.folded
        full.whole = {at for row in deck.whole if (at := self._row(row)) >= 0}
        self.layout.detail(full.level)

    def _row(self, row: int) -> int:
        return len(self.layout.rows) - len(self._shown.rows) + row


def _match(deck: Deck, card: Card, full: Deck) -> int:
    """Return the card of `full` with the newest row of a card, or with the same steps; -1 for none."""
    ahead = len(full.rows) - len(deck.rows)
    if card.rows:
        row = ahead + card.rows[-1]
        return full.card_of(row) if 0 <= row < len(full.rows) else -1
    if card.section is None:
        return -1
    return full.card_of(ahead + card.section.task) + 1
