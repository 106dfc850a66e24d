"""A keyed table in a TinyDB file that several processes share, as registry and memory use it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from alita_tui.events import Json
from alita_tui.spine.ports.library import Documents
from alita_tui.store import disk
from alita_tui.store.journal import JournalDB


class DocumentTable:
    """Implements `Documents`. Each change takes a short lock and sees what every process wrote before.

    In the file a document is `{"key": ..., "value": ...}`, since TinyDB's ids are numbers.
    """

    def __init__(self, path: Path, table: str) -> None:
        """Open or create the table `table` of the file. Raises StoreError."""
        disk.make_folder(path.parent)
        self._db = JournalDB(path, mode="shared")
        self._table = self._db.documents(table)
        self._guard = threading.RLock()
        self._all: tuple[Json, ...] = ()
        self._read_at: object = None
        self._ids: dict[str, str] = {}
        """Where each key was found; a hint, since another process may have moved it."""

    def all(self) -> tuple[Json, ...]:
        """Return every document, oldest first; the same tuple as long as nothing changed. Raises StoreError."""
        with self._guard:
            self._db.journal.refresh()
            if self._read_at != (at := self._db.journal.position):
                rows = self._table.rows.values()
                self._all = tuple(row["value"] for row in rows if isinstance(row, dict) and "value" in row)
                self._read_at = at
            return self._all

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Lock the table against changes by others. Raises StoreError."""
        with self._guard, self._db.journal.writing():
            yield

    def put(self, key: str, document: Json, *, barrier: bool = True) -> None:
        """Insert or replace a document; with `barrier` it is on disk when this returns, and all that was put before.

        Raises StoreError.
        """
        with self.changing():
            doc_id = self._find(key) or self._table.next_id()
            self._table.put(doc_id, {"key": key, "value": document}, barrier=barrier)

    def remove(self, key: str) -> None:
        """Remove a document, if it is there. Raises StoreError."""
        with self.changing():
            if doc_id := self._find(key):
                self._table.delete(doc_id)

    def sync(self) -> None:
        """Wait until all that was put is on disk. Raises StoreError."""
        with self._guard:
            self._db.journal.sync()

    def close(self) -> None:
        """Fold the journal into the file, so that plain TinyDB can read it. Raises StoreError."""
        with self._guard:
            self._db.close()

    def _find(self, key: str) -> int | None:
        rows = self._table.rows
        hinted = self._ids.get(key, "")
        if _key_of(rows.get(hinted)) == key:
            return int(hinted)
        for doc_id, row in rows.items():
            if _key_of(row) == key:
                self._ids[key] = doc_id
                return int(doc_id)
        return None


def _key_of(row: Json) -> Json:
    return row.get("key") if isinstance(row, dict) else None


class CleanDocuments:
    """Implements `Documents` over others, and drops documents with a secret: redacted they would be wrong."""

    def __init__(self, documents: Documents, redacted: Callable[[Json], Json]) -> None:
        """`redacted` returns a document with every secret removed."""
        self._documents = documents
        self._redacted = redacted

    def all(self) -> tuple[Json, ...]:
        """Return every document. Raises StoreError."""
        return self._documents.all()

    def put(self, key: str, document: Json, *, barrier: bool = True) -> None:
        """Insert or replace a document, unless it holds a secret. Raises StoreError."""
        if self._redacted(document) == document:
            self._documents.put(key, document, barrier=barrier)

    def remove(self, key: str) -> None:
        """Remove a document. Raises StoreError."""
        self._documents.remove(key)

    def changing(self) -> AbstractContextManager[None]:
        """Lock the table against changes by others. Raises StoreError."""
        return self._documents.changing()

    def sync(self) -> None:
        """Wait until all that was put is on disk. Raises StoreError."""
        self._documents.sync()
