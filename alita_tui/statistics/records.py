"""The rows of all sessions as columns, and the file that keeps them: only sessions that changed are read again."""

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
"""A table: one record for each row."""
Stamp = tuple[int, ...]
"""The state of a session's files; it differs once they changed."""

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
    """A session in the file: its files' state and how many rows of each table are its own."""

    name: str
    session_id: str
    stamp: Stamp
    rows: tuple[int, ...]
    damaged: bool = False
    """Something of it could not be read, so its figures may be too low."""


class _Head(msgspec.Struct, array_like=True):
    version: int
    names: list[str]
    sessions: list[_Session]


class Records:
    """The rows of all sessions. `name` of a session is its file's."""

    def __init__(self) -> None:
        self.names: list[str] = [""]
        """Every name that rows refer to by its place."""
        self._numbers: dict[str, int] = {"": 0}
        self.sessions: list[_Session] = []
        self.tables: dict[str, Column] = {name: np.empty(0, kind) for name, kind in _TABLES.items()}

    def stale(self, stamps: Mapping[str, Stamp]) -> list[str]:
        """Return the sessions of a folder that have to be read: new, or changed since."""
        known = {session.name: session.stamp for session in self.sessions}
        return [name for name, stamp in stamps.items() if known.get(name) != stamp]

    def update(self, present: Iterable[str], read: Sequence[tuple[str, str, Stamp, SessionRows]]) -> bool:
        """Drop sessions that are not present any more, and put in those that were read; return whether that changed it.

        `read`: name, session id, stamp, rows.
        """
        gone = {session.name for session in self.sessions} - set(present)
        anew = gone | {name for name, *_ in read}
        if not anew:
            return False
        unchanged = [session.name not in anew for session in self.sessions]
        parts: dict[str, list[Column]] = {}
        for place, name in enumerate(_TABLES):
            counts = [session.rows[place] for session in self.sessions]
            parts[name] = [self.tables[name][np.repeat(np.array(unchanged, bool), counts)]]
        self.sessions = [session for session in self.sessions if session.name not in anew]
        for name, session_id, stamp, rows in read:
            tables = self._tables_of(rows)
            sizes = tuple(len(tables[table]) for table in _TABLES)
            self.sessions.append(_Session(name, session_id, stamp, sizes, rows.damaged))
            for table, part in tables.items():
                parts[table].append(part)
        self.tables = {name: np.concatenate(part) for name, part in parts.items()}
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
        """Return of each row the place of its session."""
        place = list(_TABLES).index(table)
        return np.repeat(np.arange(len(self.sessions)), [session.rows[place] for session in self.sessions])

    def tasks_of(self, table: str) -> Column:
        """Return of each row the place of its task among all tasks; -1 for none."""
        own = self.tables[table]["task"].astype(np.int64)
        place = list(_TABLES).index("tasks")
        starts = np.concatenate(
            ([0], np.cumsum([session.rows[place] for session in self.sessions], dtype=np.int64))
        )
        return np.where(own < 0, -1, own + starts[self.owners(table)]) if len(own) else own

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
        """Return what `packed` made; nothing, so that all is read again, for anything else."""
        records = cls()
        if len(raw) < 12 or zlib.crc32(raw[4:]).to_bytes(4, "big") != raw[:4]:
            return records
        size = int.from_bytes(raw[4:12], "big")
        try:
            head = msgspec.msgpack.decode(raw[12 : 12 + size], type=ready(_Head))
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
            return records
        counts = [sum(session.rows[place] for session in head.sessions) for place in range(len(_TABLES))]
        wanted = sum(count * kind.itemsize for count, kind in zip(counts, _TABLES.values(), strict=True))
        if head.version != _VERSION or wanted != len(raw) - 12 - size:
            return records
        at = 12 + size
        for count, (name, kind) in zip(counts, _TABLES.items(), strict=True):
            records.tables[name] = np.frombuffer(raw, kind, count, at)
            at += count * kind.itemsize
        records.names, records.sessions = head.names, head.sessions
        records._numbers = {name: number for number, name in enumerate(head.names)}
        return records
