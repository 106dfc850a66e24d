"""Pictures in cards: a fixed room of half blocks under an answer, filled when it comes on screen.

The room is the same before and after a picture is decoded, so that nothing moves under a reader.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from textual.cache import LRUCache
from textual.strip import Strip

from alita_tui.view.model import TraceRow

WIDEST, ROWS = 64, 12
"""Cells that a picture takes at most, and the lines that are kept for it."""
MOST = 2
"""Pictures under one answer; the others are names only."""
_PICTURE = re.compile(r": image/(?:png|jpeg|gif|svg\+xml), [^:]+$")


class Slice(NamedTuple):
    """One line of a picture."""

    handle: str
    line: int
    columns: int
    """Cells that the picture may take."""


def pictures_of(files: Sequence[TraceRow]) -> list[str]:
    """Return the handles of the first few pictures among the rows of files."""
    found = [row.detail.partition("\n")[0] for row in files if _PICTURE.search(row.title)]
    return list(dict.fromkeys(found))[:MOST]


class Pictures:
    """The lines of pictures that came on screen lately, and which of them have yet to be decoded."""

    def __init__(self) -> None:
        self._drawn: LRUCache[tuple[str, int], Sequence[Strip]] = LRUCache(64)
        self._asked: set[tuple[str, int]] = set()

    def line(self, one: Slice) -> Strip | None:
        """Return a line of a picture; None where there is none, or none yet."""
        lines = self._drawn.get((one.handle, one.columns), ())
        return lines[one.line] if one.line < len(lines) else None

    def wanted(self, one: Slice) -> bool:
        """Return whether the picture has to be asked for; True once only."""
        key = one.handle, one.columns
        if key in self._drawn or key in self._asked:
            return False
        self._asked.add(key)
        return True

    def put(self, handle: str, columns: int, lines: Sequence[Strip]) -> None:
        """Take a picture's lines; none where it cannot be shown."""
        self._asked.discard((handle, columns))
        self._drawn[handle, columns] = lines

    def clear(self) -> None:
        """Forget what was drawn: another theme has another paper."""
        self._drawn.clear()
