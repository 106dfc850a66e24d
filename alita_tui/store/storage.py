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
        self._now = Snapshot()
        self.restored = self._now.restored
        """The result of opening."""
        self._signature = 0
        """Size of the journal's first line while there is no other."""
        self._doubtful = False  # True if what is on disk may be less than what is in memory
        if mode == "exclusive":
            self._fd = self._lock()
        try:
            self._open()
        except BaseException:
            self._unlock()
            raise
        if mode == "exclusive" and self._now.end == 0:
            with suppress(OSError):  # it only shows other processes who has the file
                self._sign()

    # --- TinyDB's interface

    def read(self) -> Tables | None:
        """Return the tables as they are in memory."""
        return dict(self._now.tables) or None

    def write(self, data: Mapping[str, Mapping[str, Json]]) -> None:
        """Replace everything atomically, as TinyDB's general operations need; writes the whole file."""
        with self.writing():
            self._now.tables = {name: dict(rows) for name, rows in data.items() if name != checksums.TABLE}
            try:
                self.checkpoint()
            except StoreError:
                self._now = read(self.path)
                raise

    def close(self) -> None:
        """Fold the journal into the file and release the lock.

        Raises StoreError if it cannot be folded; nothing is lost, the journal stays.
        """
        if self.mode == "readonly" or (self.mode == "exclusive" and self._fd is None):
            return
        if self.mode == "shared" and not self._now.end and not self._doubtful:
            return  # nothing in the journal is from here; a reader creates no file
        with self.writing():
            try:
                if self._now.end > self._signature or self._now.json_at[2] == 0 or self._doubtful:
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
        return self._now.tables

    def refresh(self) -> bool:
        """Read what other processes wrote; return True if there was something. For `shared`."""
        before = (self._now.json_at, self._now.end)
        self._now = read(self.path, self._now)
        return (self._now.json_at, self._now.end) != before

    @property
    def position(self) -> tuple[object, ...]:
        """Return how far the file and its journal are read; it changes with every change by any process."""
        return self._now.json_at, self._now.generation, self._now.end

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
            done = list(operations)
            data = b"".join(map(line, done))
            if self._now.end == 0:
                data = self._first_line() + data
            try:
                disk.write_all(self._fd, data, self._now.end)
                if barrier:
                    self._sync()
            except OSError as error:
                self._cut()
                raise disk.store_error("saved", self.path, error) from error
            self._now.end += len(data)
            self._signature = 0
            self._keep(done, data, barrier)
            if self._now.end > max(self._fold_at, self._now.json_at[2]):
                self._fold()

    def checkpoint(self) -> None:
        """Rewrite the file and empty the journal. Raises StoreError, and then both are unchanged."""
        assert self._fd is not None
        generation = self._now.generation + 1
        about = {"schema_version": SCHEMA_VERSION, "generation": generation}
        self._now.tables.pop(ABOUT, None)
        self._now.tables = {ABOUT: {"1": about}, **self._now.tables}
        try:
            disk.replace(self.path, self._whole())
            self._now.generation, self._now.json_at = generation, disk.signature(self.path)
            self._now.schema_version = SCHEMA_VERSION
            self._now.end, self._doubtful = 0, True
            self._folded()
            os.ftruncate(self._fd, 0)
        except OSError as error:
            # A file of a newer generation than the journal would make readers ignore the journal.
            self._doubtful = self._doubtful or disk.signature(self.path) != self._now.json_at
            raise disk.store_error("saved", self.path, error) from error
        self._doubtful = False

    def _open(self) -> None:
        self._now = read(self.path)
        self.restored = self._now.restored
        if self.mode == "exclusive":
            self._repair()
        elif self.mode == "shared" and self._now.schema_version < SCHEMA_VERSION:
            with suppress(StoreError), self.writing():
                pass  # upgraded; if it cannot be written, in memory only

    def _first_line(self) -> bytes:
        """Return the journal's first line: which checkpoint it builds upon, and who writes it."""
        return line(("gen", str(self._now.generation), str(os.getpid()), None))

    def _sign(self) -> None:
        assert self._fd is not None
        data = self._first_line()
        disk.write_all(self._fd, data, 0)
        self._now.end = self._now.size = self._signature = len(data)

    def _keep(self, done: list[Operation], data: bytes, synced: bool) -> None:
        """Read the journal, whose bytes are `data`."""
        for operation in done:
            apply(self._now.tables, operation)

    def _folded(self) -> None:
        """Note that the file holds everything; called before the journal is emptied."""

    def _whole(self) -> Iterable[bytes]:
        """Yield the file as it should be, in pieces."""
        return whole(self._now.tables)

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
        now = self._now
        assert self._fd is not None
        if now.schema_version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer alita (schema {now.schema_version}).",
                hint="Update alita, or open it for reading only.",
            )
        try:
            for path in now.damaged:
                aside = disk.set_aside(path)
                now.problems.append(f"the damaged original is kept as {aside.name}")
            self.restored = now.restored if now.damaged else self.restored
            if now.size > now.end:
                os.ftruncate(self._fd, now.end)
        except OSError as error:
            raise disk.store_error("repaired", self.path, error) from error
        older = now.schema_version < SCHEMA_VERSION
        if now.damaged or older or now.json_at[2] == 0 or (self.mode == "exclusive" and now.end):
            self.checkpoint()
        now.size = now.end
        now.damaged, now.problems, now.discarded = [], [], 0

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
            os.ftruncate(self._fd, self._now.end)
        except OSError:
            self._doubtful = True

    def _fold(self) -> None:
        try:
            self.checkpoint()
        except StoreError:
            self._fold_at *= 2  # every record is safe in the journal: try again when it has doubled
