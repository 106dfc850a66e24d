"""Summaries of all sessions, cached in an index. For a running session only new events are read."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from alita_tui.events import Json, Value, ready
from alita_tui.spine.errors import StoreError
from alita_tui.spine.text import one_line
from alita_tui.store import disk
from alita_tui.store.journal_reader import journal_of, operation, read
from alita_tui.store.summaries import SessionSummary, Tally, summarise
from alita_tui.system.files import read_plain


class Followed:
    """One session's summary, and how far its journal is included."""

    def __init__(self, session_id: str, path: Path, tally: Tally, json_at: disk.Signature, end: int) -> None:
        """`end`: journal offset behind the last event that the tally includes."""
        self._session_id = session_id
        self._path = path
        self._tally = tally
        self._json_at = json_at
        self._end = end

    def now(self) -> SessionSummary | None:
        """Return the up-to-date summary; None if the files have to be read as a whole."""
        if disk.signature(self._path) != self._json_at:
            return None  # the journal was folded, so its offsets are no longer valid
        size, appended = self._appended()
        complete = appended.rfind(b"\n") + 1
        changes = [operation(line) for line in appended[:complete].split(b"\n")[:-1]]
        if size < self._end or disk.signature(self._path) != self._json_at:
            return None
        for change in changes:
            if change is None or (change[0] == "del" and change[1] == "events"):
                return None
            if change[0] == "put" and change[1] == "events":
                self._tally.take(change[3])
        self._end += complete
        return self._tally.summary(self._session_id, str(self._path))

    def _appended(self) -> tuple[int, bytes]:
        """Return the journal's size and its new bytes; a closed session has none."""
        try:
            with journal_of(self._path).open("rb") as file:
                size = file.seek(0, 2)
                file.seek(self._end)
                return size, file.read()
        except FileNotFoundError:
            return 0, b""
        except OSError:
            return -1, b""


class _Indexed(Value, frozen=True):
    """A summary, and the state of the files that it was made from."""

    at: tuple[disk.Signature, disk.Signature]
    summary: SessionSummary


class Summaries:
    """The summaries of the sessions in a folder."""

    def __init__(self, index: Path, followed: Callable[[Path], Followed | None]) -> None:
        """`index`: a cache file. `followed` reads a whole session."""
        self._index = index
        self._read = followed
        self._followed: dict[str, Followed] = {}

    def of(self, paths: Iterable[Path]) -> dict[str, SessionSummary]:
        """Return the summary of each session, by file name."""
        cached = self._read_index()
        entries: dict[str, _Indexed] = {}
        for path in paths:
            at = (disk.signature(path), disk.signature(journal_of(path)))
            entry = cached.get(path.name)
            if entry is None or entry.at != at:
                entry = _Indexed(at=at, summary=self._up_to_date(path))
            entries[path.name] = entry
        current = {
            name: indexed for name, indexed in entries.items() if indexed.summary.state != "unreadable"
        }
        if current != cached:
            self._write_index(current)
        return {name: entry.summary for name, entry in entries.items()}

    def follow(self, path: Path, followed: Followed | None) -> None:
        """From now on keep this summary up to date, if the session is whole."""
        if followed is not None:
            self._followed[path.name] = followed

    def _up_to_date(self, path: Path) -> SessionSummary:
        followed = self._followed.pop(path.name, None)
        summary = followed.now() if followed is not None else None
        if summary is None:
            followed = self._read(path)
            summary = followed.now() if followed is not None else None
        if summary is None:
            return _summary_of_all(path)
        self.follow(path, followed)
        return summary

    def _read_index(self) -> dict[str, _Indexed]:
        try:
            raw = read_plain(self._index)
            crc, _, entries = raw.partition(b"\n")
            return (
                msgspec.json.decode(entries, type=ready(dict[str, _Indexed]))
                if crc == b"%08x" % zlib.crc32(entries)
                else {}
            )
        except (OSError, ValueError, RecursionError):
            return {}

    def _write_index(self, entries: dict[str, _Indexed]) -> None:
        content = msgspec.json.encode(entries)
        try:
            disk.replace(self._index, [b"%08x\n" % zlib.crc32(content), content])
        except OSError:
            return  # it is only a cache


def _summary_of_all(path: Path) -> SessionSummary:
    """Return the summary of a possibly damaged session, after reading all of it."""
    try:
        _refuse_dangling(path)
        snapshot = read(path)
    except StoreError as error:
        return SessionSummary(
            session_id=path.stem, path=str(path), state="unreadable", title=one_line(error.message)
        )
    events = snapshot.tables.get("events", {})
    rows: list[Json] = [events[key] for key in sorted(events, key=int)]
    first = events.get("1")
    session_id = str(first.get("session_id", "")) if isinstance(first, dict) else ""
    missing = max(map(int, events), default=0) - len(events)
    return summarise(session_id or path.stem, str(path), rows, discarded=max(snapshot.discarded, missing))


def _refuse_dangling(path: Path) -> None:
    """Raise StoreError for a link to nothing, unless a journal is left."""
    if path.is_symlink() and not path.exists() and not journal_of(path).exists():
        raise StoreError(f"{path.name} is a link to {path.readlink()}, which is not there.")
