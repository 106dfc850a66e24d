"""A table with a fixed header; a cursor chooses a column, which can be sorted by."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from textual import events

from alita_tui.artefacts.records import Extent
from alita_tui.artefacts.tables import Shown
from alita_tui.console.files.paged import PagedPane
from alita_tui.console.files.ports import Pages
from alita_tui.console.widgets.styled_text import Line, Piece, cut
from alita_tui.spine.errors import AlitaError

_WIDEST, _NARROWEST = 120, 3
_CAPS = (_WIDEST, 90, 70, 50, 40, 32)
"""Candidate limits of a column's width: the first with which all columns fit, else the last."""
_BETWEEN = 2
_NUMBER = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?")


class TablePane(PagedPane):
    """Rows below the names of their columns."""

    thing = "row"
    fixed = 1

    def __init__(self, pages: Pages, extent: Extent) -> None:
        super().__init__(pages, extent)
        self.column = 0
        self._first = 0
        """The first column on screen."""
        self._widths = [self._fitting(f"{name}▲") for name in pages.head]
        """The cells that their names and contents need."""
        self._cap = _CAPS[-1]
        self._right = [False] * len(pages.head)
        self._measured = False
        self._sorted: tuple[int, bool] | None = None

    @property
    def size_words(self) -> str:
        """Return how many rows and columns there are."""
        shown, total = len(self.pages.head), self.pages.columns
        columns = f"{total:,} columns" if total != 1 else "1 column"
        more = f", the first {shown:,} shown" if shown < total else ""
        text = f"{super().size_words} · {columns}{more}"
        if self._sorted is not None:
            column, descending = self._sorted
            text += f" · by {self.pages.head[column]}, {'falling' if descending else 'rising'}"
        return text

    @staticmethod
    def _fitting(text: str) -> int:
        return min(max(cell_len(text), _NARROWEST), _WIDEST)

    def arrived(self, page: Sequence[Shown]) -> None:
        """Widen the columns for the rows that were read; the first ones tell which hold numbers."""
        for at in range(len(self._widths)):
            cells = [row.cells[at] for row in page if at < len(row.cells) and row.cells[at]]
            widest = max(map(len, cells), default=0)
            if widest > self._widths[at] or not self._measured:
                self._widths[at] = max(self._widths[at], *map(self._fitting, cells), 0)
            if not self._measured:
                self._right[at] = bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)
        self._measured = True
        self._fit()
        super().arrived(page)

    def recount(self) -> None:
        """Fit the columns to the width."""
        self._fit()
        super().recount()

    def _fit(self) -> None:
        room = self._room_of(self.scrollable_content_region.width)
        self._cap = next(
            (cap for cap in _CAPS if sum(min(wide, cap) + _BETWEEN for wide in self._widths) <= room),
            _CAPS[-1],
        )

    def _room_of(self, width: int) -> int:
        """Return the cells beside the margin."""
        return width - cell_len(self.margin("")[0][0])

    def _wide(self, at: int) -> int:
        return min(self._widths[at], self._cap)

    def margin(self, label: str) -> Line:
        """Return the margin with a row's number."""
        return ((f"{label:>{max(len(f'{self.count:,}'), 3)}}  ", "muted"),)

    def _columns(self, width: int) -> list[int]:
        """Return the columns on screen, the last one perhaps cut."""
        room = self._room_of(width)
        columns = []
        for at in range(self._first, len(self._widths)):
            if room <= 0:
                break
            columns.append(at)
            room -= self._wide(at) + _BETWEEN
        return columns

    def top(self, width: int) -> Line:
        """Return the names of the columns."""
        pieces: list[Piece] = [(" " * cell_len(self.margin("")[0][0]), "")]
        for at in self._columns(width):
            mark = ("▼" if self._sorted[1] else "▲") if self._sorted and self._sorted[0] == at else ""
            style = "cell" if at == self.column and self.has_focus else "heading"
            pieces.append(self._cell(self.pages.head[at] + mark, at, style))
            pieces.append((" " * _BETWEEN, ""))
        return tuple(pieces)

    def body(self, shown: Shown, number: int, width: int) -> Line:
        """Return the cells on screen."""
        pieces: list[Piece] = []
        for at in self._columns(width):
            selected = number == self.cursor and at == self.column and self.has_focus
            text = shown.cells[at] if at < len(shown.cells) else ""
            pieces.append(self._cell(text, at, "cell" if selected else "text"))
            pieces.append((" " * _BETWEEN, ""))
        return tuple(pieces)

    def _cell(self, text: str, at: int, style: str) -> Piece:
        text = cut(text, self._wide(at))
        blank = " " * (self._wide(at) - cell_len(text))
        return (blank + text if self._right[at] else text + blank, style)

    def moved(self) -> None:
        """Report the full text of the cell at the cursor."""
        shown = self.record(self.cursor) if self.count else None
        if shown is not None and self.column < min(len(shown.cells), len(self.pages.head)):
            self.post_message(self.Notice(f"{self.pages.head[self.column]}: {shown.cells[self.column]}"))

    def watch_has_focus(self, focused: bool) -> None:
        """Draw the cursor or not."""
        super().watch_has_focus(focused)
        self.refresh()

    def action_sideways(self, direction: int) -> None:
        """Choose the next column in a direction."""
        if not self._widths:
            return
        self.column = min(max(self.column + direction, 0), len(self._widths) - 1)
        self._first = min(self._first, self.column)
        room = self._room_of(self.scrollable_content_region.width)
        while self._first < self.column and (
            sum(self._wide(at) + _BETWEEN for at in range(self._first, self.column + 1)) - _BETWEEN > room
        ):
            self._first += 1
        self.moved()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Choose the cell; on a column's name sort by it."""
        at = event.x - cell_len(self.margin("")[0][0])
        for column in self._columns(self.scrollable_content_region.width):
            if 0 <= at < self._wide(column) + _BETWEEN:
                self.column = column
                if event.y == 0:
                    self.action_open()
                break
            at -= self._wide(column) + _BETWEEN

    def action_open(self) -> None:
        """Sort by the column, then the other way, then as in the file."""
        if self._widths:
            self.run_worker(self._sort(), name="sort", group="sort", exclusive=True, exit_on_error=False)

    async def _sort(self) -> None:
        wanted: tuple[int, bool] | None = (self.column, False)
        if self._sorted == wanted:
            wanted = (self.column, True)
        elif self._sorted == (self.column, True):
            wanted = None
        self.post_message(self.Notice("Sorting …"))
        try:
            await self.pages.sort(wanted[0] if wanted else None, descending=bool(wanted and wanted[1]))
        except AlitaError as error:
            self.post_message(self.Notice(str(error), bad=True))
            return
        self._sorted = wanted
        self.forget()
        self.go(0)
        self.recount()

    async def reach(self, number: int) -> int:
        """Return the row of a number that the file's rows are counted by."""
        if self._sorted is not None:
            await self.pages.sort(None)
            self._sorted = None
            self.forget()
        return await super().reach(number)
