"""Splits a hostile stream into lines: each byte is examined once, and line length is limited."""

from __future__ import annotations


class TooLong(ValueError):
    """A line is longer than allowed."""


class Lines:
    """Splits incoming bytes into lines."""

    def __init__(self, most: int) -> None:
        """`most` is the longest line in bytes."""
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that this piece completes, without line ends. Raise TooLong."""
        first, *rest = data.split(b"\n")
        if self._size + len(first) > self._most or any(len(line) > self._most for line in rest):
            raise TooLong(f"a line is longer than {self._most >> 20} MB")
        if not rest:
            self._pieces.append(first)
            self._size += len(first)
            return []
        lines = [b"".join((*self._pieces, first)), *rest[:-1]]
        self._pieces, self._size = [rest[-1]], len(rest[-1])
        return lines
