"""Lines of a text, or bytes; only those on screen are read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic

from textual.cache import LRUCache

from alita_tui.artefacts.records import Extent
from alita_tui.artefacts.tables import Shown
from alita_tui.console.files.pane import Pane
from alita_tui.console.files.ports import Pages
from alita_tui.console.widgets.styled_text import Line
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import counted

PAGE = 64
"""Records that are read together."""
_KEPT = 8
_BETWEEN = 0.1
"""Seconds between two updates of the number of records."""


class PagedPane(Pane):
    """Numbered records."""

    thing = "line"

    def __init__(self, pages: Pages, extent: Extent) -> None:
        super().__init__()
        self.pages = pages
        self.extent = extent
        self._pages: LRUCache[int, tuple[Shown, ...]] = LRUCache(_KEPT)
        self._read_at: dict[int, int] = {}
        """Page -> how many records were known when it was read."""
        self._reading = False

    def on_mount(self) -> None:
        """Start counting the records that are not known yet."""
        self.run_worker(self._count_on(), name="count", group="count", exit_on_error=False)

    @property
    def count(self) -> int:
        """Return how many records are known."""
        return self.extent.count

    @property
    def size_words(self) -> str:
        """Return how many records are known, and whether counting continues."""
        text = counted(self.count, self.thing).replace(str(self.count), f"{self.count:,}", 1)
        if self.extent.problem:
            return f"{text}; {self.extent.problem}"
        return text if self.extent.whole else f"{text}, counting …"

    async def _count_on(self) -> None:
        drawn = 0.0
        try:
            while not self.extent.ended:
                self.extent = await self.pages.extent(further=True)
                if self.extent.ended or monotonic() - drawn > _BETWEEN:
                    drawn = monotonic()
                    self.recount()
                    await asyncio.sleep(0)
        except AlitaError as error:
            self.post_message(self.Notice(str(error), bad=True))

    def record(self, number: int) -> Shown | None:
        """Return a record; None while it is being read."""
        page_number, index = divmod(number, PAGE)
        page = self._pages.get(page_number)
        if page is None:
            if not self._reading:
                self._reading = True
                self.run_worker(self._read(), name="page", group="page", exit_on_error=False)
            return None
        return page[index] if index < len(page) else None

    async def _read(self) -> None:
        """Read the pages on screen; pages that were scrolled past are skipped."""
        try:
            while True:
                top = round(self.scroll_y)
                page_numbers = range(top // PAGE, min(top + self.room, self.count) // PAGE + 1)
                missing = next((number for number in page_numbers if not self._whole(number)), None)
                if missing is None:
                    break
                count = self.count
                page = await self.pages.page(missing * PAGE, PAGE)
                self._pages[missing] = page
                self._read_at[missing] = count
                self.arrived(page)
                self.refresh()
        except AlitaError as error:
            self.post_message(self.Notice(str(error), bad=True))
        finally:
            self._reading = False

    def _whole(self, page_number: int) -> bool:
        """Return whether a page is cached that is full, or was read after the last count."""
        page = self._pages.get(page_number)
        return page is not None and (len(page) == PAGE or self._read_at[page_number] == self.count)

    def recount(self) -> None:
        """Update the number of records; the last page may have more now."""
        for place in [place for place in self._pages.keys() if not self._whole(place)]:
            self._pages.discard(place)
        super().recount()

    def arrived(self, page: Sequence[Shown]) -> None:
        """Handle a page that was read."""
        self.moved()

    def forget(self) -> None:
        """Drop all pages, so that they are read again."""
        self._pages.clear()
        self.refresh()

    def parts(self, number: int, width: int) -> tuple[Line, Line]:
        """Return a record's number and its text."""
        shown = self.record(number)
        if shown is None:
            return self.margin(""), (("…", "muted"),)
        return self.margin(shown.label), self.body(shown, number, width)

    def margin(self, label: str) -> Line:
        """Return the margin with a record's number."""
        wide = max(len(str(self.count)), 3)
        return ((f"{label or '↪':>{wide}} │ ", "muted"),)

    def body(self, shown: Shown, number: int, width: int) -> Line:
        """Return a record's text."""
        return ((shown.cells[0], "text"),)

    def copied(self) -> str:
        """Return the line at the cursor."""
        shown = self.record(self.cursor)
        return "\t".join(shown.cells) if shown is not None else ""

    async def look_for(self, needle: str, start: int, direction: int) -> tuple[int | None, int]:
        """Return the next record that contains a text, and where to look on; -1 at the end."""
        if not 0 <= start:
            return None, -1
        return await self.pages.find(needle, start, direction)

    async def reach(self, number: int) -> int:
        """Return the index of a record by its number from 1, once it is counted."""
        while self.count < number and not self.extent.ended:
            self.extent = await self.pages.extent(further=True)
        self.recount()
        return number - 1


class HexPane(PagedPane):
    """Rows of bytes: offset, hexadecimal, letters."""

    thing = "row"

    @property
    def size_words(self) -> str:
        """Return how many bytes a row has."""
        return "16 bytes in a row"

    def margin(self, label: str) -> Line:
        """Return the margin with the offset."""
        return ((f"{label:>8} │ ", "muted"),)

    def body(self, shown: Shown, number: int, width: int) -> Line:
        """Return bytes and letters."""
        return ((f"{shown.cells[0]}  ", "text"), (shown.cells[1], "string"))
