"""Lines that keep their columns when terminal and Textual disagree about the width of a character.

Terminals and versions of Unicode disagree about emoji of several parts, flags, marks and conjoined letters. Text after
them would shift, and cells that they seemed to cover would keep their old content. So the cells are cleared first, and
the following text is placed by its column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.segment import ControlType, Segment
from rich.style import Style
from textual.strip import Strip

_AGREED = re.compile(
    "[\u0000-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2200-\u22ff\u2500-\u25ff"
    "⌕✧✓✔✗✖✎❯❮]*"
)
"""Latin, Greek, Cyrillic, punctuation, arrows, boxes and the console's own signs: one cell each everywhere."""
_WORDS = re.compile(r"\s+|\S+")
_CONTROL = ((ControlType.CURSOR_FORWARD, 0),)  # a tuple: cutting a line hashes its segments


def anchored(strips: Iterable[Strip], left: int) -> list[Strip]:
    """Return lines that begin in column `left` of the screen, from 0, with every word in its column."""
    return [
        strip if all(map(_width_agreed, strip)) else Strip(_placed(strip, left), strip.cell_length)
        for strip in strips
    ]


def _width_agreed(segment: Segment) -> bool:
    return bool(segment.control) or segment.text.isascii() or _AGREED.fullmatch(segment.text) is not None


def _placed(strip: Strip, column: int) -> Iterator[Segment]:
    """Yield the segments; one with a disputed width word by word, so that the line can be cut between words."""
    for segment in strip:
        if _width_agreed(segment):
            yield segment
            column += segment.cell_length
            continue
        offset = 0
        for word in _WORDS.findall(segment.text):
            part, width = Segment(word, _with_offset(segment.style, offset)), cell_len(word)
            if _width_agreed(part):
                yield part
            else:
                yield Segment(f"\x1b[{width}X" if width else "", None, _CONTROL)
                yield part
                yield Segment(f"\x1b[{column + width + 1}G", None, _CONTROL)
            offset, column = offset + len(word), column + width


def _with_offset(style: Style | None, characters: int) -> Style | None:
    """Return the style for a part that begins some characters later: the mouse selects by the offset in the style."""
    offset = style.meta.get("offset") if style is not None and style._meta else None
    if style is None or offset is None or not characters:
        return style
    return style + Style.from_meta({"offset": (offset[0] + characters, offset[1])})
