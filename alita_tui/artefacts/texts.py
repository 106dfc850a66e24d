"""Lines of a text and bytes of any file, a page at a time."""

from __future__ import annotations

from itertools import islice
from typing import BinaryIO

from alita_tui.artefacts.records import Extent, Records, ends_of_lines
from alita_tui.artefacts.tables import SEARCHED, Shown
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import SafeText, neutralise

_ROW = 16
_PIECE = 1 << 20


class Lines:
    """A text's lines; a long one takes several records. Not to be used by two threads at once."""

    head: tuple[SafeText, ...] = ()
    columns = 0

    def __init__(self, content: BinaryIO, encoding: str = "utf-8") -> None:
        self._encoding = encoding
        self._records = Records(content, ends_of_lines)
        self._records.look_further()

    @property
    def extent(self) -> Extent:
        """The number of known lines."""
        return self._records.extent

    def look_further(self) -> Extent:
        """Find more lines."""
        return self._records.look_further()

    def page(self, first: int, count: int) -> tuple[Shown, ...]:
        """Return some lines with their numbers."""
        records = list(islice(self._records.from_(max(first - 1, 0)), count + (first > 0)))
        previous = records.pop(0) if first and records else None
        rows = []
        for record in records:
            begins = previous is None or previous.line != record.line
            text = record.content.decode(self._encoding, "replace").rstrip("\r\n")
            rows.append(Shown(label=f"{record.line + 1}" if begins else "", cells=(_flat(text),)))
            previous = record
        return tuple(rows)

    def find(self, needle: str, start: int, direction: int) -> tuple[int | None, int]:
        """Return the next line that contains a text, ignoring case, and where to continue; -1 at the end."""
        return self._records.find(needle, start, direction, encoding=self._encoding, blocks=SEARCHED)

    def sort(self, column: int, *, descending: bool) -> None:
        """Raise UsageError."""
        raise UsageError("Only tables are sorted.")

    def unsort(self) -> None:
        """Change nothing."""


class Bytes:
    """A file's bytes, sixteen in a row."""

    head: tuple[SafeText, ...] = ()
    columns = 0

    def __init__(self, content: BinaryIO, size: int) -> None:
        self._content = content
        self._size = size

    @property
    def extent(self) -> Extent:
        """The number of rows."""
        return Extent(count=-(-self._size // _ROW))

    def look_further(self) -> Extent:
        """Return the extent, which is known from the beginning."""
        return self.extent

    def page(self, first: int, count: int) -> tuple[Shown, ...]:
        """Return some rows: offset, bytes in hex, and printable characters."""
        self._content.seek(first * _ROW)
        data = self._content.read(count * _ROW)
        return tuple(
            Shown(label=f"{first * _ROW + at:08x}", cells=(_numbers(row), _letters(row)))
            for at in range(0, len(data), _ROW)
            for row in (data[at : at + _ROW],)
        )

    def find(self, needle: str, start: int, direction: int) -> tuple[int | None, int]:
        """Return the next row in which a text begins, and where to look on; -1 at the end."""
        encoded = needle.encode()
        step = _PIECE // _ROW
        first = start if direction > 0 else max(start + 1 - step, 0)
        rows = step if direction > 0 else start + 1 - first
        self._content.seek(first * _ROW)
        data = self._content.read(rows * _ROW + len(encoded) - 1)
        offset = data.find(encoded) if direction > 0 else data.rfind(encoded)
        if offset >= 0:
            return first + offset // _ROW, first + offset // _ROW
        further = first + step if direction > 0 else first - 1
        return None, further if 0 <= further * _ROW < self._size else -1

    def sort(self, column: int, *, descending: bool) -> None:
        """Raise UsageError."""
        raise UsageError("Only tables are sorted.")

    def unsort(self) -> None:
        """Change nothing."""


def _flat(text: str) -> SafeText:
    return SafeText(neutralise(text).replace("\n", " "))


def _numbers(part: bytes) -> SafeText:
    halves = (part[: _ROW // 2].hex(" "), part[_ROW // 2 :].hex(" "))
    return SafeText("  ".join(halves).ljust(3 * _ROW))


def _letters(part: bytes) -> SafeText:
    return SafeText("".join(chr(byte) if 0x20 <= byte < 0x7F else "·" for byte in part))
