"""A picture in half blocks, two pixels in a cell."""

from __future__ import annotations

from itertools import groupby

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from alita_tui.confined.pictures import Picture
from alita_tui.console.files.pane import Pane
from alita_tui.console.files.ports import OpenFile
from alita_tui.spine.errors import AlitaError

Ink = tuple[int, int, int]
"""Red, green, blue."""


class PicturePane(Pane):
    """A picture, scaled to the pane."""

    pointed = False

    def __init__(self, file: OpenFile) -> None:
        super().__init__()
        self._file = file
        self.picture = Picture()
        self._strips: list[Strip] = []

    @property
    def count(self) -> int:
        """Return how many lines the picture takes."""
        return len(self._strips)

    @property
    def told(self) -> str:
        """Return the picture's size."""
        found = self.picture
        return f"{found.width:,} × {found.height:,} pixels" if found.width else ""

    def on_resize(self, event: events.Resize) -> None:
        """Have the picture scaled for the new size."""
        self.run_worker(self._scale(), name="picture", group="picture", exclusive=True, exit_on_error=False)

    async def _scale(self) -> None:
        width, height = self.scrollable_content_region.size
        if not width or not height:
            return
        try:
            self.picture = await self._file.picture(width, height * 2)
        except AlitaError as error:
            self.picture = Picture(problem=str(error))
        self._draw()
        if self.picture.problem:
            self.post_message(self.Said(self.picture.problem, bad=True))

    def notify_style_update(self) -> None:
        """Draw on the theme's background."""
        super().notify_style_update()
        self._draw()

    def _draw(self) -> None:
        self._strips = half_blocks(self.picture, self._paper())
        self.recount()

    def _paper(self) -> Ink:
        return self.background_colors[1].rgb

    def render_line(self, y: int) -> Strip:
        """Render a line of the picture, in the middle."""
        width, base = self.scrollable_content_region.width, self.rich_style
        above = max((self.size.height - self.count) // 2, 0)
        number = y - above + self.scroll_offset.y
        if not 0 <= number < self.count:
            return Strip.blank(width, base)
        left = max((width - self._strips[number].cell_length) // 2, 0)
        return Strip.join([Strip.blank(left, base), self._strips[number]]).adjust_cell_length(width, base)

    def copied(self) -> str:
        """Return the picture's size: its pixels are no text."""
        return self.told


def half_blocks(picture: Picture, paper: Ink) -> list[Strip]:
    """Return a picture's lines; what can be seen through shows the paper."""
    wide = picture.columns
    blended = _blended(picture.pixels, paper)
    below = [paper] * wide
    strips = []
    for row in range(0, picture.rows, 2):
        top = blended[row * wide : (row + 1) * wide]
        bottom = blended[(row + 1) * wide : (row + 2) * wide] or below
        runs = ((pair, len(list(same))) for pair, same in groupby(zip(top, bottom, strict=True)))
        strips.append(Strip([_segment(*pair, count) for pair, count in runs], wide))
    return strips


def _segment(top: Ink, bottom: Ink, count: int) -> Segment:
    return Segment(
        (" " if top == bottom else "▀") * count,
        Style(color=Color.from_rgb(*top), bgcolor=Color.from_rgb(*bottom)),
    )


def _blended(pixels: bytes, paper: Ink) -> list[Ink]:
    found = []
    for red, green, blue, opacity in zip(*(iter(pixels),) * 4, strict=True):
        if opacity == 255:
            found.append((red, green, blue))
        else:
            seen = [
                (over * opacity + under * (255 - opacity)) // 255
                for over, under in zip((red, green, blue), paper, strict=True)
            ]
            found.append((seen[0], seen[1], seen[2]))
    return found
