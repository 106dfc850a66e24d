"""Full-text search over all sessions: an SQLite FTS5 cache that can be rebuilt at any time."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError
from alita_tui.spine.sessions import SessionHit
from alita_tui.spine.text import one_line
from alita_tui.store import disk, journal_reader
from alita_tui.store.sessions import SessionFile, SessionStore
from alita_tui.view.trace import rows_for

_VERSION = 1
_SCHEMA = """
CREATE TABLE files (name TEXT PRIMARY KEY, at TEXT NOT NULL, last INTEGER NOT NULL);
CREATE VIRTUAL TABLE rows USING fts5(
    text, session UNINDEXED, seq UNINDEXED, kind UNINDEXED, at UNINDEXED, tokenize='unicode61 remove_diacritics 2'
);
"""
_WORD = re.compile(r"\w+")
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
"""The index is intact, but another process has it."""
_OPEN, _CLOSE = "\x02", "\x03"


class SessionSearch:
    """The search of console and command line. Blocks; any thread, any process."""

    def __init__(self, path: Path, sessions: SessionStore) -> None:
        self._path = path
        self._sessions = sessions

    def find(self, query: str, *, limit: int = 100) -> tuple[SessionHit, ...]:
        """Return events that have all words of the query, or words that begin so, best first.

        Indexes what changed since the last search. Raises StoreError.
        """
        terms = [" ".join(_WORD.findall(term)) for term in query.split()]
        match_query = " ".join(f'"{term}"*' for term in terms if term)
        if not match_query:
            return ()
        return tuple(
            SessionHit(session_id=session, seq=seq, kind=kind, at=at, pieces=_pieces(text))
            for session, seq, kind, at, text in self._matches(match_query, limit)
        )

    def _matches(self, match_query: str, limit: int) -> list[tuple[str, int, str, str, str]]:
        """Return rows from the updated cache, which is rebuilt once if it is damaged. Raises StoreError."""
        for last_try in (False, True):
            try:
                with closing(self._open()) as db:
                    with db:
                        self._update(db)
                    return db.execute(
                        "SELECT session, seq, kind, at, snippet(rows, 0, ?, ?, '…', 16) FROM rows"
                        " WHERE rows MATCH ? ORDER BY rank, session DESC, seq LIMIT ?",
                        (_OPEN, _CLOSE, match_query, limit),
                    ).fetchall()
            except (sqlite3.Error, ValueError, TypeError) as error:  # text that is not UTF-8 is a ValueError
                if last_try or getattr(error, "sqlite_errorcode", 0) in _BUSY:
                    raise StoreError(f"{self._path} cannot be searched: {error}.") from error
                for damaged in (self._path, self._path.with_name(f"{self._path.name}-journal")):
                    with suppress(OSError):
                        damaged.unlink()
        raise AssertionError  # the last attempt returns or raises

    def _writable(self) -> bool:
        try:
            disk.make_folder(self._path.parent)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, disk.PRIVATE))
        except (OSError, StoreError):
            return False
        return True

    def _open(self) -> sqlite3.Connection:
        """Return the cache, or an empty one in memory if none can be written."""
        db = sqlite3.connect(self._path if self._writable() else ":memory:", timeout=60)
        try:
            if _version(db) != _VERSION:
                with db:
                    db.execute("BEGIN IMMEDIATE")
                    if _version(db) != _VERSION:  # if no other process was quicker
                        _begin_anew(db)
        except BaseException:
            db.close()
            raise
        return db

    def _update(self, db: sqlite3.Connection) -> None:
        if not db.in_transaction:
            # Another process that updates at the same moment waits, and then finds nothing to do.
            db.execute("BEGIN IMMEDIATE")
        indexed = {
            name: (at, last_seq) for name, at, last_seq in db.execute("SELECT name, at, last FROM files")
        }
        present = {path.name: path for path in self._sessions.paths()}
        for name in indexed.keys() - present.keys():
            self._forget(db, name)
        for name, path in present.items():
            at = repr((disk.signature(path), disk.signature(journal_reader.journal_of(path))))
            indexed_at, last_seq = indexed.get(name, ("", 0))
            if at != indexed_at:
                with suppress(StoreError):  # unreadable sessions are not searched
                    self._index(db, path, at, last_seq)

    def _index(self, db: sqlite3.Connection, path: Path, at: str, last_seq: int) -> None:
        file = SessionFile.open(path, readonly=True)
        try:
            envelopes = file.envelopes()
        finally:
            file.close()
        if not envelopes or (envelopes[-1].seq or 0) < last_seq:  # another file under the same name
            self._forget(db, path.name)
            last_seq = 0
        db.executemany(
            "INSERT INTO rows (text, session, seq, kind, at) VALUES (?, ?, ?, ?, ?)",
            _texts((envelope for envelope in envelopes if (envelope.seq or 0) > last_seq), path.stem),
        )
        newest = envelopes[-1].seq or 0 if envelopes else 0
        db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (path.name, at, newest))

    def _forget(self, db: sqlite3.Connection, name: str) -> None:
        db.execute("DELETE FROM rows WHERE session = ?", (Path(name).stem,))
        db.execute("DELETE FROM files WHERE name = ?", (name,))


def _texts(envelopes: Iterable[Envelope], session: str) -> Iterator[tuple[str, str, int, str, str]]:
    for envelope in envelopes:
        for row in rows_for(envelope):
            combined = row.title if row.detail.startswith(row.title) else f"{row.title}\n{row.detail}"
            text = (row.detail or row.title) if combined == row.title else combined
            yield text, session, row.seq, row.kind, row.at.isoformat()


def _pieces(text: str) -> tuple[str, ...]:
    """Return alternating plain and matched text, neutralised: the cache is a file that others could write."""
    parts = re.split(f"[{_OPEN}{_CLOSE}]", text)
    return tuple(_flat(part) for part in parts)


def _flat(text: str) -> str:
    """Return one line that keeps the blanks at its ends."""
    flat = str(one_line(text, 400))
    return f"{' ' if text[:1].isspace() else ''}{flat}{' ' if flat and text[-1:].isspace() else ''}"


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _begin_anew(db: sqlite3.Connection) -> None:
    """Run the statements inside a transaction; a script would end it."""
    script = (
        f"DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS rows; {_SCHEMA} PRAGMA user_version = {_VERSION};"
    )
    for statement in filter(str.strip, script.split(";")):
        db.execute(statement)
