"""A file with one table that only grows and is not held in memory: what a session is kept in."""

from __future__ import annotations

import errno
import os
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from alita_tui.spine.errors import StoreError
from alita_tui.spine.values import Json
from alita_tui.store import checksums
from alita_tui.store.folding import documents, ending, whole
from alita_tui.store.lines import Load, Scan, document_of, journal_lines, scan
from alita_tui.store.lock import is_open
from alita_tui.store.reading import TORN, Operation, Restored, Snapshot, apply, dump, read
from alita_tui.store.storage import JournalStorage, Mode
from alita_tui.store.upgrades import SCHEMA_VERSION, Tables

T = TypeVar("T")
_Span = tuple[tuple[int, int], "array[int]"]

_PIECE = 1 << 20
_NEVER = 1 << 62


class LogStorage(JournalStorage, Generic[T]):
    """A TinyDB file whose table `table` takes documents with ever higher ids.

    Its documents go from the file through `load_row` to whoever takes them, and from memory to the
    journal, and are kept by neither; folding copies them from file to file.
    """

    def __init__(self, path: Path, table: str, load_row: Load[T], *, mode: Mode = "exclusive") -> None:
        self._table = table
        self._load_row = load_row
        self._rows: list[T] | None = None
        self._unsynced: list[bytes] = []
        """Journal lines that a sync has not confirmed yet."""
        self._synced = 0
        """Where they begin in the journal."""
        self._span = self._next = ((0, 0), checksums.new_sums())
        """Where the table's lines are in the file and their checksums; the same of the one being written."""
        self._old: int | None = None
        self.last = self.count = 0
        """The highest id, and how many documents there are."""
        super().__init__(path, mode=mode, fold_at=_NEVER)

    def take(self) -> list[T]:
        """Every document in order; handed over, not kept. Raises StoreError."""
        rows, self._rows = self._rows, None
        return rows if rows is not None else self._scan().rows

    def read(self) -> Tables:
        """All tables, from the disk."""
        return dict(read(self.path).tables)

    def write(self, data: Mapping[str, Mapping[str, Json]]) -> None:
        """Not offered: the table only grows."""
        raise StoreError(f"{self.path} only takes new records.")

    # --- inside

    def _open(self) -> None:
        """Read what is there; where it is damaged or written by others, repair it first."""
        writes = self.mode == "exclusive"
        found = scan(self.path, self._table, self._load_row)
        if found is None or (writes and (found.size > found.end or found.schema_version > SCHEMA_VERSION)):
            super()._open()
            discarded, note = self.restored.discarded, self.restored.note
            if writes:
                self._now.tables.setdefault(self._table, {})
                self.checkpoint()
            found = self._anew() if writes else self._loaded(self._now)
            self.restored = Restored(events=found.count, discarded=discarded, note=note)
        else:
            torn = found.size > found.end and not is_open(self.path)  # a writer may be half way
            self.restored = Restored(events=found.count, discarded=int(torn), note=TORN if torn else "")
        self._adopt(found)

    def _anew(self) -> Scan[T]:
        found = scan(self.path, self._table, self._load_row)
        if found is None:
            raise StoreError(f"{self.path} could not be read again after its repair.", hint="Check the disk.")
        return found

    def _scan(self) -> Scan[T]:
        return scan(self.path, self._table, self._load_row) or self._loaded(read(self.path))

    def _loaded(self, now: Snapshot) -> Scan[T]:
        """The same from a file that had to be read as a whole."""
        rows = now.tables.get(self._table, {})
        numbers = sorted(map(int, rows))
        loaded = [self._load_row(dump(rows[str(number)]), number) for number in numbers]
        return Scan(
            tables={name: table for name, table in now.tables.items() if name != self._table},
            rows=loaded,
            count=len(loaded),
            last=numbers[-1] if numbers else 0,
            generation=now.generation,
            schema_version=now.schema_version,
            json_at=now.json_at,
            end=now.end,
        )

    def _adopt(self, found: Scan[T]) -> None:
        self._rows = found.rows
        self.last, self.count = found.last, found.count
        self._hold((found.span, found.sums))
        self._synced = found.end
        self._now = Snapshot(
            tables=found.tables,
            generation=found.generation,
            schema_version=found.schema_version,
            json_at=found.json_at,
            end=found.end,
            size=found.end,
        )

    def _keep(self, done: list[Operation], data: bytes, synced: bool) -> None:
        for one in done:
            if one[1] == self._table:
                self.last, self.count = int(one[2]), self.count + 1
            else:
                apply(self._now.tables, one)
        if synced:
            self._unsynced, self._synced = [], self._now.end
        else:
            self._unsynced.append(data)
        self._rows = None

    def _folded(self) -> None:
        self._unsynced, self._synced = [], 0
        self._hold(self._next)

    def _hold(self, span: _Span) -> None:
        """Keep hold of the file as it is: it can be copied from even where a replacement fails half way."""
        self._let_go()
        self._span = span
        if self.mode == "exclusive":
            self._old = os.open(self.path, os.O_RDONLY)

    def _let_go(self) -> None:
        if self._old is not None:
            os.close(self._old)
            self._old = None

    def _unlock(self) -> None:
        self._let_go()
        super()._unlock()

    def _whole(self) -> Iterator[bytes]:
        if self._table in self._now.tables:  # while it is being repaired
            yield from whole(self._now.tables)
            return
        sums: dict[str, array[int]] = {}
        head = b"".join(documents(self._now.tables, sums)) + b",\n%s:{\n" % dump(self._table)
        yield head
        mine = sums[self._table] = self._span[1][:]
        at, before = len(head), b""
        for piece in self._old_lines():
            at, before = at + len(piece), b",\n"
            yield piece
        for number, raw in self._new_documents():
            row = b'"%d":%s' % (number, raw)
            mine.append(zlib.crc32(row))
            at += len(before) + len(row)
            yield before + row
            before = b",\n"
        yield b"\n}" + ending(self._now.tables, sums)
        self._next = ((len(head), at + 1 if at > len(head) else at), mine)

    def _old_lines(self) -> Iterator[bytes]:
        """The growing table's lines of the file as it is, without the last line end."""
        at, end = self._span[0]
        while at < end - 1:
            assert self._old is not None
            piece = os.pread(self._old, min(_PIECE, end - 1 - at), at)
            if not piece:
                raise OSError(errno.EIO, "the file was cut short by someone else")
            at += len(piece)
            yield piece

    def _new_documents(self) -> Iterator[tuple[int, bytes]]:
        """What came since, from the journal as far as it was synced, then from memory."""
        try:
            for body in self._bodies():
                if (document := document_of(body, self._table)) is not None:
                    yield document
        except ValueError as error:
            raise OSError(errno.EIO, "the journal was changed by someone else") from error

    def _bodies(self) -> Iterable[bytes]:
        for _, body, _ in journal_lines(self._journal, self._synced):
            yield body
        for data in self._unsynced:
            for one in data.splitlines():
                yield one[9:]
