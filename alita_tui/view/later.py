"""A row's text that is not held in memory but read again from the recorded event.

A long session's trace is mostly text that is never opened. Without it, a row takes a few hundred bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import SafeText, one_line

WORTH = 240
"""Length in characters from which a text is not held in memory."""


class Later:
    """Stands for a text, and is equal to it."""

    __slots__ = ("_place", "_read")

    def __init__(self, read: Callable[[int], SafeText], place: int) -> None:
        self._read = read
        self._place = place

    def read(self) -> SafeText:
        """Return the text, or why it cannot be read."""
        try:
            return self._read(self._place)
        except AlitaError as error:
            return one_line(f"(This cannot be read again: {error.message})", 400)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Later) and (other._read, other._place) == (self._read, self._place):
            return True
        return self.read() == (other.read() if isinstance(other, Later) else other)

    __hash__ = None  # type: ignore[assignment]  # as of the text that it is equal to, which is not in memory
