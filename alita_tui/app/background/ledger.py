"""What the background has to do, on disk: sessions it works on and tasks that are repeated."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec

from alita_tui.app.background.schedule import Rhythm
from alita_tui.events import Value, as_json, ready
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext


class Work(Value, frozen=True):
    """A session that the background works on until nothing is left to do in it."""

    session_id: str
    model: str | None = None
    """`provider:name`; None: as the settings say."""
    project: str | None = None
    text: str = ""
    """The session's first task; empty if its tasks are in its queue already."""
    attach: tuple[str, ...] = ()
    """Absolute paths of files that are given with it."""
    schedule: str = ""
    """The schedule that it is a run of."""
    signature: str = ""


class Schedule(Value, frozen=True):
    """A task that is repeated, each time in a session of its own."""

    id: str
    """`s1`, `s2` and so on."""
    text: str
    rhythm: Rhythm
    made: datetime
    last: datetime | None = None
    """When it was last due and begun; None if never."""
    session_id: str = ""
    """The newest session of it."""
    paused: bool = False
    model: str | None = None
    project: str | None = None
    attach: tuple[str, ...] = ()
    """Absolute paths of files that are given with it."""
    signature: str = ""

    def due(self, now: datetime) -> datetime | None:
        """Return the newest time up to now at which it should have begun; None if there is none."""
        return None if self.paused else self.rhythm.due(self.made, self.last or self.made, now)


Entry = TypeVar("Entry", Work, Schedule)
_WORK, _SCHEDULE, _GIVEN = "work:", "schedule:", "given"


class Ledger:
    """The lists of work and schedules, shared by all processes of a home. Entries not signed by it are ignored."""

    def __init__(self, app: AppContext, warn: Callable[[str], None] = lambda _: None) -> None:
        """`warn` is called with a sentence about each entry that is ignored. Raises StoreError."""
        self._documents = app.documents(app.paths.background, "background")
        self._audit = app.audit
        self._warn = warn
        self._warned: set[str] = set()

    def changing(self) -> AbstractContextManager[None]:
        """Lock the lists against changes by other processes. Raises StoreError."""
        return self._documents.changing()

    def work(self) -> tuple[Work, ...]:
        """Return the sessions to work on, the oldest first. Raises StoreError."""
        return self._read(_WORK, Work)

    def schedules(self) -> tuple[Schedule, ...]:
        """Return the schedules, the oldest first. Raises StoreError."""
        return self._read(_SCHEDULE, Schedule)

    def schedule(self, schedule_id: str) -> Schedule:
        """Return a schedule by its id. Raises UsageError, StoreError."""
        for schedule in self.schedules():
            if schedule.id == schedule_id:
                return schedule
        raise UsageError(
            f"There is no schedule {one_line(schedule_id, 60)!r}.", hint="List them with: alita tasks list"
        )

    def put(self, entry: Work | Schedule) -> None:
        """Add an entry, or replace the one with its id; it is on disk when this returns. Raises StoreError."""
        signed = msgspec.structs.replace(entry, signature="")
        signed = msgspec.structs.replace(signed, signature=self._audit.signed(_kind(signed), _signed(signed)))
        self._documents.put(_key(entry), msgspec.to_builtins(signed))

    def remove(self, entry: Work | Schedule) -> None:
        """Remove an entry, if it is still there. Raises StoreError."""
        self._documents.remove(_key(entry))

    def new_id(self) -> str:
        """Return an id that no schedule has had; call it within `changing`. Raises StoreError.

        Ids are never reused: cancelling `s1` from an old list cannot end another schedule.
        """
        issued = [
            document["given"]
            for document in self._documents.all()
            if isinstance(document, dict) and "given" in document
        ]
        in_use = [int(schedule.id.removeprefix("s")) for schedule in self.schedules()]
        number = max((0, *in_use, *(number for number in issued if isinstance(number, int)))) + 1
        self._documents.put(_GIVEN, {"given": number})
        return f"s{number}"

    def _read(self, prefix: str, kind: type[Entry]) -> tuple[Entry, ...]:
        entries = []
        for document in self._documents.all():
            if (
                not isinstance(document, dict)
                or "given" in document
                or (_WORK if "rhythm" not in document else _SCHEDULE) != prefix
            ):
                continue
            try:
                entry = msgspec.convert(document, ready(kind))
            except msgspec.ValidationError:
                self._doubt(as_json(document))
                continue
            if self._audit.vouched(_kind(entry), _signed(entry), entry.signature):
                entries.append(entry)
            else:
                self._doubt(as_json(document))
        return tuple(entries)

    def _doubt(self, document: str) -> None:
        if document not in self._warned:
            self._warned.add(document)
            self._warn(f"Not done: no process of this home signed it: {one_line(document, 200)}")


def _key(entry: Work | Schedule) -> str:
    return f"{_WORK}{entry.session_id}" if isinstance(entry, Work) else f"{_SCHEDULE}{entry.id}"


def _kind(entry: Work | Schedule) -> str:
    return "background work" if isinstance(entry, Work) else "schedule"


def _signed(entry: Work | Schedule) -> str:
    return as_json(msgspec.structs.replace(entry, signature=""), ordered=True)
