"""Pictures as half blocks: two pixels in a cell, one above the other. Labels of a drawing are written over them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from unicodedata import normalize

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from alita_tui.confined.pictures import Picture
from alita_tui.spine.text import one_line

Ink = tuple[int, int, int]
"""Red, green, blue."""
_LIGHT, _DARK = (236, 239, 244), (23, 27, 34)
"""Inks of labels, for dark and for light pixels."""
_LONGEST = 40
"""Characters of a label."""


def half_blocks(picture: Picture, paper: Ink) -> list[Strip]:
    """Return a picture's lines; transparent parts show the background colour `paper`."""
    width = picture.columns
    blended = _blended(picture.pixels, paper)
    below = [paper] * width
    lines = []
    for row in range(0, picture.rows, 2):
        top = blended[row * width : (row + 1) * width]
        bottom = blended[(row + 1) * width : (row + 2) * width] or below
        lines.append(list(zip(top, bottom, strict=True)))
    labels = _placed(picture, len(lines))
    return [Strip(_segments(pairs, labels[number]), width) for number, pairs in enumerate(lines)]


def _segments(pairs: list[tuple[Ink, Ink]], labels: Iterable[tuple[int, str]]) -> list[Segment]:
    """Return a line: half blocks, and labels at the cells that they begin at."""
    segments: list[Segment] = []
    at = 0
    for left, text in sorted(labels):
        segments += _blocks(pairs[at:left])
        at = left + cell_len(text)
        if text.isascii():
            segments += [_letters(letter, pair) for letter, pair in zip(text, pairs[left:at], strict=True)]
        else:  # some take two cells
            segments.append(_letters(text, pairs[left]))
    return segments + _blocks(pairs[at:])


def _blocks(pairs: list[tuple[Ink, Ink]]) -> list[Segment]:
    return [_segment(*pair, len(list(same))) for pair, same in groupby(pairs)]


def _letters(text: str, pair: tuple[Ink, Ink]) -> Segment:
    """Return letters in an ink that is legible on the mean of both pixels."""
    red, green, blue = ((upper + lower) // 2 for upper, lower in zip(*pair, strict=True))
    dark = 299 * red + 587 * green + 114 * blue < 128_000
    ink = _LIGHT if dark else _DARK
    return Segment(text, Style(color=Color.from_rgb(*ink), bgcolor=Color.from_rgb(red, green, blue)))


def _placed(picture: Picture, count: int) -> list[list[tuple[int, str]]]:
    """Return for each line the labels that have room in it, each with its first cell; earlier ones come first."""
    lines: list[list[tuple[int, str]]] = [[] for _ in range(count)]
    for label in picture.labels:
        text = _separate(one_line(label.text, _LONGEST), picture.columns)
        width = cell_len(text)
        before = {"start": 0, "middle": width // 2, "end": width}[label.anchor]
        left = min(max(label.x - before, 0), picture.columns - width)
        if not width or not 0 <= label.y < picture.rows:
            continue
        line = lines[label.y // 2]
        if all(left + width < other or other + cell_len(words) < left for other, words in line):
            line.append((left, text))
    return lines


def _separate(text: str, room: int) -> str:
    """Return what fits of a text, without characters that take no cell; empty if some of the others join."""
    letters, width = "", 0
    for letter in normalize("NFC", text):
        cells = cell_len(letter)
        if width + cells > room:
            break
        letters += letter if cells else ""
        width += cells
    return letters if cell_len(letters) == width else ""


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
