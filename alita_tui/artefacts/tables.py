"""Tables out of files: rows of CSV and of JSON objects, in the file's order or by a column."""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections import Counter
from itertools import islice
from typing import Any, BinaryIO

from alita_tui.artefacts.records import Extent, Record, Records, ends_of_rows
from alita_tui.events.base import Value
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import SafeText, one_line

MOST_SORTED = 200_000
"""Rows that are put in order; their keys are held meanwhile."""
MOST_COLUMNS = 500
SEARCHED = 64
"""Blocks of records that are searched at once; a search can be stopped in between."""
_SEARCHED_SORTED = 4_000
_CELL, _NARROW_CELL = 200, 40
_MANY_COLUMNS = 50
"""Number of columns from which cells are cut shorter, so that a page stays small."""
_KEY = 100
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:[eE][+-]?\d{1,3})?")
_DELIMITERS = ",;\t|"


class Shown(Value, frozen=True):
    """A record as it is shown: without control characters, on one line."""

    label: str
    """Its number in the file; empty if it continues the line before."""
    cells: tuple[SafeText, ...]


class Table:
    """Rows below a header. Not to be used by two threads at once."""

    def __init__(self, content: BinaryIO, delimiter: str, encoding: str = "utf-8") -> None:
        self._delimiter = delimiter
        self._encoding = encoding
        self._records = Records(content, ends_of_rows(delimiter))
        self._records.look_further()
        head = next(iter(self._cells(0, 1)), [])
        self.columns = len(head)
        """Number of columns; at most `MOST_COLUMNS` of them are shown."""
        self.head: tuple[SafeText, ...] = tuple(one_line(cell, _CELL) for cell in head[:MOST_COLUMNS])
        self._order: tuple[array[int], array[int]] | None = None
        """Numbers and offsets of all records as they are sorted."""

    @property
    def extent(self) -> Extent:
        """The number of known rows, without the header."""
        records = self._records.extent
        return Extent(count=max(records.count - 1, 0), whole=records.whole, problem=records.problem)

    def look_further(self) -> Extent:
        """Find more rows."""
        self._records.look_further()
        return self.extent

    def page(self, first: int, count: int) -> tuple[Shown, ...]:
        """Return some rows, in the order that was chosen."""
        if self._order is None:
            records = list(islice(self._records.from_(first + 1), count))
        else:
            numbers, offsets = (column[first : first + count] for column in self._order)
            records = [self._records.at(*position) for position in zip(numbers, offsets, strict=True)]
        return tuple(self._as_shown(record) for record in records)

    def find(self, needle: str, start: int, direction: int) -> tuple[int | None, int]:
        """Return the next row that contains a text, ignoring case, and where to continue; -1 at the end."""
        if self._order is not None:
            return self._find_sorted(needle, start, direction)
        hit, further = self._records.find(
            needle, start + 1, direction, encoding=self._encoding, blocks=SEARCHED
        )
        if hit == 0 or further == 0:  # the header
            return None, -1
        return (None if hit is None else hit - 1), further - (further > 0)

    def sort(self, column: int, *, descending: bool) -> None:
        """Order the rows by a column: numbers, then texts, then empty cells. Raise UsageError if they are many."""
        while not self._records.extent.ended and self._records.extent.count <= MOST_SORTED + 1:
            self._records.look_further()
        if self._records.extent.count > MOST_SORTED + 1:
            raise UsageError(
                f"More than {MOST_SORTED:,} rows are not sorted here.", hint="Have the agent sort the file."
            )
        numbers: list[tuple[float, int, int]] = []
        texts: list[tuple[str, int, int]] = []
        empty: list[tuple[int, int]] = []
        for record in self._records.from_(1):
            cells = self._parsed(record.content)
            cell = cells[column].strip() if column < len(cells) else ""
            if not cell:
                empty.append((record.number, record.offset))
            elif (number := _number(cell)) is not None:
                numbers.append((number, record.number, record.offset))
            else:
                texts.append((cell[:_KEY].casefold(), record.number, record.offset))
        numbers.sort(key=lambda keyed: keyed[0], reverse=descending)
        texts.sort(key=lambda keyed: keyed[0], reverse=descending)
        groups = [number[1:] for number in numbers], [text[1:] for text in texts]
        order = [
            position for group in (reversed(groups) if descending else groups) for position in group
        ] + empty
        self._order = (
            array("Q", (position[0] for position in order)),
            array("Q", (position[1] for position in order)),
        )

    def unsort(self) -> None:
        """Go back to the order of the file."""
        self._order = None

    def _find_sorted(self, needle: str, start: int, direction: int) -> tuple[int | None, int]:
        assert self._order is not None
        folded = needle.casefold()
        at = start
        for _ in range(_SEARCHED_SORTED):
            if not 0 <= at < len(self._order[0]):
                return None, -1
            record = self._records.at(self._order[0][at], self._order[1][at])
            if folded in record.content.decode(self._encoding, "replace").casefold():
                return at, at
            at += direction
        return None, max(at, -1)

    def _cells(self, first: int, count: int) -> list[list[str]]:
        return [self._parsed(record.content) for record in islice(self._records.from_(first), count)]

    def _parsed(self, content: bytes) -> list[str]:
        text = content.decode(self._encoding, "replace").removesuffix("\n").removesuffix("\r")
        if '"' not in text:
            return text.split(self._delimiter)
        try:
            return next(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter), [])
        except csv.Error:
            return text.split(self._delimiter)

    def _as_shown(self, record: Record) -> Shown:
        cells = self._parsed(record.content)[: max(len(self.head), 1)]
        longest = _CELL if self.columns < _MANY_COLUMNS else _NARROW_CELL
        return Shown(label=f"{record.number:,}", cells=tuple(one_line(cell, longest) for cell in cells))


def delimiter_of(media_type: str, head: bytes) -> str:
    """Return the delimiter of a table, from its media type or its beginning."""
    if media_type == "text/tab-separated-values":
        return "\t"
    line = re.sub(rb'"[^"]*"', b"", head.split(b"\n", 1)[0])
    counted = Counter(chr(byte) for byte in line if chr(byte) in _DELIMITERS)
    return max(_DELIMITERS, key=lambda mark: counted[mark])


def flat_objects(value: Any) -> BinaryIO | None:
    """Return a list of flat objects as CSV; None for any other value."""
    if not isinstance(value, list) or not value or not all(isinstance(element, dict) for element in value):
        return None
    if any(isinstance(cell, dict | list) for element in value for cell in element.values()):
        return None
    names: dict[str, None] = {}
    for element in value:
        names.update(dict.fromkeys(map(str, element)))
    if not names or len(names) > 20 * MOST_COLUMNS:
        return None
    output = io.StringIO(newline="")
    rows = csv.writer(output, lineterminator="\n")
    rows.writerow(names)
    rows.writerows([_text(element.get(name)) for name in names] for element in value)
    return io.BytesIO(output.getvalue().encode("utf-8", "replace"))


def _text(value: object) -> str:
    return (
        {None: "", True: "true", False: "false"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )


def _number(cell: str) -> float | None:
    return float(cell.replace(",", "")) if cell[-1:] in "0123456789." and _is_number(cell) else None


def _is_number(cell: str) -> bool:
    return (
        len(cell) <= 40 and any(map(str.isdecimal, cell)) and bool(_NUMBER.fullmatch(cell)) and cell.isascii()
    )
