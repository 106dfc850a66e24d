"""Where each row of the trace stands on screen: measured once for a width, drawn when it is looked at."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from textual.cache import LRUCache

from alita_tui.console.widgets.inked import Line, text_of
from alita_tui.console.widgets.trace_lines import fold, height
from alita_tui.view.model import TraceRow
from alita_tui.view.rows import Rows


class Layout:
    """Rows, which of them are open, and the first screen line of each."""

    def __init__(self) -> None:
        self.rows: Rows[TraceRow] = Rows()
        self.width = 0
        """Cells; 0 until it is known, and then nothing has a place."""
        self._opened: set[int] = set()
        self._starts: list[int] = [0]
        """First screen line of each row, and the end of the last one."""
        self._cache: LRUCache[int, list[Line]] = LRUCache(1024)

    @property
    def end(self) -> int:
        """The screen line after the last row."""
        return self._starts[-1]

    def show(self, rows: Rows[TraceRow]) -> int:
        """Take newer rows, or earlier ones after a seek; returns how many stay as they were."""
        before = self.rows
        kept = min(len(rows), len(before))
        if kept and rows[kept - 1] != before[kept - 1]:
            kept = 0
        self.rows = rows
        self._opened = {index for index in self._opened if index < kept}
        if self.width:
            self._measure(kept)
        return kept

    def fit(self, width: int) -> None:
        """Wrap everything anew for another width."""
        self.width = width
        self._measure(0)

    def toggle(self, index: int) -> None:
        """Open or close a row."""
        self._opened ^= {index}
        self._cache.discard(index)
        tall = height(self.rows[index], self._before(index), self.width, opened=index in self._opened)
        change = self._starts[index] + tall - self._starts[index + 1]
        self._starts[index + 1 :] = [place + change for place in self._starts[index + 1 :]]

    def _before(self, index: int) -> TraceRow | None:
        return self.rows[index - 1] if index else None

    def _measure(self, start: int) -> None:
        """Find where each row begins, from one row on."""
        if start == 0:
            self._cache.clear()
        for index in range(start, len(self._starts) - 1):
            self._cache.discard(index)
        del self._starts[start + 1 :]
        before = self._before(start)
        heights = [self._starts[-1]]
        for index, row in enumerate(self.rows.since(start), start):
            heights.append(height(row, before, self.width, opened=index in self._opened))
            before = row
        self._starts[-1:] = accumulate(heights)

    def place(self, index: int) -> tuple[int, int]:
        """First screen line of a row, and the one after its last."""
        return self._starts[index], self._starts[index + 1]

    def visible(self, index: int, top: int, lines: int) -> bool:
        """True when some of a row is among the screen lines from `top` on."""
        if not (self.width and 0 <= index < len(self.rows)):
            return False
        return self._starts[index] < top + lines and self._starts[index + 1] > top

    def row_at(self, line: int) -> int:
        """The row that a screen line belongs to; as many as there are rows for a line after them."""
        return max(bisect_right(self._starts, line) - 1, 0)

    def lines(self, index: int) -> list[Line]:
        """The drawn lines of a row."""
        found = self._cache.get(index)
        if found is None:
            opened = index in self._opened
            found = fold(self.rows[index], self._before(index), self.width, opened=opened)
            self._cache[index] = found
        return found

    def line(self, number: int) -> tuple[int, Line]:
        """A screen line and its row."""
        index = self.row_at(number)
        if index >= len(self.rows):
            return index, ()
        lines, place = self.lines(index), number - self._starts[index]
        return index, lines[place] if place < len(lines) else ()

    # --- finding --------------------------------------------------------------------------

    def hit(self, index: int, needle: str) -> bool:
        """True when a row has the text (in lower case) anywhere."""
        row = self.rows[index]
        return bool(needle) and (needle in row.title.lower() or needle in row.detail.lower())

    def hits(self, needle: str) -> list[int]:
        """The rows that have the text."""
        return [index for index in range(len(self.rows)) if self.hit(index, needle)]

    def next_hit(self, index: int, needle: str, direction: int) -> int | None:
        """The next row (1) or the one before (-1) that has the text, around the end."""
        count = len(self.rows)
        around = ((index + direction * distance) % count for distance in range(1, count + 1))
        return next((row for row in around if self.hit(row, needle)), None)

    def shows(self, index: int, needle: str) -> bool:
        """True when the text is to be seen in what is drawn of the row."""
        return any(needle in text_of(line).lower() for line in self.lines(index))
