"""The screen position of each trace row, measured exactly only near the viewport.

Rows are measured in blocks. A block that was not looked at since the width changed has the height that it
had before, or a guess; it is measured when it comes near the screen, so a resize costs the same for any length.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from textual.cache import LRUCache

from alita_tui.console.session.trace_lines import fold, height
from alita_tui.console.widgets.styled_text import Line, text_of
from alita_tui.state.rows import Rows
from alita_tui.view.model import TraceRow

BLOCK = 128
"""Rows that are measured together."""
_MARKS = {ord(mark): None for mark in "*_`"}
"""What Markdown writes within words and does not show."""
_GUESS = 1.25
"""Estimated lines per row before measuring."""


@dataclass
class _Block:
    tall: int
    starts: list[int] | None = None
    """First line of each row in the block, and the end of the last; None until measured."""


class Layout:
    """Rows, which of them are open, and where each begins."""

    def __init__(self) -> None:
        self.rows: Rows[TraceRow] = Rows()
        self.width = 0
        """In cells; 0 until known."""
        self._opened: set[int] = set()
        self._blocks: list[_Block] = []
        self._tops: list[int] = [0]
        """First screen line of each block, and the end of the last."""
        self._cache: LRUCache[int, list[Line]] = LRUCache(1024)

    @property
    def end(self) -> int:
        """The screen line after the last row, partly estimated."""
        return self._tops[-1]

    def show(self, rows: Rows[TraceRow]) -> int:
        """Take newer rows, or earlier ones after a seek; return how many are unchanged."""
        before = self.rows
        kept = min(len(rows), len(before))
        if kept and rows[kept - 1] != before[kept - 1]:
            kept = 0
        self.rows = rows
        self._opened = {index for index in self._opened if index < kept}
        if kept < len(before):
            for index in [index for index in self._cache.keys() if index >= kept]:
                self._cache.discard(index)
        if self.width:
            self._extend(kept)
        return kept

    def fit(self, width: int) -> None:
        """Wrap for another width; rows are measured again when needed."""
        fresh, self.width = not self.width, width
        self._cache.clear()
        for block in self._blocks:
            block.starts = None
        if fresh:
            self._extend(0)

    def toggle(self, index: int) -> None:
        """Open or close a row."""
        self._opened ^= {index}
        self._cache.discard(index)
        number, place = divmod(index, BLOCK)
        block, starts = self._blocks[number], self._measured(number)
        change = starts[place] + self._height(index) - starts[place + 1]
        block.starts = starts[: place + 1] + [start + change for start in starts[place + 1 :]]
        self._resized(number, block.starts[-1])

    # --- measuring ------------------------------------------------------------------------

    def _before(self, index: int) -> TraceRow | None:
        return self.rows[index - 1] if index else None

    def _height(self, index: int) -> int:
        return height(self.rows[index], self._before(index), self.width, opened=index in self._opened)

    def _extend(self, kept: int) -> None:
        """Make blocks for the rows from `kept` on, extending a measured one."""
        number, place = divmod(kept, BLOCK)
        last = self._blocks[number].starts if number < len(self._blocks) else None
        del self._blocks[number:]
        for first in range(number * BLOCK, len(self.rows), BLOCK):
            count = min(BLOCK, len(self.rows) - first)
            self._blocks.append(_Block(tall=round(count * _GUESS)))
        if last is not None and number < len(self._blocks):
            block = self._blocks[number]
            block.starts = self._heights(last[: place + 1], number)
            block.tall = block.starts[-1]
        talls = (block.tall for block in self._blocks[number:])
        self._tops[number:] = accumulate(talls, initial=self._tops[number])

    def _heights(self, starts: list[int], number: int) -> list[int]:
        """Extend a block's starts to its end."""
        first, last = number * BLOCK + len(starts) - 1, min((number + 1) * BLOCK, len(self.rows))
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
        """Measure the lines on screen from `top` on; return the corrected top.

        What was measured before stays where it is on screen.
        """
        if not self._blocks or not self.width:
            return top
        last = self._block_at(top + lines - 1)
        known = self._blocks[last].starts is not None
        for _ in range(3):  # a block that turns out lower brings the next one on screen
            for number in range(last, self._block_at(top) - 1, -1):
                if self._blocks[number].starts is None:
                    before = self._blocks[number].tall
                    self._measured(number)
                    if known and number < last:
                        top = max(top + self._blocks[number].tall - before, 0)
            last = self._block_at(top + lines - 1)
        return top

    # --- places ---------------------------------------------------------------------------

    def place(self, index: int) -> tuple[int, int]:
        """Return a row's first screen line, and the one after its last."""
        number, inside = divmod(index, BLOCK)
        starts, top = self._measured(number), self._tops[number]
        return top + starts[inside], top + starts[inside + 1]

    def visible(self, index: int, top: int, lines: int) -> bool:
        """Return whether part of a row is within `lines` from `top` on."""
        if not (self.width and 0 <= index < len(self.rows)):
            return False
        first, after = self.place(index)
        return first < top + lines and after > top

    def row_at(self, line: int) -> int:
        """Return the row of a screen line; the number of rows for a line after them."""
        if not self._blocks:
            return 0
        number = self._block_at(line)
        while line - self._tops[number] >= self._measured(number)[-1]:
            if number == len(self._blocks) - 1:
                return len(self.rows)
            number += 1
        starts = self._measured(number)
        return number * BLOCK + max(bisect_right(starts, line - self._tops[number]) - 1, 0)

    def lines(self, index: int) -> list[Line]:
        """Return the drawn lines of a row."""
        found = self._cache.get(index)
        if found is None:
            opened = index in self._opened
            found = fold(self.rows[index], self._before(index), self.width, opened=opened)
            self._cache[index] = found
        return found

    def line(self, number: int) -> tuple[int, Line]:
        """Return the row of a screen line, and the line."""
        index = self.row_at(number)
        if index >= len(self.rows):
            return index, ()
        lines, place = self.lines(index), number - self.place(index)[0]
        return index, lines[place] if 0 <= place < len(lines) else ()

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

    def shows(self, index: int, needle: str) -> bool:
        """Return whether the text is in the drawn part of the row."""
        return any(needle in text_of(line).lower() for line in self.lines(index))
