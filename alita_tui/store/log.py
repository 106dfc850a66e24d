"""A file with one growing table that is not held in memory; sessions are stored in it."""

from __future__ import annotations

import errno
import os
import threading
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from alita_tui.events import Json
from alita_tui.spine.errors import StoreError
from alita_tui.store import checksums, disk
from alita_tui.store.folding import documents, ending, whole
from alita_tui.store.journal_reader import TORN, Operation, Restored, Snapshot, apply, dump, read
from alita_tui.store.lines import Load, Look, Places, Scan, document_of, journal_lines, scan
from alita_tui.store.lock import is_open
from alita_tui.store.storage import JournalStorage, Mode
from alita_tui.store.upgrades import SCHEMA_VERSION, Tables

T = TypeVar("T")
_Span = tuple[tuple[int, int], "array[int]"]

_PIECE = 1 << 20
_AHEAD = 1 << 18
_NEVER = 1 << 62


class LogStorage(JournalStorage, Generic[T]):
    """A TinyDB file whose table `table` takes documents with ever higher ids.

    Its documents go from the file through `load_row` to the caller, and from memory to the journal; only their
    places stay in memory. Folding copies them from file to file.
    """

    def __init__(
        self,
        path: Path,
        table: str,
        load_row: Load[T],
        *,
        mode: Mode = "exclusive",
        look: Look = lambda _: 0,
        first: Tables | None = None,
    ) -> None:
        """`first`: the other tables of a file that does not exist yet."""
        self._table = table
        self._first: Tables = first or {}
        self._new = False
        """True if the file was written whole by being opened, because there was none."""
        self._load_row = load_row
        self._look = look
        self._rows: list[T] | None = None
        """All documents until they are taken, if the file had to be read as a whole."""
        self._places: Places | None = None
        self._ids: array[int] = array("Q")
        self._guard = threading.Lock()
        self._unsynced: list[bytes] = []
        """Journal lines that are not synced yet."""
        self._synced = 0
        """Where they begin in the journal."""
        self._span = self._next = ((0, 0), checksums.new_sums())
        """Where the table's lines are in the file, with checksums; and the same for the file being written."""
        self._next_places: Places | None = None
        self._file_fd: int | None = None
        self._journal_fd: int | None = None
        self.last = self.count = 0
        """The highest id, and the number of documents."""
        super().__init__(path, mode=mode, fold_at=_NEVER)

    def take(self) -> list[T]:
        """Return every document in order; a second call reads the file again. Raises StoreError."""
        rows, self._rows = self._rows, None
        if rows is not None:
            return rows
        try:
            reader = self.reader()
            return [self._load_row(*reader(index)) for index in range(self.count)]
        except (StoreError, ValueError):  # closed, or changed by another program meanwhile
            scanned = self._loaded(read(self.path))
            return scanned.rows or []

    @property
    def at_hand(self) -> bool:
        """True if any document can be read again (`document`) while this is open."""
        # The journal of a file that another process has open may be emptied in place.
        return self._places is not None and (
            self.mode == "exclusive" or self._places.folded == len(self._places)
        )

    @property
    def whole_from(self) -> tuple[disk.Signature, int] | None:
        """The file's signature and the journal's offset if both hold ids 1, 2, 3 … undamaged; else None."""
        if self._places is None or self._ids:
            return None
        return self._snapshot.json_at, self._snapshot.end

    def note(self, index: int) -> int:
        """Return the number that `look` gave a document, by its place from 0 on."""
        places = self._places
        return places.notes[index] if places is not None else 0

    def document(self, index: int) -> tuple[bytes, int]:
        """Return JSON and id of a document, by its place from 0 on; from any thread. Raises StoreError."""
        return self.reader(0)(index)

    def reader(self, ahead: int = _AHEAD) -> Callable[[int], tuple[bytes, int]]:
        """Return a function like `document` for reading many: it reads neighbours together."""
        source: tuple[Places | None, bool] = (None, False)
        """What `block` was read from; another object once the places are renewed."""
        start, block = 0, b""

        def read(index: int) -> tuple[bytes, int]:
            nonlocal source, start, block
            with self._guard:
                places = self._places
                folded = places is not None and index < places.folded
                fd = self._descriptor(folded=folded)
                if places is None or fd is None:
                    raise StoreError(f"{self.path} is closed.")
                at, size = places.starts[index], places.sizes[index]
                unchanged = source[0] is places and source[1] == folded
                if not unchanged or not (start <= at and at + size <= start + len(block)):
                    backwards = unchanged and at < start
                    source, start = (
                        (places, folded),
                        max(at + size - max(ahead, size), 0) if backwards else at,
                    )
                    try:
                        block = os.pread(fd, at + size - start if backwards else max(ahead, size), start)
                    except OSError as error:
                        raise disk.store_error("read", self.path, error) from error
                number = self._ids[index] if self._ids else index + 1
            return block[at - start : at - start + size], number

        return read

    def close(self) -> None:
        """Fold the journal and release the lock. Raises StoreError if it cannot be folded; the journal stays."""
        super().close()
        if self.mode == "readonly":
            self._close_descriptors()

    def read(self) -> Tables:
        """Return all tables, read from disk."""
        return dict(read(self.path).tables)

    def write(self, data: Mapping[str, Mapping[str, Json]]) -> None:
        """Not supported: the table only grows."""
        raise StoreError(f"{self.path} only takes new records.")

    def _open(self) -> None:
        """Read the file; if it is damaged or from another program, repair it first."""
        writes = self.mode == "exclusive"
        scanned = scan(self.path, self._table, self._load_row, self._look)
        if scanned is None or (
            writes and (scanned.size > scanned.end or scanned.schema_version > SCHEMA_VERSION)
        ):
            super()._open()
            discarded, note = self.restored.discarded, self.restored.note
            if writes and not self._new:
                self._snapshot.tables.setdefault(self._table, {})
                self.checkpoint()
            scanned = self._rescanned() if writes else self._loaded(self._snapshot)
            self.restored = Restored(events=scanned.count, discarded=discarded, note=note)
        else:
            torn = scanned.size > scanned.end and not is_open(self.path)  # a writer may be half way
            self.restored = Restored(events=scanned.count, discarded=int(torn), note=TORN if torn else "")
        self._adopt(scanned)

    def _repair(self) -> None:
        self._new = not self._snapshot.json_at[2] and not self._snapshot.tables and not self._snapshot.damaged
        if self._new:
            self._snapshot.tables = {**self._first, self._table: {}}
        super()._repair()

    def _rescanned(self) -> Scan[T]:
        scanned = scan(self.path, self._table, self._load_row, self._look)
        if scanned is None:
            raise StoreError(f"{self.path} could not be read again after its repair.", hint="Check the disk.")
        return scanned

    def _loaded(self, snapshot: Snapshot) -> Scan[T]:
        """Return a file that has to be read as a whole."""
        rows = snapshot.tables.get(self._table, {})
        numbers = sorted(map(int, rows))
        loaded = [self._load_row(dump(rows[str(number)]), number) for number in numbers]
        return Scan(
            tables={name: table for name, table in snapshot.tables.items() if name != self._table},
            rows=loaded,
            count=len(loaded),
            last=numbers[-1] if numbers else 0,
            generation=snapshot.generation,
            schema_version=snapshot.schema_version,
            json_at=snapshot.json_at,
            end=snapshot.end,
        )

    def _adopt(self, scanned: Scan[T]) -> None:
        self._rows = scanned.rows
        self._ids = scanned.ids
        self.last, self.count = scanned.last, scanned.count
        self._hold((scanned.span, scanned.sums), scanned.places if scanned.rows is None else None)
        if (
            self.mode == "readonly"
            and self._file_fd is not None
            and _signature(self._file_fd) != scanned.json_at
        ):
            self._places = None  # it was folded meanwhile
        self._synced = scanned.end
        self._snapshot = Snapshot(
            tables=scanned.tables,
            generation=scanned.generation,
            schema_version=scanned.schema_version,
            json_at=scanned.json_at,
            end=scanned.end,
            size=scanned.end,
        )

    def _note_places(self, data: bytes) -> None:
        """Locate the documents that were just written to the journal's end."""
        at = self._snapshot.end - len(data)
        for line in data.split(b"\n")[:-1]:
            at += len(line) + 1
            document = document_of(line[9:], self._table)
            if document is not None and self._places is not None:
                self._places.add(at - 2 - len(document[1]), len(document[1]), self._look(document[1]))

    def _add_appended(self, operations: list[Operation], data: bytes, synced: bool) -> None:
        self._note_places(data)
        for operation in operations:
            if operation[1] == self._table:
                if self._ids or int(operation[2]) != self.count + 1:
                    self._ids = self._ids or array("Q", range(1, self.count + 1))
                    self._ids.append(int(operation[2]))
                self.last, self.count = int(operation[2]), self.count + 1
            else:
                apply(self._snapshot.tables, operation)
        if synced:
            self._unsynced, self._synced = [], self._snapshot.end
        else:
            self._unsynced.append(data)
        self._rows = None

    def _folded(self) -> None:
        self._unsynced, self._synced = [], 0
        self._hold(self._next, self._next_places)

    def _hold(self, span: _Span, places: Places | None) -> None:
        """Keep the current file open: it can be copied from even if a replacement fails half way."""
        with self._guard:
            self._close_descriptors()
            self._span, self._places = span, places
            if self.mode == "exclusive" or (places is not None and self.path.exists()):
                self._file_fd = os.open(self.path, os.O_RDONLY)
            if self.mode == "exclusive":
                self._journal_fd = self._fd
            elif places is not None and places.folded < len(places):
                self._journal_fd = os.open(self._journal, os.O_RDONLY)

    def _close_descriptors(self) -> None:
        if self._file_fd is not None:
            os.close(self._file_fd)
            self._file_fd = None
        if self._journal_fd is not None and self.mode != "exclusive":
            os.close(self._journal_fd)
        self._journal_fd = None

    def _descriptor(self, *, folded: bool) -> int | None:
        """Return the descriptor of file or journal, None if it is gone; a closed file is reopened if unchanged."""
        if not folded:
            return self._journal_fd
        if self._file_fd is None and self._places is not None:
            try:
                fd = os.open(self.path, os.O_RDONLY)
            except OSError:
                return None
            if _signature(fd) != self._snapshot.json_at:
                os.close(fd)
                return None
            self._file_fd = fd
        return self._file_fd

    def __del__(self) -> None:
        """Release the descriptors of a reader that was never closed."""
        if getattr(self, "_file_fd", None) is not None:
            os.close(self._file_fd)  # type: ignore[arg-type]
        if self.mode == "readonly" and getattr(self, "_journal_fd", None) is not None:
            os.close(self._journal_fd)  # type: ignore[arg-type]

    def _unlock(self) -> None:
        with self._guard:
            self._close_descriptors()
        super()._unlock()

    def _content(self) -> Iterator[bytes]:
        if self._table in self._snapshot.tables:  # while it is being repaired
            yield from whole(self._snapshot.tables)
            self._next_places = None
            return
        places = shifted = self._places
        sums: dict[str, array[int]] = {}
        head = b"".join(documents(self._snapshot.tables, sums)) + b",\n%s:{\n" % dump(self._table)
        yield head
        own_sums = sums[self._table] = self._span[1][:]
        offset, separator = len(head), b""
        if places is not None:
            shifted = places.moved(offset - self._span[0][0])
        for block in self._old_lines():
            offset, separator = offset + len(block), b",\n"
            yield block
        for number, raw in self._new_documents():
            row = b'"%d":%s' % (number, raw)
            own_sums.append(zlib.crc32(row))
            offset += len(separator) + len(row)
            if shifted is not None:
                shifted.add(offset - len(raw), len(raw), self._look(raw))
            yield separator + row
            separator = b",\n"
        yield b"\n}" + ending(self._snapshot.tables, sums)
        self._next = ((len(head), offset + 1 if offset > len(head) else offset), own_sums)
        if shifted is not None:
            shifted.folded = len(shifted)
        self._next_places = shifted

    def _old_lines(self) -> Iterator[bytes]:
        """Yield the growing table's lines of the current file, without the last line end."""
        at, end = self._span[0]
        while at < end - 1:
            assert self._file_fd is not None
            block = os.pread(self._file_fd, min(_PIECE, end - 1 - at), at)
            if not block:
                raise OSError(errno.EIO, "the file was cut short by someone else")
            at += len(block)
            yield block

    def _new_documents(self) -> Iterator[tuple[int, bytes]]:
        """Yield newer documents: those that were synced from the journal, then those in memory."""
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
            for line in data.splitlines():
                yield line[9:]


def _signature(fd: int) -> disk.Signature:
    status = os.fstat(fd)
    return (status.st_ino, status.st_mtime_ns, status.st_size)
