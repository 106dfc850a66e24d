"""A picture: pixels of the terminal, or half blocks, two pixels in a cell."""

from __future__ import annotations

import asyncio
import os
from itertools import count
from typing import cast

from rich.segment import ControlType, Segment
from textual import events, work
from textual.geometry import Region
from textual.strip import Strip

from alita_tui.confined.pictures import Picture
from alita_tui.console.files.graphics import (
    WIDEST,
    Ink,
    cell_pixels,
    cells,
    forget,
    kitty,
    placeholders,
    sixel,
)
from alita_tui.console.files.pane import Pane
from alita_tui.console.files.ports import OpenFile
from alita_tui.console.ports import Graphics
from alita_tui.console.themes import ThemedApp
from alita_tui.console.widgets.half_blocks import half_blocks
from alita_tui.spine.errors import AlitaError

_NUMBERS = count((os.getpid() & 0x3FFFF) << 5 | 1)
"""Of kitty's pictures, in 24 bits; other programs in the same window have theirs."""


class PicturePane(Pane):
    """A picture, scaled to the pane: in the terminal's pixels where it has any, else in half blocks."""

    pointed = False

    def __init__(self, file: OpenFile, graphics: Graphics | None = None) -> None:
        super().__init__()
        self._file = file
        self._graphics = graphics
        self.picture = Picture()
        self._strips: list[Strip] = []
        self._sixel = ""
        self._number = 0

    @property
    def count(self) -> int:
        """Return how many lines the picture takes."""
        return len(self._strips)

    @property
    def size_words(self) -> str:
        """Return the picture's size."""
        picture = self.picture
        return f"{picture.width:,} × {picture.height:,} pixels" if picture.width else ""

    def on_resize(self, event: events.Resize) -> None:
        """Have the picture scaled for the new size."""
        self._scale()

    def on_unmount(self) -> None:
        """Free the picture in the terminal."""
        self._free()

    @work(name="picture", group="picture", exclusive=True, exit_on_error=False)
    async def _scale(self) -> None:
        columns, rows = self.scrollable_content_region.size
        if not columns or not rows:
            return
        cell = cell_pixels(self._graphics.cell) if self._graphics else (0, 0)
        precise = all(cell)  # without a known size of a cell, a picture could cover too many
        wide, high = cell if precise else (1, 2)
        try:
            self.picture = await self._file.picture(min(columns, WIDEST) * wide, min(rows, WIDEST) * high)
        except AlitaError as error:
            self.picture = Picture(problem=str(error))
        if precise and self.picture.pixels:
            await self._draw_precisely(cell)
        else:
            self._strips = half_blocks(self.picture, self._paper())
        self.recount()
        if self.picture.problem:
            self.post_message(self.Notice(self.picture.problem, bad=True))

    async def _draw_precisely(self, cell: tuple[int, int]) -> None:
        assert self._graphics
        columns, rows = cells(self.picture, cell)
        self._free()
        if self._graphics.kind == "sixel":
            self._sixel = await asyncio.to_thread(sixel, self.picture, self._paper())
            self._strips = [Strip.blank(columns, self.rich_style)] * rows
        else:
            number = next(_NUMBERS)
            self._write(await asyncio.to_thread(kitty, self.picture, number, columns, rows))
            self._number, self._strips = number, placeholders(number, columns, rows)

    def _free(self) -> None:
        if self._number:
            self._write(forget(self._number))
        self._number, self._sixel = 0, ""

    def _write(self, text: str) -> None:
        cast("ThemedApp[object]", self.app).write_terminal(text)

    def notify_style_update(self) -> None:
        """Draw on the theme's background."""
        super().notify_style_update()
        if self._strips:
            self._scale()

    def _paper(self) -> Ink:
        return self.background_colors[1].rgb

    def render_line(self, y: int) -> Strip:
        """Render a line of the picture, in the middle."""
        width, base = self.scrollable_content_region.width, self.rich_style
        number = y - self._above + self.scroll_offset.y
        if not 0 <= number < self.count:
            return Strip.blank(width, base)
        left = max((width - self._strips[number].cell_length) // 2, 0)
        return Strip.join([Strip.blank(left, base), self._strips[number]]).adjust_cell_length(width, base)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines; a sixel picture is drawn over its cells whenever any of them was."""
        strips = super().render_lines(crop)
        if not (self._sixel and strips and self.screen.is_active):
            return strips
        left = max((self.scrollable_content_region.width - self._strips[0].cell_length) // 2, 0)
        corner = self.content_region.offset + (left, self._above)
        # The cursor is put back: what is drawn next goes on from where this line ends.
        drawn = f"\x1b7\x1b[{corner.y + 1};{corner.x + 1}H{self._sixel}\x1b8"
        over = Segment(drawn, None, [(ControlType.CURSOR_FORWARD, 0)])
        last = strips[-1]
        return [*strips[:-1], Strip([*last, over], last.cell_length)]

    @property
    def _above(self) -> int:
        return max((self.size.height - self.count) // 2, 0)

    def copied(self) -> str:
        """Return the picture's size: its pixels are no text."""
        return self.size_words
