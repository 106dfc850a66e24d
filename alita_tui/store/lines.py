"""Reads a whole file and its journal line by line, so that a long session is never in memory twice.

Takes only what this package itself wrote and nothing damaged; all else is for `reading.read`.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from alita_tui.spine.collecting import uncollected
from alita_tui.store import checksums, disk
from alita_tui.store.reading import ABOUT, apply, dump, journal_of, load, operation
from alita_tui.store.upgrades import Tables, upgrade

T = TypeVar("T")
Load = Callable[[bytes, int], T]
"""Makes something of a document's JSON and its id. Raises ValueError for what is no JSON."""

_BUFFER = 1 << 20
_TABLE = re.compile(rb'"([^"\\]+)":\{\n')


class Irregular(ValueError):
    """Not what this package writes, or damaged."""


@dataclass
class Scan(Generic[T]):
    """A file and its journal, the documents of one growing table apart."""

    tables: Tables = field(default_factory=dict)
    """The other tables."""
    rows: list[T] = field(default_factory=list)
    """The growing table's documents in order."""
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


def scan(path: Path, table: str, load_row: Load[T]) -> Scan[T] | None:
    """What is on disk, or None where it is damaged, written by others or being replaced."""
    found: Scan[T] = Scan(json_at=disk.signature(path))
    try:
        with uncollected():
            _file(found, path, table, load_row)
            _journal(found, path, table, load_row)
    except (ValueError, KeyError, TypeError, RecursionError, OSError):
        return None
    upgrade(found.tables, found.schema_version)
    return found if disk.signature(path) == found.json_at else None


def _file(found: Scan[T], path: Path, table: str, load_row: Load[T]) -> None:
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
                _grown(found, lines, at, load_row, sums[name])
                if name == table
                else _small(found.tables.setdefault(name, {}), lines, sums[name])
            )
            at += size
        if next(lines, b"") != b"}\n" or file.read(1):
            raise Irregular
    about = found.tables[ABOUT]["1"]
    found.generation, found.schema_version = int(about["generation"]), int(about["schema_version"])
    if recorded is None and found.schema_version < checksums.SINCE:
        return
    if recorded is None or list(recorded.tables.items()) != list(sums.items()):
        raise Irregular


def _documents(lines: Iterator[bytes]) -> Iterator[tuple[int, int, bytes, int]]:
    """Each document as (id, place of its text in the line, line, its end); then (0, 0, last line, 0)."""
    comma = True
    for one in lines:
        if one[:1] == b'"':
            colon = one.index(b'":')
            number = one[1:colon]
            if not comma or not number.isdigit():
                break
            comma = one[-2:-1] == b","
            yield int(number), colon + 2, one, -2 if comma else -1
        elif comma and one != b"\n":
            break
        else:
            if one == b"\n":  # a table without documents has an empty line
                one = next(lines, b"")
            if one not in (b"}\n", b"},\n"):
                break
            yield 0, 0, one, 0
            return
    raise Irregular


def _grown(
    found: Scan[T], lines: Iterator[bytes], start: int, load_row: Load[T], sums: array[int]
) -> tuple[int, bool]:
    size = 0
    found.sums = sums
    keep, last = found.rows.append, 0
    for number, place, one, cut in _documents(lines):
        if not number:
            found.last = last
            found.span = (start, start + size)
            # The empty line of an empty table is not counted by anything.
            return size + len(one) + (0 if found.rows else 1), one == b"},\n"
        if number <= last:
            raise Irregular
        keep(load_row(one[place:cut], number))
        sums.append(zlib.crc32(one[:cut]))
        size, last = size + len(one), number
        found.count += 1
    raise Irregular


def _small(rows: dict[str, object], lines: Iterator[bytes], sums: array[int]) -> tuple[int, bool]:
    size = 0
    for number, place, one, cut in _documents(lines):
        if not number:
            return size + len(one) + (0 if rows else 1), one == b"},\n"
        rows[str(number)] = load(one[place:cut])
        sums.append(zlib.crc32(one[:cut]))
        size += len(one)
    raise Irregular


def _journal(found: Scan[T], path: Path, table: str, load_row: Load[T]) -> None:
    for number, body, after in journal_lines(journal_of(path)):
        document = document_of(body, table)
        if number == 0:
            first = load(body)
            if not isinstance(first, list) or first[:2] != ["gen", str(found.generation)]:
                raise Irregular
        elif document is None:
            done = operation(b"%08x %s" % (zlib.crc32(body), body))
            if done is None or done[1] == table:
                raise Irregular
            apply(found.tables, done)
        else:
            doc_id, raw = document
            if doc_id <= found.last:
                raise Irregular
            found.rows.append(load_row(raw, doc_id))
            found.last = doc_id
            found.count += 1
        found.end = after
    found.size = disk.signature(journal_of(path))[2]


def journal_lines(path: Path, upto: int | None = None) -> Iterator[tuple[int, bytes, int]]:
    """Each whole line's number, operation and end. Raises Irregular for a damaged one, OSError."""
    if not path.exists():
        return
    at = 0
    with path.open("rb", buffering=_BUFFER) as file:
        for number, one in enumerate(file):
            if one[-1:] != b"\n" or (upto is not None and at >= upto):
                return
            body = one[9:-1]
            if int(one[:8], 16) != zlib.crc32(body):
                raise Irregular
            at += len(one)
            yield number, body, at


def document_of(body: bytes, table: str) -> tuple[int, bytes] | None:
    """Id and JSON of a document that a journal line puts into the table; None for other operations."""
    head = b'["put",%s,"' % dump(table)
    if not body.startswith(head):
        return None
    close = body.index(b'"', len(head))
    return int(body[len(head) : close]), body[close + 2 : -1]
