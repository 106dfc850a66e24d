"""The rows of all sessions as columns, and the file that stores them. Only changed sessions are read again."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from alita_tui.events import ready
from alita_tui.statistics.rows import SessionRows

Column = NDArray[Any]
"""A numpy array with one element for each row: a table of records, or one of its fields."""
Stamp = tuple[int, ...]
"""The state of a session's files; it changes whenever they do."""

_VERSION = 2
_RUN = np.dtype([("at", "f8"), ("ms", "f8"), ("seq", "u4"), ("task", "i4"), ("tool", "u4"), ("kind", "u4"),
                 ("version", "u2"), ("reused", "?")])  # fmt: skip
_CALL = np.dtype([("at", "f8"), ("ms", "f8"), ("usd", "f8"), ("tokens", "i8"), ("cached", "i8"), ("seq", "u4"),
                  ("task", "i4"), ("role", "u4"), ("model", "u4"), ("kind", "u4"), ("tool", "u4"),
                  ("paid", "?")])  # fmt: skip
_BUILD = np.dtype([("at", "f8"), ("seq", "u4"), ("task", "i4"), ("tool", "u4"), ("kind", "u4")])
_TASK = np.dtype([("at", "f8"), ("seconds", "f8"), ("seq", "u4"), ("end", "u4"), ("outcome", "u4"),
                  ("ungrounded", "u4"), ("words", "u4"), ("rating", "i1"), ("again", "?")])  # fmt: skip
_WORD = np.dtype("u4")
_TABLES = {"runs": _RUN, "calls": _CALL, "builds": _BUILD, "tasks": _TASK, "words": _WORD}


class _Session(msgspec.Struct, array_like=True):
    """A session in the file: the state of its files, and its number of rows in each table."""

    name: str
    session_id: str
    stamp: Stamp
    rows: tuple[int, ...]
    damaged: bool = False
    """True if a part of it could not be read, so that its figures may be too low."""


class _Head(msgspec.Struct, array_like=True):
    version: int
    names: list[str]
    sessions: list[_Session]


class Records:
    """The rows of all sessions. A session's `name` is the name of its file."""

    def __init__(self) -> None:
        self.names: list[str] = [""]
        """The names to which rows refer by their index."""
        self._numbers: dict[str, int] = {"": 0}
        self.sessions: list[_Session] = []
        self.tables: dict[str, Column] = {name: np.empty(0, dtype) for name, dtype in _TABLES.items()}

    def stale(self, stamps: Mapping[str, Stamp]) -> list[str]:
        """Return the sessions of a folder that have to be read, because they are new or have changed."""
        stored = {session.name: session.stamp for session in self.sessions}
        return [name for name, stamp in stamps.items() if stored.get(name) != stamp]

    def update(
        self, present: Iterable[str], read_sessions: Sequence[tuple[str, str, Stamp, SessionRows]]
    ) -> bool:
        """Drop sessions that are no longer present and insert those that were read; return True if anything changed.

        `read_sessions` holds name, session id, stamp and rows of each.
        """
        removed = {session.name for session in self.sessions} - set(present)
        replaced = removed | {name for name, *_ in read_sessions}
        if not replaced:
            return False
        unchanged = [session.name not in replaced for session in self.sessions]
        parts: dict[str, list[Column]] = {}
        for index, name in enumerate(_TABLES):
            counts = [session.rows[index] for session in self.sessions]
            parts[name] = [self.tables[name][np.repeat(np.array(unchanged, bool), counts)]]
        self.sessions = [session for session in self.sessions if session.name not in replaced]
        for name, session_id, stamp, rows in read_sessions:
            tables = self._tables_of(rows)
            sizes = tuple(len(tables[table]) for table in _TABLES)
            self.sessions.append(_Session(name, session_id, stamp, sizes, rows.damaged))
            for table, new_rows in tables.items():
                parts[table].append(new_rows)
        self.tables = {name: np.concatenate(new_rows) for name, new_rows in parts.items()}
        return True

    def _tables_of(self, rows: SessionRows) -> dict[str, Column]:
        name = self._number
        runs = [
            (row.at, row.ms, row.seq, row.task, name(row.tool), name(row.kind), row.version, row.reused)
            for row in rows.runs
        ]
        calls = [
            (row.at, row.ms, row.usd, row.tokens, row.cached, row.seq, row.task, name(row.role), name(row.model),
             name(row.kind), name(row.tool), row.paid)
            for row in rows.calls
        ]  # fmt: skip
        builds = [(row.at, row.seq, row.task, name(row.tool), name(row.kind)) for row in rows.builds]
        tasks = [
            (row.at, row.seconds, row.seq, row.end, name(row.outcome), row.ungrounded, len(row.words), row.rating,
             row.again)
            for row in rows.tasks
        ]  # fmt: skip
        words = [word for row in rows.tasks for word in row.words]
        tables: dict[str, Column] = {"runs": np.array(runs, _RUN), "calls": np.array(calls, _CALL)}
        tables |= {"builds": np.array(builds, _BUILD), "tasks": np.array(tasks, _TASK)}
        return tables | {"words": np.array(words, _WORD)}

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def owners(self, table: str) -> Column:
        """Return the index of each row's session."""
        index = list(_TABLES).index(table)
        return np.repeat(np.arange(len(self.sessions)), [session.rows[index] for session in self.sessions])

    def tasks_of(self, table: str) -> Column:
        """Return the index of each row's task among all tasks; -1 for none."""
        numbers = self.tables[table]["task"].astype(np.int64)
        index = list(_TABLES).index("tasks")
        starts = np.concatenate(
            ([0], np.cumsum([session.rows[index] for session in self.sessions], dtype=np.int64))
        )
        return np.where(numbers < 0, -1, numbers + starts[self.owners(table)]) if len(numbers) else numbers

    # --- the file ---------------------------------------------------------------------------------

    def packed(self) -> bytes:
        """Return everything as bytes."""
        head = msgspec.msgpack.encode(_Head(_VERSION, self.names, self.sessions))
        body = b"".join(
            [len(head).to_bytes(8, "big"), head, *(self.tables[name].tobytes() for name in _TABLES)]
        )
        return zlib.crc32(body).to_bytes(4, "big") + body

    @classmethod
    def unpacked(cls, raw: bytes) -> Records:
        """Return the records in bytes from `packed`; empty records for any other bytes, so that all is read again."""
        records = cls()
        if len(raw) < 12 or zlib.crc32(raw[4:]).to_bytes(4, "big") != raw[:4]:
            return records
        size = int.from_bytes(raw[4:12], "big")
        try:
            head = msgspec.msgpack.decode(raw[12 : 12 + size], type=ready(_Head))
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
            return records
        counts = [sum(session.rows[index] for session in head.sessions) for index in range(len(_TABLES))]
        expected = sum(count * dtype.itemsize for count, dtype in zip(counts, _TABLES.values(), strict=True))
        if head.version != _VERSION or expected != len(raw) - 12 - size:
            return records
        offset = 12 + size
        for count, (name, dtype) in zip(counts, _TABLES.items(), strict=True):
            records.tables[name] = np.frombuffer(raw, dtype, count, offset)
            offset += count * dtype.itemsize
        records.names, records.sessions = head.names, head.sessions
        records._numbers = {name: number for number, name in enumerate(head.names)}
        return records
