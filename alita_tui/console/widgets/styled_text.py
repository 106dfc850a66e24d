"""Lines of styled text for the panes that draw line by line: wrapping, cutting, restyling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

Ink = tuple[str, str]
"""A piece of text and the name of its ink (see `ink_styles`)."""
Line = tuple[Ink, ...]
"""One line on screen, left to right."""

_WORDS = re.compile(r"\s*\S+|\s+")


def width_of(line: Line) -> int:
    """Cells that a line takes."""
    return sum(cell_len(text) for text, _ink in line)


def cut(text: str, width: int) -> str:
    """Text that fits into some cells, with an ellipsis where something is missing."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


def wrap(text: str, width: int) -> list[str]:
    """Text in lines of at most `width` cells: broken between words, inside one only if it is too long."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += [paragraph] if len(paragraph) * 2 <= width else _paragraph(paragraph, max(width, 2))
    return lines


def _paragraph(text: str, width: int) -> Iterator[str]:
    if cell_len(text) <= width:
        yield text.rstrip() or ""
        return
    line, used = "", 0
    for word in _WORDS.findall(text):
        if used and used + cell_len(word) > width:
            yield line.rstrip()
            word, line, used = word.lstrip(), "", 0
        if used + cell_len(word) <= width:
            line, used = line + word, used + cell_len(word)
            continue
        *full, line = chop_cells(word, width)
        yield from full
        used = cell_len(line)
    if line.strip():
        yield line.rstrip()


def spread(left: Sequence[Ink], right: Ink, width: int) -> Line:
    """A line with something at the right edge; the left gives way, and at last the right is left out."""
    room = width - cell_len(right[0]) - 1 if right[0] else width
    if room < 12:
        return clip(left, width)
    kept = clip(left, room)
    if not right[0]:
        return kept
    return (*kept, (" " * (width - width_of(kept) - cell_len(right[0])), ""), right)


def clip(line: Sequence[Ink], width: int) -> Line:
    """A line cut at some cells with an ellipsis."""
    kept: list[Ink] = []
    room = width
    for text, ink in line:
        if cell_len(text) > room:
            if short := cut(text, room):
                kept.append((short, ink))
            break
        kept.append((text, ink))
        room -= cell_len(text)
    return tuple(kept)


def text_of(line: Line) -> str:
    """A line without its inks."""
    return "".join(text for text, _ink in line)


def to_strip(line: Line, styles: dict[str, Style], base: Style, width: int) -> Strip:
    """A line as Textual draws it, padded or cut to exactly `width` cells."""
    segments = [Segment(text, base + styles[ink] if ink else base) for text, ink in line if text]
    return Strip(segments).adjust_cell_length(width, base)


def restyle(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """A strip with a style laid over some of its cells."""
    end = strip.cell_length if end < 0 else min(end, strip.cell_length)
    if start >= end:
        return strip
    before, middle, after = strip.crop(0, start), strip.crop(start, end), strip.crop(end)
    over = Strip([Segment(s.text, (s.style or Style()) + style, s.control) for s in middle])
    return Strip.join([before, over, after])


def marked(strip: Strip, needle: str, style: Style) -> Strip:
    """A strip with every place of a text (in lower case) marked."""
    text = strip.text.lower()
    start = text.find(needle) if len(text) == len(strip.text) else -1  # a few letters grow in lower case
    while start >= 0:
        end = start + len(needle)
        cells = strip.index_to_cell_position(start), strip.index_to_cell_position(end)
        strip = restyle(strip, *cells, style)
        start = text.find(needle, end)
    return strip


_SPECS = {
    "text": "foreground",
    "strong": "foreground bold",
    "link": "primary",
    "heading": "accent bold",
    "mark": "accent",
    "hit": "background on accent",
    "cursor": "on alita-cursor",
    "selected": "on screen-selection-background",
}


def ink_styles(variables: Mapping[str, str], inks: Iterable[str], **specs: str) -> dict[str, Style]:
    """The styles of some inks under a theme's variables: each in the colour of its token.

    `specs` says of an ink what it is made of, as `VARIABLE ATTRIBUTES on VARIABLE`. Component classes
    would do the same, but each is matched against the whole stylesheet whenever a widget is styled.
    """
    return {ink: _style(variables, specs.get(ink) or _SPECS.get(ink) or f"alita-{ink}") for ink in inks}


def _style(variables: Mapping[str, str], spec: str) -> Style:
    inked, _, paper = spec.partition("on ") if spec.startswith("on ") else spec.partition(" on ")
    name, *attributes = inked.split() or [""]
    return Style(
        color=Color.parse(variables[name]).rich_color if name else None,
        bgcolor=Color.parse(variables[paper]).rich_color if paper else None,
        bold="bold" in attributes or None,
        italic="italic" in attributes or None,
        reverse="reverse" in attributes or None,
    )
