"""Splits a hostile stream into lines. Each byte is examined once, and the length of a line is limited."""

from __future__ import annotations


class TooLong(ValueError):
    """A line is longer than allowed."""


class Lines:
    """Splits incoming bytes into lines."""

    def __init__(self, longest: int) -> None:
        """`longest` is the longest line allowed, in bytes."""
        self._most = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete, without line ends. Raises TooLong."""
        completing, *further = data.split(b"\n")
        if self._size + len(completing) > self._most or any(len(line) > self._most for line in further):
            raise TooLong(f"a line is longer than {self._most >> 20} MB")
        if not further:
            self._pieces.append(completing)
            self._size += len(completing)
            return []
        lines = [b"".join((*self._pieces, completing)), *further[:-1]]
        self._pieces, self._size = [further[-1]], len(further[-1])
        return lines
