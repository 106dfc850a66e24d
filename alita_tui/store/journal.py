"""TinyDB's table and database over the journal."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from tinydb import TinyDB
from tinydb.table import Table

from alita_tui.events import Json
from alita_tui.store.storage import JournalStorage


class JournalTable(Table):
    """A table whose inserts go to the journal."""

    @property
    def _journaled(self) -> JournalStorage:
        assert isinstance(self._storage, JournalStorage)
        return self._storage

    @property
    def rows(self) -> dict[str, Json]:
        """Return the documents by id, without copying: to be read, never changed."""
        return self._journaled.tables.get(self.name, {})

    def put(self, doc_id: int, document: Mapping[str, Json], *, barrier: bool = True) -> None:
        """Insert or replace one document. Raises StoreError."""
        detached = msgspec.to_builtins(document)
        self._journaled.append([("put", self.name, str(doc_id), detached)], barrier=barrier)
        self.clear_cache()

    def delete(self, doc_id: int, *, barrier: bool = True) -> None:
        """Remove one document, if it is there. Raises StoreError."""
        self._journaled.append([("del", self.name, str(doc_id), None)], barrier=barrier)
        self.clear_cache()

    def insert(self, document: Mapping[str, Json]) -> int:
        """Insert a document and return its id; TinyDB's own insert would copy the table."""
        with self._journaled.writing():
            doc_id = getattr(document, "doc_id", None) or self.next_id()
            if str(doc_id) in self.rows:
                raise ValueError(f"Document with ID {doc_id} already exists")
            self.put(doc_id, document)
            return int(doc_id)

    def next_id(self) -> int:
        """Return one more than the highest id."""
        rows = self.rows
        newest = int(next(reversed(rows), "0"))
        return newest + 1 if str(newest + 1) not in rows else max(map(int, rows)) + 1


class JournalDB(TinyDB):
    """A TinyDB whose file is never half written. Plain `TinyDB(path)` can read it once it is closed."""

    table_class = JournalTable
    default_storage_class = JournalStorage  # type: ignore[assignment]  # TinyDB's own type is too narrow

    @property
    def journal(self) -> JournalStorage:
        """The storage."""
        assert isinstance(self._storage, JournalStorage)
        return self._storage

    def documents(self, name: str) -> JournalTable:
        """Return one table."""
        table = self.table(name)
        assert isinstance(table, JournalTable)
        return table
