"""Reads a whole file and its journal line by line, so that a long session is never in memory twice.

Reads only intact files that this package wrote; `journal_reader.read` reads all others.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from alita_tui.spine.gc_pause import gc_paused
from alita_tui.store import checksums, disk
from alita_tui.store.journal_reader import ABOUT, apply, dump, journal_of, load, operation
from alita_tui.store.upgrades import Tables, upgrade

T = TypeVar("T")
Load = Callable[[bytes, int], T]
"""Makes a value of a document's JSON and its id. Raises ValueError for invalid JSON."""
Look = Callable[[bytes], int]
"""Returns a number below 256 to store for each document, to find some kinds without reading all."""

_BUFFER = 1 << 20
_TABLE = re.compile(rb'"([^"\\]+)":\{\n')


class Irregular(ValueError):
    """The file is damaged, or another program wrote it."""


@dataclass
class Places:
    """Where the documents of the growing table are, in order, and the number noted for each."""

    starts: array[int] = field(default_factory=lambda: array("Q"))
    """Offset of each document's JSON: in the file for the first `folded`, in the journal for the others."""
    sizes: array[int] = field(default_factory=lambda: array("I"))
    notes: bytearray = field(default_factory=bytearray)
    folded: int = 0

    def add(self, start: int, size: int, note: int) -> None:
        """Add a document at the end of the journal or, while the file is read, of the file."""
        self.starts.append(start)
        self.sizes.append(size)
        self.notes.append(note)

    def moved(self, by: int) -> Places:
        """Take over the places in the file, moved by a longer or shorter beginning."""
        starts = array("Q", (start + by for start in self.starts[: self.folded]))
        return Places(starts, self.sizes[: self.folded], self.notes[: self.folded], self.folded)

    def __len__(self) -> int:
        return len(self.notes)


@dataclass
class Scan(Generic[T]):
    """A file and its journal. Of the one growing table only the documents' places are held in memory."""

    tables: Tables = field(default_factory=dict)
    """The other tables."""
    places: Places = field(default_factory=Places)
    ids: array[int] = field(default_factory=lambda: array("Q"))
    """The ids, if they are not 1, 2, 3 … without gaps; else empty."""
    rows: list[T] | None = None
    """The growing table's documents in order, if they had to be read as a whole."""
    count: int = 0
    last: int = 0
    """The highest id."""
    generation: int = 0
    schema_version: int = 0
    json_at: disk.Signature = disk.NO_FILE
    span: tuple[int, int] = (0, 0)
    """Where the growing table's lines are in the file."""
    sums: array[int] = field(default_factory=checksums.new_sums)
    """Their checksums."""
    end: int = 0
    """Offset behind the last whole line of the journal."""
    size: int = 0


def scan(path: Path, table: str, load_row: Load[T], look: Look = lambda _: 0) -> Scan[T] | None:
    """Return what is on disk; None if it is damaged, no plain file, written by another program, or being replaced."""
    if disk.is_special(path) or disk.is_special(journal_of(path)):
        return None
    scanned: Scan[T] = Scan(json_at=disk.signature(path))
    try:
        with gc_paused():
            _file(scanned, path, table, load_row, look)
            scanned.places.folded = len(scanned.places)
            _journal(scanned, path, table, look)
    except (ValueError, KeyError, TypeError, RecursionError, OSError):
        return None
    upgrade(scanned.tables, scanned.schema_version)
    return scanned if disk.signature(path) == scanned.json_at else None


def _file(scanned: Scan[T], path: Path, table: str, load_row: Load[T], look: Look) -> None:
    with path.open("rb", buffering=_BUFFER) as file:
        lines = iter(file)
        at = len(next(lines, b""))
        if at != 2:
            raise Irregular
        more, sums = True, {}
        recorded: checksums.Sums | None = None
        while more:
            head = next(lines, b"")
            match = _TABLE.fullmatch(head)
            if match is None:
                raise Irregular
            name = match[1].decode()
            at += len(head)
            if name == checksums.TABLE:
                recorded = checksums.parsed(next(lines, b""))
                if recorded is None or next(lines, b"") != b"}\n":
                    raise Irregular
                break
            sums[name] = checksums.new_sums()
            size, more = (
                _grown(scanned, lines, at, _Reads(load_row, look), sums[name])
                if name == table
                else _small(scanned.tables.setdefault(name, {}), lines, sums[name])
            )
            at += size
        if next(lines, b"") != b"}\n" or file.read(1):
            raise Irregular
    about = scanned.tables[ABOUT]["1"]
    scanned.generation, scanned.schema_version = int(about["generation"]), int(about["schema_version"])
    if recorded is None and scanned.schema_version < checksums.SINCE:
        return
    if recorded is None or list(recorded.tables.items()) != list(sums.items()):
        raise Irregular


def _documents(lines: Iterator[bytes]) -> Iterator[tuple[int, int, bytes, int]]:
    """Yield each document as (id, start of its JSON in the line, line, stop); then (0, 0, last line, 0)."""
    comma = True
    for line in lines:
        if line[:1] == b'"':
            colon = line.index(b'":')
            number = line[1:colon]
            if not comma or not number.isdigit():
                break
            comma = line[-2:-1] == b","
            yield int(number), colon + 2, line, -2 if comma else -1
        else:
            yield 0, 0, _end_of_table(line, lines, comma), 0
            return
    raise Irregular


class _Reads(NamedTuple):
    load_row: Load[object]
    look: Look


def _grown(
    scanned: Scan[T], lines: Iterator[bytes], start: int, reads: _Reads, sums: array[int]
) -> tuple[int, bool]:
    """Locate the documents of the growing table. One loop without calls: a long session has 100,000 of them."""
    about = scanned.tables.get(ABOUT, {}).get("1", {})
    checked = int(about.get("schema_version", 0)) >= checksums.SINCE
    scanned.sums = sums
    places, look, crc32 = scanned.places, reads.look, zlib.crc32
    at, last_id, comma = start, 0, True
    for line in lines:
        if line[:1] != b'"':
            break
        colon = line.index(b'":')
        digits = line[1:colon]
        if not comma or not digits.isdigit() or (number := int(digits)) <= last_id:
            raise Irregular
        comma = line[-2:-1] == b","
        text = line[: -2 if comma else -1]
        raw = text[colon + 2 :]
        if not checked:
            reads.load_row(raw, number)
        places.starts.append(at + colon + 2)
        places.sizes.append(len(raw))
        places.notes.append(look(raw))
        sums.append(crc32(text))
        at += len(line)
        if number == scanned.count + 1 and not scanned.ids:
            scanned.count = number
        else:
            _count(scanned, number)
        last_id = number
    else:
        raise Irregular
    line = _end_of_table(line, lines, comma)
    scanned.last = last_id
    scanned.span = (start, at)
    # The empty line of an empty table has no checksum.
    return at - start + len(line) + (0 if scanned.count else 1), line == b"},\n"


def _end_of_table(line: bytes, lines: Iterator[bytes], comma: bool) -> bytes:
    """Return a table's last line. Raise Irregular if it is not one, or a document has to follow (`comma`)."""
    if comma and line != b"\n":
        raise Irregular
    if line == b"\n":  # a table without documents has an empty line
        line = next(lines, b"")
    if line not in (b"}\n", b"},\n"):
        raise Irregular
    return line


def _count(scanned: Scan[T], number: int) -> None:
    """Count one more document; list the ids once they are not 1, 2, 3 …"""
    if number != scanned.count + 1 and not scanned.ids:
        scanned.ids.extend(range(1, scanned.count + 1))
    if scanned.ids or number != scanned.count + 1:
        scanned.ids.append(number)
    scanned.count += 1


def _small(rows: dict[str, object], lines: Iterator[bytes], sums: array[int]) -> tuple[int, bool]:
    size = 0
    for number, start, line, stop in _documents(lines):
        if not number:
            return size + len(line) + (0 if rows else 1), line == b"},\n"
        rows[str(number)] = load(line[start:stop])
        sums.append(zlib.crc32(line[:stop]))
        size += len(line)
    raise Irregular


def _journal(scanned: Scan[T], path: Path, table: str, look: Look) -> None:
    for number, body, end in journal_lines(journal_of(path)):
        document = document_of(body, table)
        if number == 0:
            header = load(body)
            if not isinstance(header, list) or header[:2] != ["gen", str(scanned.generation)]:
                raise Irregular
        elif document is None:
            change = operation(b"%08x %s" % (zlib.crc32(body), body))
            if change is None or change[1] == table:
                raise Irregular
            apply(scanned.tables, change)
        else:
            doc_id, raw = document
            if doc_id <= scanned.last:
                raise Irregular
            # The line ends in "]" and a line end.
            scanned.places.add(end - 2 - len(raw), len(raw), look(raw))
            scanned.last = doc_id
            _count(scanned, doc_id)
        scanned.end = end
    scanned.size = disk.signature(journal_of(path))[2]


def journal_lines(path: Path, upto: int | None = None) -> Iterator[tuple[int, bytes, int]]:
    """Yield each whole line's number, operation and end. Raises Irregular for a damaged one, OSError."""
    if not path.exists():
        return
    at = 0
    with path.open("rb", buffering=_BUFFER) as file:
        for number, line in enumerate(file):
            if line[-1:] != b"\n" or (upto is not None and at >= upto):
                return
            body = line[9:-1]
            if int(line[:8], 16) != zlib.crc32(body):
                raise Irregular
            at += len(line)
            yield number, body, at


def document_of(body: bytes, table: str) -> tuple[int, bytes] | None:
    """Return id and JSON of a document that a journal line puts into the table; None for other operations."""
    head = b'["put",%s,"' % dump(table)
    if not body.startswith(head):
        return None
    close = body.index(b'"', len(head))
    return int(body[len(head) : close]), body[close + 2 : -1]
