"""What every session spent on every day, in one TinyDB file that all processes share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from datetime import date
from pathlib import Path

import msgspec

from alita_tui.events import Json, Value, ready
from alita_tui.spine.ports.models import DaySpend
from alita_tui.store import disk
from alita_tui.store.journal import JournalDB

NOTHING = ("", 0.0, 0)
"""No call, no money, no tokens."""


class _Day(Value, frozen=True):
    """The shape of a document."""

    day: str
    session: str
    usd: float
    tokens: int
    reserved: dict[str, tuple[float, int]]
    last: tuple[str, float, int]
    estimated: int = 0
    """Those of the tokens that are estimated; rows of before this was recorded do not have it."""
    last_estimated: int = 0
    """Those of the last call."""


class SpendBook:
    """Implements `DayBook` for one session. A document is one session's spend on one day."""

    def __init__(self, path: Path, session_id: str, today: Callable[[], date]) -> None:
        """Raises StoreError."""
        disk.make_folder(path.parent)
        self._db = JournalDB(path, mode="shared")
        self._table = self._db.documents("days")
        self._session_id = session_id
        self._reserved_here: set[str] = set()
        """Calls reserved here. Other reservations of this session are of processes that died before settling."""
        self._today = today
        self._guard = threading.Lock()

    def another(self, session_id: str) -> SpendBook:
        """Return the same open book for another session of this process; closing this one closes both."""
        book = copy(self)
        book._session_id, book._reserved_here = session_id, set()
        return book

    def today(self) -> DaySpend:
        """Return what is spent and reserved today, over all sessions. Raises StoreError."""
        with self._guard:
            self._db.journal.refresh()
            return self._sum(self._today().isoformat())

    def days(self) -> dict[str, DaySpend]:
        """Return the spend of every day (ISO 8601), oldest first."""
        with self._guard:
            self._db.journal.refresh()
            return {day: self._sum(day) for day in sorted({row["day"] for _, row in self._rows()})}

    def reserve(
        self, call_id: str, usd: float, tokens: int, *, limit_usd: float | None, limit_tokens: int | None
    ) -> bool:
        """Reserve a call's cost against today's cap; return False if that could break it. Raises StoreError."""
        with self._guard, self._db.journal.writing():
            self._release()
            day = self._today().isoformat()
            today = self._sum(day)
            if limit_usd is not None and today.usd + usd > limit_usd:
                return False
            if limit_tokens is not None and today.tokens + tokens > limit_tokens:
                return False
            doc_id, row = self._row(day)
            self._reserved_here.add(call_id)
            self._table.put(doc_id, {**row, "reserved": {**row["reserved"], call_id: [usd, tokens]}})
            return True

    def settle(self, call_id: str, usd: float, tokens: int, *, estimated: bool = False) -> DaySpend:
        """Settle a call once, on the day that it was reserved on; return that day's spend.

        A process that dies between this and the session's own record settles its last call again.
        """
        with self._guard, self._db.journal.writing():
            doc_id, row = self._row_with(call_id) or self._row(self._today().isoformat())
            open_calls = {
                reserved_id: cost for reserved_id, cost in row["reserved"].items() if reserved_id != call_id
            }
            again = row["last"][0] == call_id
            _, last_usd, last_tokens = row["last"] if again else NOTHING
            last_estimated = row.get("last_estimated", 0) if again else 0
            of_them = tokens if estimated else 0
            settled = {
                **row,
                "usd": row["usd"] - last_usd + usd,
                "tokens": row["tokens"] - last_tokens + tokens,
                "reserved": open_calls,
                "last": [call_id, usd, tokens],
                "estimated": row.get("estimated", 0) - last_estimated + of_them,
                "last_estimated": of_them,
            }
            before = (last_usd, last_tokens, last_estimated, row["reserved"])
            if (usd, tokens, of_them, open_calls) != before:
                self._table.put(doc_id, settled)
            return self._sum(row["day"])

    def close(self) -> None:
        """Fold the journal into the file. Raises StoreError."""
        with self._guard:
            self._db.close()

    def _rows(self) -> Iterator[tuple[int, Json]]:
        """Return the well-formed documents: a file without checksums may hold anything."""
        for doc_id, row in self._table.rows.items():
            with suppress(msgspec.ValidationError):
                msgspec.convert(row, ready(_Day))
                yield int(doc_id), row

    def _row(self, day: str) -> tuple[int, Json]:
        for doc_id, row in self._rows():
            if row["day"] == day and row["session"] == self._session_id:
                return doc_id, row
        empty = {
            "day": day,
            "session": self._session_id,
            "usd": 0.0,
            "tokens": 0,
            "reserved": {},
            "last": [*NOTHING],
        }
        return self._table.next_id(), empty

    def _row_with(self, call_id: str) -> tuple[int, Json] | None:
        for doc_id, row in self._rows():
            named = call_id in row["reserved"] or row["last"][0] == call_id
            if row["session"] == self._session_id and named:
                return doc_id, row
        return None

    def _release(self) -> None:
        """Release reservations of calls that were never recorded; recorded ones have been settled."""
        for doc_id, row in list(self._rows()):
            open_calls = {
                call_id: cost for call_id, cost in row["reserved"].items() if call_id in self._reserved_here
            }
            if row["session"] == self._session_id and open_calls != row["reserved"]:
                self._table.put(doc_id, {**row, "reserved": open_calls})

    def _sum(self, day: str) -> DaySpend:
        usd, tokens, estimated = 0.0, 0, 0
        for _, row in self._rows():
            if row["day"] == day:
                reserved = list(row["reserved"].values())
                usd += row["usd"] + sum(cost[0] for cost in reserved)
                reserved_tokens = sum(cost[1] for cost in reserved)
                tokens += row["tokens"] + reserved_tokens
                estimated += row.get("estimated", 0) + reserved_tokens
        return DaySpend(usd=usd, tokens=tokens, estimated_tokens=estimated)
