"""NO_COLOR: only the terminal's own two colours; a background that carries meaning becomes reverse video."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_DEFAULT = Style.parse("default on default")
_APART = 3.0
"""Contrast from which on a background carries meaning; one with less only separates areas."""


class Colourless(LineFilter):
    """Removes every colour. Text under the cursor, selected text and badges are shown in reverse video."""

    def __init__(self, papers: Callable[[], tuple[str, str]]) -> None:
        """`papers` returns the background colour of the screen and of the cursor."""
        super().__init__()
        self._papers = papers

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without colours."""
        del background
        ground, cursor = self._papers()
        return [
            Segment(text, None if style is None else _plain(style, ground, cursor), control)
            for text, style, control in segments
        ]


@lru_cache(2048)
def _plain(style: Style, ground: str, cursor: str) -> Style:
    paper = style.bgcolor
    marked = paper is not None and paper.triplet is not None and _means(paper.triplet.hex, ground, cursor)
    plain = style + _DEFAULT + Style(dim=False)
    return plain + Style(reverse=True) if marked and not style.reverse else plain


def _means(paper: str, ground: str, cursor: str) -> bool:
    colour, background = Color.parse(paper), Color.parse(ground)
    return colour == Color.parse(cursor) or _contrast(colour, background) >= _APART


def _contrast(colour: Color, background: Color) -> float:
    """Return the contrast of two colours by WCAG, 1 to 21."""
    low, high = sorted((_luminance(colour), _luminance(background)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
