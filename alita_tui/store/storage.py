"""TinyDB's storage over an append-only journal: an append costs the same at event 100 and at 100,000.

Three ways to open a file: `exclusive` (one process writes; a second one gets an error), `shared` (a lock per
operation; each process reads what the others wrote) and `readonly` (no lock).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from tinydb.storages import Storage

from alita_tui.events import Json
from alita_tui.spine.errors import StoreError
from alita_tui.store import checksums, disk, lock
from alita_tui.store.folding import whole as whole
from alita_tui.store.journal_reader import (
    ABOUT,
    Operation,
    Snapshot,
    apply,
    journal_of,
    line,
    read,
)
from alita_tui.store.upgrades import SCHEMA_VERSION, Tables

Mode = Literal["exclusive", "shared", "readonly"]

_PATIENCE = {"exclusive": 0.25, "shared": 10.0}
"""Seconds to wait for the lock. An exclusive opener waits only for processes that test whether it is taken."""

_FOLD_AT = 4 * 1024 * 1024
"""Journal size from which it is folded, once it has also outgrown the file itself."""


class JournalStorage(Storage):
    """The file `path` and its journal. Not thread-safe, as TinyDB itself."""

    def __init__(self, path: str | Path, *, mode: Mode = "exclusive", fold_at: int = _FOLD_AT) -> None:
        self.path = Path(path)
        self.mode = mode
        self._journal = journal_of(self.path)
        self._fold_at = fold_at
        self._fd: int | None = None
        self._snapshot = Snapshot()
        self.restored = self._snapshot.restored
        """The result of opening."""
        self._signature = 0
        """Size of the journal while it has only its first line; else 0."""
        self._doubtful = False  # True if what is on disk may be less than what is in memory
        if mode == "exclusive":
            self._fd = self._lock()
        try:
            self._open()
        except BaseException:
            self._unlock()
            raise
        if mode == "exclusive" and self._snapshot.end == 0:
            with suppress(OSError):  # only tells other processes who holds the file
                self._sign()

    # --- TinyDB's interface

    def read(self) -> Tables | None:
        """Return the tables as they are in memory."""
        return dict(self._snapshot.tables) or None

    def write(self, data: Mapping[str, Mapping[str, Json]]) -> None:
        """Replace everything atomically, as TinyDB's general operations need; writes the whole file."""
        with self.writing():
            self._snapshot.tables = {
                name: dict(rows) for name, rows in data.items() if name != checksums.TABLE
            }
            try:
                self.checkpoint()
            except StoreError:
                self._snapshot = read(self.path)
                raise

    def close(self) -> None:
        """Fold the journal into the file and release the lock.

        Raises StoreError if it cannot be folded; nothing is lost, the journal stays.
        """
        if self.mode == "readonly" or (self.mode == "exclusive" and self._fd is None):
            return
        if self.mode == "shared" and not self._snapshot.end and not self._doubtful:
            return  # nothing to fold; a process that only read creates no file
        with self.writing():
            try:
                if self._snapshot.end > self._signature or self._snapshot.json_at[2] == 0 or self._doubtful:
                    self.checkpoint()
                if self.mode == "exclusive":
                    with suppress(OSError):
                        self._journal.unlink()
            finally:
                self._unlock()

    # --- the store's interface

    @property
    def tables(self) -> Tables:
        """Return the documents without copying: to be read, never changed."""
        return self._snapshot.tables

    def refresh(self) -> bool:
        """Read what other processes wrote; return True if there was something. For `shared`."""
        position = (self._snapshot.json_at, self._snapshot.end)
        self._snapshot = read(self.path, self._snapshot)
        return (self._snapshot.json_at, self._snapshot.end) != position

    @property
    def position(self) -> tuple[object, ...]:
        """Return how far the file and its journal are read; it changes with every change by any process."""
        return self._snapshot.json_at, self._snapshot.generation, self._snapshot.end

    def sync(self) -> None:
        """Wait until all that was appended is on disk. Raises StoreError."""
        with self.writing():
            if self._doubtful:
                self.checkpoint()
                return
            try:
                self._sync()
            except OSError as error:
                raise disk.store_error("saved", self.path, error) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock and see the newest state. Raises StoreError, StoreLocked."""
        if self.mode == "readonly":
            raise StoreError(f"{self.path} is open for reading only.")
        if self._fd is not None:
            yield
            return
        if self.mode == "exclusive":
            raise StoreError(f"{self.path} is closed.")
        self._fd = self._lock()
        try:
            self.refresh()
            self._repair()
            yield
        finally:
            self._unlock()

    def append(self, operations: Iterable[Operation], *, barrier: bool = True) -> None:
        """Write operations to the journal; with `barrier` they are on disk when this returns.

        Raises StoreError; then they are neither in the journal nor in memory.
        """
        with self.writing():
            assert self._fd is not None
            if self._doubtful:
                self.checkpoint()
            changes = list(operations)
            data = b"".join(map(line, changes))
            if self._snapshot.end == 0:
                data = self._first_line() + data
            try:
                disk.write_all(self._fd, data, self._snapshot.end)
                if barrier:
                    self._sync()
            except OSError as error:
                self._cut()
                raise disk.store_error("saved", self.path, error) from error
            self._snapshot.end += len(data)
            self._signature = 0
            self._add_appended(changes, data, barrier)
            if self._snapshot.end > max(self._fold_at, self._snapshot.json_at[2]):
                self._fold()

    def checkpoint(self) -> None:
        """Rewrite the file and empty the journal. Raises StoreError, and then both are unchanged."""
        assert self._fd is not None
        generation = self._snapshot.generation + 1
        about = {"schema_version": SCHEMA_VERSION, "generation": generation}
        self._snapshot.tables.pop(ABOUT, None)
        self._snapshot.tables = {ABOUT: {"1": about}, **self._snapshot.tables}
        try:
            disk.replace(self.path, self._content())
            self._snapshot.generation, self._snapshot.json_at = generation, disk.signature(self.path)
            self._snapshot.schema_version = SCHEMA_VERSION
            self._snapshot.end, self._doubtful = 0, True
            self._folded()
            os.ftruncate(self._fd, 0)
        except OSError as error:
            # A file of a newer generation than the journal would make readers ignore the journal.
            self._doubtful = self._doubtful or disk.signature(self.path) != self._snapshot.json_at
            raise disk.store_error("saved", self.path, error) from error
        self._doubtful = False

    def _open(self) -> None:
        self._snapshot = read(self.path)
        self.restored = self._snapshot.restored
        if self.mode == "exclusive":
            self._repair()
        elif self.mode == "shared" and self._snapshot.schema_version < SCHEMA_VERSION:
            with suppress(StoreError), self.writing():
                pass  # taking the lock upgraded it; if it cannot be written, in memory only

    def _first_line(self) -> bytes:
        """Return the journal's first line: which checkpoint it builds upon, and who writes it."""
        return line(("gen", str(self._snapshot.generation), str(os.getpid()), None))

    def _sign(self) -> None:
        assert self._fd is not None
        data = self._first_line()
        disk.write_all(self._fd, data, 0)
        self._snapshot.end = self._snapshot.size = self._signature = len(data)

    def _add_appended(self, operations: list[Operation], data: bytes, synced: bool) -> None:
        """Apply operations in memory after they were appended to the journal as `data`."""
        for operation in operations:
            apply(self._snapshot.tables, operation)

    def _folded(self) -> None:
        """Note that the file holds everything; called before the journal is emptied."""

    def _content(self) -> Iterable[bytes]:
        """Yield the file as it should be, in pieces."""
        return whole(self._snapshot.tables)

    def _lock(self) -> int:
        try:
            return lock.take(self.path, _PATIENCE[self.mode])
        except OSError as error:
            raise disk.store_error("opened for writing", self.path, error) from error

    def _unlock(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _repair(self) -> None:
        """Leave a whole file and a journal that ends with a line end. Called with the lock held."""
        snapshot = self._snapshot
        assert self._fd is not None
        if snapshot.schema_version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer alita (schema {snapshot.schema_version}).",
                hint="Update alita, or open it for reading only.",
            )
        try:
            for path in snapshot.damaged:
                aside = disk.set_aside(path)
                snapshot.problems.append(f"the damaged original is kept as {aside.name}")
            self.restored = snapshot.restored if snapshot.damaged else self.restored
            if snapshot.size > snapshot.end:
                os.ftruncate(self._fd, snapshot.end)
        except OSError as error:
            raise disk.store_error("repaired", self.path, error) from error
        outdated = snapshot.schema_version < SCHEMA_VERSION
        if (
            snapshot.damaged
            or outdated
            or snapshot.json_at[2] == 0
            or (self.mode == "exclusive" and snapshot.end)
        ):
            self.checkpoint()
        snapshot.size = snapshot.end
        snapshot.damaged, snapshot.problems, snapshot.discarded = [], [], 0

    def _sync(self) -> None:
        assert self._fd is not None
        try:
            os.fdatasync(self._fd)
        except OSError:
            # After a failed sync the kernel may mark lost pages clean: write everything again.
            self._doubtful = True
            raise

    def _cut(self) -> None:
        """Remove a record that was not acknowledged from the journal."""
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, self._snapshot.end)
        except OSError:
            self._doubtful = True

    def _fold(self) -> None:
        try:
            self.checkpoint()
        except StoreError:
            self._fold_at *= 2  # every record is safe in the journal: try again when it has doubled
