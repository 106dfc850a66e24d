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
    """Return a picture's lines; transparent parts show the background colour `paper`."""
    width = picture.columns
    blended = _blended(picture.pixels, paper)
    below = [paper] * width
    strips = []
    for row in range(0, picture.rows, 2):
        top = blended[row * width : (row + 1) * width]
        bottom = blended[(row + 1) * width : (row + 2) * width] or below
        runs = ((pair, len(list(same))) for pair, same in groupby(zip(top, bottom, strict=True)))
        strips.append(Strip([_segment(*pair, count) for pair, count in runs], width))
    return strips


def _segment(top: Ink, bottom: Ink, count: int) -> Segment:
    return Segment(
        (" " if top == bottom else "▀") * count,
        Style(color=Color.from_rgb(*top), bgcolor=Color.from_rgb(*bottom)),
    )


def _blended(pixels: bytes, paper: Ink) -> list[Ink]:
    inks = []
    for red, green, blue, opacity in zip(*(iter(pixels),) * 4, strict=True):
        if opacity == 255:
            inks.append((red, green, blue))
        else:
            mixed = [
                (over * opacity + under * (255 - opacity)) // 255
                for over, under in zip((red, green, blue), paper, strict=True)
            ]
            inks.append((mixed[0], mixed[1], mixed[2]))
    return inks
