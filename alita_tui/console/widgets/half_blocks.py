"""Pictures as half blocks: two pixels in a cell, one above the other."""

from __future__ import annotations

from itertools import groupby

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from alita_tui.confined.pictures import Picture

Ink = tuple[int, int, int]
"""Red, green, blue."""


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
