"""Lines of a text or rows of a table in a file of any size, found as they are needed.

Only the place of about every 256th record is held in memory, a few MB for the largest files.
"""

from __future__ import annotations

import io
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from alita_tui.artefacts.media import HEAD_BYTES
from alita_tui.events.base import Value

LONGEST_ROW = 1 << 20
"""Longest row in bytes; a longer one means that it is not a table, or that a quotation mark is missing."""
PIECE = 2_000
"""Bytes of a line that are one record: a file may be one line."""
_CHUNK = 1 << 20
_RECORDS_APART, _BYTES_APART = 256, 1 << 18
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_MOST_WIDE = 32_000_000
"""Bytes of a text in UTF-16, which is made UTF-8 in memory."""

Ends = Callable[[bytes, bool], Iterator[int]]
"""Returns where records end in some bytes; the last argument is True if no bytes follow."""


class Extent(Value, frozen=True):
    """The number of known records, and whether there may be more."""

    count: int
    whole: bool = True
    """False while there may be more."""
    problem: str = ""
    """Why those after the known ones cannot be read."""

    @property
    def ended(self) -> bool:
        """Return whether no more will be found."""
        return self.whole or bool(self.problem)


class Record(NamedTuple):
    """A record, and where it is."""

    number: int
    """From 0."""
    offset: int
    line: int
    """Line ends before it."""
    content: bytes


class Records:
    """The records of a file; not to be used by two threads at once."""

    def __init__(self, content: BinaryIO, ends: Ends) -> None:
        self._content = content
        self._ends = ends
        start = 3 if content.read(3) == b"\xef\xbb\xbf" else 0
        self._numbers, self._offsets, self._lines = (array("Q", [0]), array("Q", [start]), array("Q", [0]))
        """Numbers, offsets and lines of the marked records, about one in 256."""
        self._scanned = start
        self._line = 0
        self.extent = Extent(count=0, whole=False)

    def look_further(self) -> Extent:
        """Find the records of the next megabyte."""
        if self.extent.ended:
            return self.extent
        self._content.seek(self._scanned)
        data = self._content.read(_CHUNK + LONGEST_ROW)
        at_end = len(data) < _CHUNK + LONGEST_ROW
        count, line, marked, marked_at = self.extent.count, self._line, self._numbers[-1], self._offsets[-1]
        consumed = 0
        for end in self._ends(data, at_end):
            offset = self._scanned + consumed
            if count - marked >= _RECORDS_APART or offset - marked_at >= _BYTES_APART:
                marked, marked_at = count, offset
                self._numbers.append(count)
                self._offsets.append(offset)
                self._lines.append(line)
            count += 1
            line += data[end - 1] == 10
            consumed = end
            if consumed >= _CHUNK:
                break
        self._scanned, self._line = self._scanned + consumed, line
        problem = ""
        if consumed < min(len(data), _CHUNK):
            problem = f"row {count} is longer than {LONGEST_ROW / 1e6:.0f} MB; is a quotation mark missing?"
        self.extent = Extent(count=count, whole=at_end and consumed == len(data), problem=problem)
        return self.extent

    def from_(self, first: int) -> Iterator[Record]:
        """Yield the known records from a number on."""
        at = bisect_right(self._numbers, first) - 1
        number, offset, line = self._numbers[at], self._offsets[at], self._lines[at]
        while number < self.extent.count:
            self._content.seek(offset)
            data = self._content.read(_BYTES_APART + LONGEST_ROW)
            at_end = len(data) < _BYTES_APART + LONGEST_ROW
            start = 0
            for end in self._ends(data, at_end):
                if number >= first:
                    yield Record(number, offset + start, line, data[start:end])
                number, start = number + 1, end
                line += data[end - 1] == 10
                if number >= self.extent.count:
                    return
            if not start:
                return
            offset += start

    def at(self, record: int, offset: int) -> Record:
        """Return a record by its place."""
        self._content.seek(offset)
        data = self._content.read(LONGEST_ROW)
        end = next(self._ends(data, True), len(data))
        return Record(record, offset, 0, data[:end])

    def find(
        self, needle: str, start: int, direction: int, *, encoding: str, blocks: int
    ) -> tuple[int | None, int]:
        """Return the next record from `start` on that contains a text, ignoring case, and where to continue.

        The latter is -1 at the end. At most `blocks` blocks of a few hundred records are searched.
        """
        folded = needle.casefold()
        at = bisect_right(self._numbers, start) - 1
        for _ in range(blocks):
            while direction > 0 and at + 1 >= len(self._numbers) and not self.extent.ended:
                self.look_further()
            if not 0 <= at < len(self._numbers):
                return None, -1
            begin, end, data = self._block(at)
            if folded in data.decode(encoding, "replace").casefold():
                hits = [
                    record.number
                    for record in islice(self.from_(begin), end - begin)
                    if (record.number - start) * direction >= 0
                    and folded in record.content.decode(encoding, "replace").casefold()
                ]
                if hits:
                    hit = hits[0] if direction > 0 else hits[-1]
                    return hit, hit
            at += direction
        return (None, self._numbers[at]) if 0 <= at < len(self._numbers) else (None, -1)

    def _block(self, at: int) -> tuple[int, int, bytes]:
        """Return the number of a marked record, that of the next one, and the bytes between."""
        begin, marked = self._offsets[at], at + 1 < len(self._numbers)
        end = self._offsets[at + 1] if marked else self._scanned
        self._content.seek(begin)
        next_number = self._numbers[at + 1] if marked else self.extent.count
        return self._numbers[at], next_number, self._content.read(end - begin)


def opened(path: Path, head: bytes) -> BinaryIO:
    """Return a file as a stream of bytes; a text in UTF-16 as UTF-8, if it is not too large. Raise OSError."""
    if head.startswith(_WIDE) and path.stat().st_size <= _MOST_WIDE:
        return io.BytesIO(path.read_bytes().decode("utf-16", "replace").encode())
    return path.open("rb")


def encoding_of(head: bytes) -> str:
    """Return the encoding of a text from its beginning: UTF-8, or Latin-1 if it is not valid UTF-8."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        cut = len(head) >= HEAD_BYTES and error.start >= len(head) - 4  # within a character
        return "utf-8" if cut or head.startswith(_WIDE) else "latin-1"
    return "utf-8"


def ends_of_lines(data: bytes, last: bool) -> Iterator[int]:
    """Yield where lines end; long ones are cut between characters."""
    start, size = 0, len(data)
    while start < size:
        end = data.find(b"\n", start, start + PIECE) + 1
        if not end:
            end = start + PIECE
            if end >= size:
                if not last:
                    return
                end = size
            while end < size and end > start + PIECE - 4 and data[end] & 0xC0 == 0x80:
                end -= 1
        yield end
        start = end


def ends_of_rows(delimiter: str) -> Ends:
    """Return a function that finds the ends of rows; line ends within quotation marks do not count."""
    mark = re.escape(delimiter.encode())
    field = rb'(?:"(?:[^"]++|"")*+"?+[^' + mark + rb"\n]*+|[^" + mark + rb'"\n][^' + mark + rb"\n]*+)?+"
    row = re.compile(field + rb"(?:" + mark + field + rb")*+(?:(\n)|\Z)")

    def ends(data: bytes, last: bool) -> Iterator[int]:
        start, size = 0, len(data)
        quoted = b'"' in data
        while start < size:
            if quoted:
                match = row.match(data, start)
                end = match.end() if match and (match[1] or last) else 0
            else:
                end = data.find(b"\n", start) + 1 or (size if last else 0)
            if not 0 < end - start <= LONGEST_ROW:
                return
            yield end
            start = end

    return ends
