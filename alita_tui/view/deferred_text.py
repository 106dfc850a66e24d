"""Texts of rows that are not held in memory but read again from the recorded event.

Most text in the trace of a long session is never opened. Without its text, a row takes a few hundred bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import SafeText, one_line

WORTH = 240
"""Length in characters from which a text is not held in memory."""


class DeferredText:
    """Stands in for a text and compares equal to it."""

    __slots__ = ("_place", "_read")

    def __init__(self, read: Callable[[int], SafeText], position: int) -> None:
        self._read = read
        self._place = position

    def read(self) -> SafeText:
        """Return the text, or the reason why it cannot be read."""
        try:
            return self._read(self._place)
        except AlitaError as error:
            return one_line(f"(This cannot be read again: {error.message})", 400)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DeferredText) and (other._read, other._place) == (self._read, self._place):
            return True
        return self.read() == (other.read() if isinstance(other, DeferredText) else other)

    __hash__ = None  # type: ignore[assignment]  # it would have to be the hash of the text, which is not in memory
