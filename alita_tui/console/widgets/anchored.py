"""Lines that stay in their columns where the terminal takes another width for a character than Textual does.

Terminals and versions of Unicode disagree about emoji of several parts, flags, marks and conjoined letters. What
follows such a text would stand elsewhere on its line, and cells that it was thought to cover would keep what was there.
So the cells are cleared before it, and what follows is placed by its column.
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
        strip if all(map(_agreed, strip)) else Strip(_placed(strip, left), strip.cell_length)
        for strip in strips
    ]


def _agreed(segment: Segment) -> bool:
    return bool(segment.control) or segment.text.isascii() or _AGREED.fullmatch(segment.text) is not None


def _placed(strip: Strip, column: int) -> Iterator[Segment]:
    """Yield the segments; of the others each word alone, so that a line may be cut between any two of them."""
    for segment in strip:
        if _agreed(segment):
            yield segment
            column += segment.cell_length
            continue
        at = 0
        for word in _WORDS.findall(segment.text):
            one, width = Segment(word, _from(segment.style, at)), cell_len(word)
            if _agreed(one):
                yield one
            else:
                yield Segment(f"\x1b[{width}X" if width else "", None, _CONTROL)
                yield one
                yield Segment(f"\x1b[{column + width + 1}G", None, _CONTROL)
            at, column = at + len(word), column + width


def _from(style: Style | None, at: int) -> Style | None:
    """Return the style of a part that begins `at` characters later: what the mouse selects goes by its offset."""
    offset = style.meta.get("offset") if style is not None and style._meta else None
    if style is None or offset is None or not at:
        return style
    return style + Style.from_meta({"offset": (offset[0] + at, offset[1])})
