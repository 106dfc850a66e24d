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
    handles = [row.detail.partition("\n")[0] for row in files if _PICTURE.search(row.title)]
    return list(dict.fromkeys(handles))[:MOST]


class Pictures:
    """The lines of pictures that were on screen lately, and which pictures were requested."""

    def __init__(self) -> None:
        self._drawn: LRUCache[tuple[str, int], Sequence[Strip]] = LRUCache(64)
        self._requested: set[tuple[str, int]] = set()

    def line(self, part: Slice) -> Strip | None:
        """Return a line of a picture; None if it has none, or is not decoded yet."""
        lines = self._drawn.get((part.handle, part.columns), ())
        return lines[part.line] if part.line < len(lines) else None

    def should_request(self, part: Slice) -> bool:
        """Return True the first time a picture is needed that is not decoded yet."""
        key = part.handle, part.columns
        if key in self._drawn or key in self._requested:
            return False
        self._requested.add(key)
        return True

    def put(self, handle: str, columns: int, lines: Sequence[Strip]) -> None:
        """Store the lines of a picture; empty if it cannot be shown."""
        self._requested.discard((handle, columns))
        self._drawn[handle, columns] = lines

    def clear(self) -> None:
        """Drop the drawn lines: another theme has another background."""
        self._drawn.clear()
