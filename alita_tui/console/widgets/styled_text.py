"""Styled text for panes that draw line by line: wrapping, cutting, restyling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

Piece = tuple[str, str]
"""A piece of text and the name of its style (see `theme_styles`)."""
Line = tuple[Piece, ...]
"""One line on screen."""

_WORDS = re.compile(r"\s*\S+|\s+")
_ITEM = re.compile(r"\s*([-*•]|\d+[.)])\s")
"""The beginning of an item of a list."""
_SLACK = 8
"""Characters that a line of prose may be shorter than its paragraph is wide and still be wrapped there."""
_JOINTS = "_-/.:"
"""Characters after which a word that is longer than a line is broken."""


def width_of(line: Line) -> int:
    """Return the cells that a line takes."""
    return sum(cell_len(text) for text, _style in line)


def cut(text: str, width: int) -> str:
    """Cut text to `width` cells, with an ellipsis."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


def wrap(text: str, width: int) -> list[str]:
    """Wrap text at `width` cells, between words if possible."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += [paragraph] if len(paragraph) * 2 <= width else _paragraph(paragraph, max(width, 2))
    return lines


def rejoined(text: str, width: int) -> str:
    """Return prose with the lines of each paragraph joined if some are wider than `width`.

    Folded as it is, prose that was wrapped for more room would have a word or two on every other line.
    """
    lines = text.split("\n")
    widest = max(map(len, lines))
    if widest <= width:
        return text
    joined, before = [lines[0]], lines[0]
    for line in lines[1:]:
        first, *_ = line.split(maxsplit=1) or [""]
        full = len(before) + 1 + len(first) > widest - _SLACK
        full = full and not before.endswith(":") and not _ITEM.match(line)
        if before.strip() and first and full:
            joined[-1] += f" {line.lstrip()}"
        else:
            joined.append(line)
        before = line
    return "\n".join(joined)


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
        *full, line = _chopped(word, width)
        yield from full
        used = cell_len(line)
    if line.strip():
        yield line.rstrip()


def _chopped(word: str, width: int) -> list[str]:
    """Return a word as parts of at most `width` cells, broken after a joint if much of the line stands before it."""
    parts: list[str] = []
    start = 0
    while True:
        piece = word[start : start + 4 * width]  # of a long word only what may fit
        part = next(iter(chop_cells(piece, width)), piece)  # combining marks alone have no cells
        if start + len(part) >= len(word):
            return [*parts, part]
        end = _joint(part, len(part) // 3) or len(part)
        parts.append(part[:end])
        start += end


def _joint(text: str, least: int) -> int:
    """Return the offset after the last joint of a text; 0 if there is none after `least` characters."""
    end = max(map(text.rfind, _JOINTS)) + 1
    return end if end > least else 0


def folded(
    line: Line, room: int, *, hard: bool = False, bare: bool = False, code: bool = False
) -> list[Line]:
    """Return a styled line as lines of at most `room` cells.

    `hard` breaks at the edge, keeping every blank, with `code` not within a name if much of the line stands before it;
    `bare` breaks between words, and drops the blanks there.
    """
    text = text_of(line)
    fits = len(text) * 2 <= room or max(width_of(line), cell_len(text)) <= room
    pieces = list(
        _slices(line, [len(text)] if fits else _breaks(text, room, hard=hard, bare=bare, code=code))
    )
    return [_bare(piece) for piece in pieces] if bare else pieces


def code_folded(line: Line, room: int) -> list[Line]:
    """Return a line of code as lines of at most `room` cells, broken between words, further ones indented more."""
    text = text_of(line)
    left, limit = sum(map(cell_len, text)), room
    if left <= room:
        return [line]
    hang = min(len(text) - len(text.lstrip(" ")) + 4, room // 2)
    ends, start = [], 0
    while left > limit:
        last, used = start, 0
        while used + cell_len(text[last]) <= limit:
            used, last = used + cell_len(text[last]), last + 1
        breaks = (at for at in range(last, start, -1) if _between_words(text, at) and text[start:at].strip())
        end = next(breaks, last)
        left, start, limit = left - sum(map(cell_len, text[start:end])), end, room - hang
        ends.append(end)
    first, *rest = _slices(line, [*ends, len(text)])
    return [first, *(((" " * hang, ""), *piece) for piece in rest)]


def _between_words(text: str, at: int) -> bool:
    """Return whether code may be broken before a character: not in a name or at its quotes, nor before what closes."""
    before, after = text[at - 1], text[at]
    within = (before.isalnum() or before in "_.") and (after.isalnum() or after == "_")
    quoted = (before.isalnum() and after in "\"'") or (before in "\"'" and after.isalnum())
    return not within and not quoted and after not in " ,)]}:;."


def _bare(line: Line) -> Line:
    """Return a line without blanks at its end."""
    while line and not line[-1][0].rstrip(" "):
        line = line[:-1]
    return (*line[:-1], (line[-1][0].rstrip(" "), line[-1][1])) if line else line


def _breaks(text: str, room: int, *, hard: bool, bare: bool = False, code: bool = False) -> list[int]:
    """Return the offsets at which a text is broken, its end included.

    Widths are counted per character: a joiner at the start of a piece of another style does not join.
    """
    offsets: list[int] = []
    start = used = 0
    blank = -1
    for at, char in enumerate(text):
        size = 0 if bare and char == " " and used >= room else cell_len(char)
        if used + size > room:
            if hard:
                end = _code_end(text, start, at) if code else at
            else:
                end = _soft_end(text, start, at, blank)
            offsets.append(end)
            used = sum(map(cell_len, text[end:at]))
            start = end
        if char == " ":
            blank = at
        used += size
    return [*offsets, len(text)]


def _code_end(text: str, start: int, at: int) -> int:
    """Return where a line of code that overflows before `at` ends, in the last third of the line if possible."""
    least = max(at - (at - start) // 3, start + 1)
    return next((end for end in range(at, least - 1, -1) if _between_words(text, end)), at)


def _soft_end(text: str, start: int, at: int, blank: int) -> int:
    """Return where a line that overflows before `at` ends: after its last blank, else after a joint of its word."""
    if blank >= start:
        return blank + 1
    joint = _joint(text[start:at], (at - start) // 3)
    return start + joint if joint else at


def _slices(line: Line, ends: Sequence[int]) -> Iterator[Line]:
    start = 0
    for end in ends:
        piece: list[Piece] = []
        at = 0
        for text, style in line:
            low, high = max(start - at, 0), min(end - at, len(text))
            if low < high:
                piece.append((text[low:high], style))
            at += len(text)
        yield tuple(piece)
        start = end


def spread(left: Sequence[Piece], right: Piece, width: int) -> Line:
    """Return a line with `right` at the edge; `left` is cut for it, and `right` dropped if there is no room."""
    room = width - cell_len(right[0]) - 1 if right[0] else width
    if room < 12:
        return clip(left, width)
    clipped = clip(left, room)
    if not right[0]:
        return clipped
    return (*clipped, (" " * (width - width_of(clipped) - cell_len(right[0])), ""), right)


def clip(line: Sequence[Piece], width: int) -> Line:
    """Cut a line to `width` cells, with an ellipsis."""
    pieces: list[Piece] = []
    room = width
    for text, style in line:
        if cell_len(text) > room:
            if short := cut(text, room):
                pieces.append((short, style))
            break
        pieces.append((text, style))
        room -= cell_len(text)
    return tuple(pieces)


def text_of(line: Line) -> str:
    """Return a line's text."""
    return "".join(text for text, _style in line)


def to_strip(line: Line, styles: dict[str, Style], base: Style, width: int) -> Strip:
    """Render a line, padded or cut to exactly `width` cells."""
    segments = [Segment(text, base + styles[style] if style else base) for text, style in line if text]
    return Strip(segments).adjust_cell_length(width, base)


def restyle(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """Return a strip with a style laid over some cells."""
    end = strip.cell_length if end < 0 else min(end, strip.cell_length)
    if start >= end:
        return strip
    before, middle, after = strip.crop(0, start), strip.crop(start, end), strip.crop(end)
    over = Strip([Segment(s.text, (s.style or Style()) + style, s.control) for s in middle])
    return Strip.join([before, over, after])


def marked(strip: Strip, needle: str, style: Style) -> Strip:
    """Return a strip with every occurrence of a lower-case text marked."""
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
    "em": "foreground italic",
    "code": "alita-string",
    "link": "primary",
    "heading": "accent bold",
    "mark": "accent",
    "hit": "background on accent",
    "cursor": "on alita-cursor",
    "selected": "screen-selection-foreground on screen-selection-background",
}


def theme_styles(variables: Mapping[str, str], names: Iterable[str], **specs: str) -> dict[str, Style]:
    """Return the named styles under a theme's variables; each has the colour of its token.

    `specs` defines a style as `VARIABLE ATTRIBUTES on VARIABLE`. Component classes
    would do the same, but each is matched against the whole stylesheet whenever a widget is styled.
    """
    return {name: _style(variables, specs.get(name) or _SPECS.get(name) or f"alita-{name}") for name in names}


def _style(variables: Mapping[str, str], spec: str) -> Style:
    foreground, _, background = spec.partition("on ") if spec.startswith("on ") else spec.partition(" on ")
    name, *attributes = foreground.split() or [""]
    return Style(
        color=Color.parse(variables[name]).rich_color if name else None,
        bgcolor=Color.parse(variables[background]).rich_color if background else None,
        bold="bold" in attributes or None,
        italic="italic" in attributes or None,
        reverse="reverse" in attributes or None,
    )


def at_words(text: str, width: int, *, before: int = 0) -> str:
    """Return text of at most `width` cells; of a longer one whole words and an ellipsis.

    A long first word is cut, unless much of the line, `before` cells, stands in front of it.
    """
    if cell_len(text) <= width:
        return text
    short = cut(text, width)
    head, blank, _rest = short.rpartition(" ")
    if blank:
        return f"{head.rstrip(' ,;:')} …" if before + cell_len(head) >= (before + width) // 3 else short
    return "…" if short and before > width else short
