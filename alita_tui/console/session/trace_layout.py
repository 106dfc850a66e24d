"""The screen position of each card of the trace, measured exactly only near the viewport.

Cards are measured in blocks. A block that was not looked at since the width changed has the height that it
had before, or a guess; it is measured when it comes near the screen, so a resize costs the same for any length.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from textual.cache import LRUCache

from alita_tui.console.session.card_lines import NEAR, draw, height
from alita_tui.console.session.card_parts import Drawn
from alita_tui.console.widgets.styled_text import text_of
from alita_tui.state.build import BuildState
from alita_tui.state.ratings import Ratings
from alita_tui.state.rows import Rows
from alita_tui.view.cards import Card, Deck, Level
from alita_tui.view.model import TraceRow

BLOCK = 128
"""Cards that are measured together."""
_MARKS = {ord(mark): None for mark in "*_`"}
"""Markdown characters within words that are not shown."""
_GUESS = 1.25
"""Estimated lines per card on screen before measuring."""


_NOTHING = Drawn(-1, ())
"""The line after the last card."""


@dataclass
class _Block:
    tall: int
    starts: list[int] | None = None
    """First line of each card in the block, and the end of the last; None until measured."""


class Layout:
    """Cards, which of them are open, and where each begins."""

    def __init__(self) -> None:
        self.deck = Deck()
        self.width = 0
        """In cells; 0 until known."""
        self.review = ""
        """The key that opens the review of a build."""
        self._blocks: list[_Block] = []
        self._tops: list[int] = [0]
        """First screen line of each block, and the end of the last."""
        self._cache: LRUCache[int, list[Drawn]] = LRUCache(1024)
        self._builds: Rows[BuildState] = Rows()
        self._build_at: dict[str, int] = {}

    @property
    def rows(self) -> Rows[TraceRow]:
        """The rows that the cards are made of."""
        return self.deck.rows

    @property
    def cards(self) -> list[Card]:
        """All cards, those folded away included."""
        return self.deck.cards

    @property
    def end(self) -> int:
        """The screen line after the last card, partly estimated."""
        return self._tops[-1]

    def show(
        self, rows: Rows[TraceRow], builds: Rows[BuildState] | None = None, ratings: Ratings = ()
    ) -> int:
        """Take newer rows, builds and ratings, or earlier ones after a seek; return how many rows are unchanged."""
        rebuilt = self._take(builds or Rows())
        shown = self.deck.show(rows)
        rebuilt += self.deck.rate(ratings) if ratings or self.deck.ratings else ()
        self._measure_again(shown.first)
        for index in shown.touched.union(card for card in rebuilt if card < shown.first):
            self.redraw(index)
        return shown.unchanged

    def _take(self, builds: Rows[BuildState]) -> list[int]:
        """Take the builds; return the cards of builds that changed, possibly without a new row."""
        if builds is self._builds:
            return []
        previous, self._builds = self._builds, builds
        if len(builds) < len(previous):
            self._build_at.clear()
        for index in range(len(self._build_at), len(builds)):
            self._build_at[builds[index].build_id] = index
        first = next(
            (
                index
                for index in range(min(len(previous), len(builds)) - 1, -1, -1)
                if previous[index] is builds[index]
            ),
            -1,
        )
        changed = {builds[index].build_id for index in range(first + 1, len(builds))}
        cards: list[int] = []
        for card in reversed(self.deck.cards):
            if not changed:
                break
            if card.build in changed:
                changed.discard(card.build)
                cards.append(card.at)
            elif self.deck.cards and card.at < len(self.deck.cards) - 4 * BLOCK:
                break
        return cards

    def build(self, build_id: str) -> BuildState | None:
        """Return a build by its id."""
        index = self._build_at.get(build_id)
        return None if index is None else self._builds[index]

    def fit(self, width: int) -> None:
        """Lay out for another width; cards are measured again when needed."""
        fresh, self.width = not self.width, width
        self._cache.clear()
        for block in self._blocks:
            block.starts = None
        if fresh:
            self._measure_again(0)

    def detail(self, level: Level) -> None:
        """Change the level of detail of every card that nobody opened or closed."""
        self.deck.level = level
        self._measure_again(0)

    def toggle(self, index: int, row: int = -1) -> None:
        """Open or close a card, or the text of one of its rows."""
        card = self.deck.cards[index]
        if row >= 0:
            self.deck.whole ^= {row}
        else:
            self.deck.toggle(card)
        if card.kind == "steps":
            self._measure_again(index)
        else:
            self.redraw(index)

    def card_of(self, row: int) -> int:
        """Return the card of a row."""
        return self.deck.card_of(row)

    def reveal(self, row: int) -> int:
        """Unfold and open what hides a row; return its card's index."""
        index = self.deck.card_of(row)
        card = self.deck.cards[index]
        folded = self.deck.hidden(card)
        self.deck.reveal(row)
        if folded and card.section is not None:
            self._measure_again(card.section.header)
        else:
            self.redraw(index)
        return index

    def redraw(self, index: int) -> None:
        """Redraw one card, and the next one that is shown: a blank line may part them. Those after it move."""
        self._redraw(index)
        for after in range(index + 1, min(index + 1 + NEAR, len(self.deck.cards))):
            if not self.deck.hidden(self.deck.cards[after]):
                self._redraw(after)
                return

    def _redraw(self, index: int) -> None:
        self._cache.discard(index)
        if not self.width:
            return
        number, place = divmod(index, BLOCK)
        block, starts = self._blocks[number], self._measured(number)
        change = starts[place] + self._height(index) - starts[place + 1]
        block.starts = starts[: place + 1] + [start + change for start in starts[place + 1 :]]
        self._resized(number, block.starts[-1])

    # --- measuring ------------------------------------------------------------------------

    def _height(self, index: int) -> int:
        return height(self.deck, index, self.width, self.build, self.review)

    def _measure_again(self, first: int) -> None:
        """Measure again from a card on: its block at once if it was measured, later blocks when needed."""
        for index in [index for index in self._cache.keys() if index >= first]:
            self._cache.discard(index)
        if not self.width:
            return
        number, place = divmod(first, BLOCK)
        starts = self._blocks[number].starts if number < len(self._blocks) else None
        del self._blocks[number:]
        cards, hidden = self.deck.cards, self.deck.hidden
        for first_card in range(number * BLOCK, len(cards), BLOCK):
            shown = sum(
                not hidden(cards[index]) for index in range(first_card, min(first_card + BLOCK, len(cards)))
            )
            self._blocks.append(_Block(tall=round(shown * _GUESS)))
        if starts is not None and number < len(self._blocks):
            block = self._blocks[number]
            block.starts = self._heights(starts[: place + 1], number)
            block.tall = block.starts[-1]
        talls = (block.tall for block in self._blocks[number:])
        self._tops[number:] = accumulate(talls, initial=self._tops[number])

    def _heights(self, starts: list[int], number: int) -> list[int]:
        """Extend a block's starts to its end."""
        first, last = number * BLOCK + len(starts) - 1, min((number + 1) * BLOCK, len(self.deck.cards))
        for index in range(first, last):
            starts.append(starts[-1] + self._height(index))
        return starts

    def _measured(self, number: int) -> list[int]:
        block = self._blocks[number]
        if block.starts is None:
            block.starts = self._heights([0], number)
            self._resized(number, block.starts[-1])
        return block.starts

    def _resized(self, number: int, tall: int) -> None:
        change = tall - self._blocks[number].tall
        self._blocks[number].tall = tall
        if change:
            self._tops[number + 1 :] = [top + change for top in self._tops[number + 1 :]]

    def _block_at(self, line: int) -> int:
        return min(max(bisect_right(self._tops, line) - 1, 0), len(self._blocks) - 1)

    def settle(self, top: int, lines: int) -> int:
        """Measure the cards on screen from `top` on; return the corrected top.

        Cards that were measured before stay in place on screen.
        """
        if not self._blocks or not self.width:
            return top
        last = self._block_at(top + lines - 1)
        known = self._blocks[last].starts is not None
        while True:  # a block lower than estimated brings the next one on screen
            for number in range(last, self._block_at(top) - 1, -1):
                if self._blocks[number].starts is None:
                    previous = self._blocks[number].tall
                    self._measured(number)
                    if known and number < last:
                        top = max(top + self._blocks[number].tall - previous, 0)
            last = self._block_at(top + lines - 1)
            if all(block.starts is not None for block in self._blocks[self._block_at(top) : last + 1]):
                return top

    # --- places ---------------------------------------------------------------------------

    def place(self, index: int, row: int = -1) -> tuple[int, int]:
        """Return the first screen line of a card, or of one of its rows, and the one after its last."""
        number, index_in_block = divmod(index, BLOCK)
        starts, top = self._measured(number), self._tops[number]
        first, after = top + starts[index_in_block], top + starts[index_in_block + 1]
        if first == after:
            return first, after
        drawn = self.lines(index)
        places = [place for place, line in enumerate(drawn) if line.row == row and line.line] or [0]
        return first + places[0], first + places[-1] + 1

    def end_of(self, index: int) -> int:
        """Return the screen line after all that a card holds; for the line of a task's steps, after its last card."""
        card = self.deck.cards[index]
        if card.kind == "steps" and card.section is not None and not self.deck.folded(card.section):
            index = max(index, *card.section.cards[-1:])
        number, index_in_block = divmod(index, BLOCK)
        after = self._measured(number)[index_in_block + 1]
        return self._tops[number] + after

    def visible(self, index: int, row: int, top: int, lines: int) -> bool:
        """Return whether part of a card or row is within `lines` from `top` on."""
        if not (self.width and 0 <= index < len(self.deck.cards)):
            return False
        first, after = self.place(index, row)
        return first < top + lines and after > top

    def card_at(self, line: int) -> int:
        """Return the card of a screen line; the number of cards for a line after them."""
        if not self._blocks:
            return 0
        number = self._block_at(line)
        while line - self._tops[number] >= self._measured(number)[-1]:
            if number == len(self._blocks) - 1:
                return len(self.deck.cards)
            number += 1
        starts = self._measured(number)
        return number * BLOCK + max(bisect_right(starts, line - self._tops[number]) - 1, 0)

    def lines(self, index: int) -> list[Drawn]:
        """Return the drawn lines of a card."""
        drawn = self._cache.get(index)
        if drawn is None:
            drawn = draw(self.deck, index, self.width, self.build, self.review)
            self._cache[index] = drawn
        return drawn

    def line(self, number: int) -> tuple[int, Drawn]:
        """Return the card of a screen line, and the line."""
        index = self.card_at(number)
        if index >= len(self.deck.cards):
            return index, _NOTHING
        block = divmod(index, BLOCK)
        lines, place = self.lines(index), number - self._tops[block[0]] - self._measured(block[0])[block[1]]
        return index, lines[place] if 0 <= place < len(lines) else _NOTHING

    def stop(self, line: int, direction: int) -> tuple[int, int] | None:
        """Return the nearest card or row that can be selected, from a line on down (1) or up (-1)."""
        while 0 <= line < self.end:
            index, drawn = self.line(line)
            if index >= len(self.deck.cards):
                return None
            if drawn.line:
                return index, drawn.row
            line += direction
        return None

    # --- finding --------------------------------------------------------------------------

    def hit(self, index: int, needle: str) -> bool:
        """Return whether a row contains the lower-case text."""
        if not needle:
            return False
        row = self.rows[index]
        text = row.detail.lower()
        as_drawn = text.translate(_MARKS) if row.kind == "answer" else ""
        return needle in row.title.lower() or needle in text or needle in as_drawn

    def hits(self, needle: str) -> list[int]:
        """Return the rows that contain the text."""
        return [index for index in range(len(self.rows)) if self.hit(index, needle)]

    def next_hit(self, index: int, needle: str, direction: int) -> int | None:
        """Return the next (1) or previous (-1) row with the text, wrapping around."""
        count = len(self.rows)
        around = ((index + direction * distance) % count for distance in range(1, count + 1))
        return next((row for row in around if self.hit(row, needle)), None)

    def shows(self, index: int, row: int, needle: str) -> bool:
        """Return whether the text is in the drawn part of a card's row."""
        lines = (line for line in self.lines(index) if line.row in (row, -1))
        return any(needle in text_of(line.line).lower() for line in lines)
