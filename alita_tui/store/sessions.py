"""One file per session, and the folder of all sessions."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from alita_tui.events import SessionOpened, UnknownEvent
from alita_tui.spine.envelope import Envelope, decode, encode, from_builtins, to_builtins
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.history import History
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.text import one_line
from alita_tui.store import disk, journal_reader, kinds
from alita_tui.store.artefacts import SessionArtefacts, copied, folder_of
from alita_tui.store.following import Followed, Summaries
from alita_tui.store.forking import forked
from alita_tui.store.journal_reader import TORN, Restored
from alita_tui.store.lock import is_open
from alita_tui.store.log import LogStorage
from alita_tui.store.storage import Mode
from alita_tui.store.summaries import SessionSummary, Tally
from alita_tui.store.trash import Trash

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ()._-]{0,99}")

_DRAFT_SECONDS = 60.0
"""Age in seconds from which an unopened draft is abandoned; a finished one is closed just before its renaming."""

_GAP_LIMIT = 10_000
"""Widest gap of missing records that is filled in; a wider one is another kind of damage and stays."""


class SessionFile:
    """The durable envelopes of one session: a TinyDB file, table `events`, ids are sequence numbers.

    Implements `Recorder`. Opening and closing block; both belong in a thread.
    """

    def __init__(self, log: LogStorage[Envelope], path: Path, *, begun: bool = False) -> None:
        """With `begun` the file must have had at least one event."""
        self.path = path
        self._log = log
        meta = log.tables.get("meta", {}).get("1")
        self.session_id = str(meta["session_id"]) if isinstance(meta, dict) and "session_id" in meta else ""
        self.imported = isinstance(meta, dict) and meta.get("imported") is True
        """True if the session comes from elsewhere."""
        self._begun: list[Envelope] | None = None if self.session_id else log.take()
        if self._begun:
            self.session_id = self._begun[0].session_id
        self.session_id = self.session_id or path.stem
        missing, restored = log.last - log.count, log.restored
        lost = max(restored.discarded, missing)
        count = f"{lost} record{'s' if lost > 1 else ''}"
        losses = f"{'' if missing else 'at least '}{count} could not be restored"
        notes = [
            losses if lost and restored.note != TORN else "",
            restored.note,
            "its journal is missing" if begun and not log.count else "",
        ]
        self.restored = Restored(events=log.count, discarded=lost, note="; ".join(filter(None, notes)))
        """What could be restored on opening, and what could not."""
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="session-writer")

    @classmethod
    def create(cls, path: Path, session_id: str, *, imported: bool = False) -> SessionFile:
        """Create and return a session's file. Raises StoreError, also if there is one."""
        disk.make_folder(path.parent)
        if _exists(path):
            raise StoreError(f"There is a session file already: {path}.")
        about = {"session_id": session_id} | ({"imported": True} if imported else {})
        log = LogStorage(path, "events", _envelope, look=kinds.look, first={"meta": {"1": about}})
        return cls(log, path)

    @classmethod
    def open(cls, path: Path, *, readonly: bool = False) -> SessionFile:
        """Open and return a session's file, and repair what a crash left.

        Read-only takes no lock and writes nothing, so it also opens what another process has open. Raises UsageError if
        there is none, StoreLocked, StoreError.
        """
        _check_readable(path, readonly=readonly)
        alone = not journal_reader.journal_of(path).exists()
        mode: Mode = "readonly" if readonly else "exclusive"
        log = LogStorage(path, "events", _envelope, mode=mode, look=kinds.look)
        return cls(log, path, begun=alone)

    @property
    def last_seq(self) -> int:
        """The newest sequence number; 0 for an empty session."""
        return self._log.last

    def envelopes(self) -> tuple[Envelope, ...]:
        """Return every stored envelope in order, with an `UnknownEvent` for each missing one.

        They are not cached: a second call reads the file again. Raises StoreError.
        """
        stored, self._begun = self._begun or self._log.take(), None
        if len(stored) == (stored[-1].seq if stored else 0):
            return tuple(stored)
        return tuple(_gaps_filled(stored, self.session_id))

    def history(self) -> History:
        """Return the envelopes as a history that reads them when needed, while this is open. Raises StoreError."""
        if self._begun is None and self._log.at_hand and self._log.count == self._log.last:
            return History(stored=self)
        return History(self.envelopes())

    def followed(self) -> Followed | None:
        """Return the session's summary for incremental updates; None if part of the session is missing."""
        if self._begun is not None or not self._log.whole_from or self.restored.note:
            return None
        tally = Tally()
        tally.take_all(History(stored=self))
        json_at, end = self._log.whole_from
        return Followed(self.session_id, self.path, tally, json_at, end)

    def __len__(self) -> int:
        """Return the number of stored envelopes. With `reader` and `kind`, implements `Stored`."""
        return self._log.count

    def reader(self, *, ahead: bool = True) -> Callable[[int], Envelope]:
        """Return a function that reads the envelope at a place."""
        read = self._log.reader() if ahead else self._log.document

        def envelope(place: int) -> Envelope:
            raw, seq = read(place)
            try:
                return _envelope(raw, seq)
            except ValueError as error:
                raise StoreError(f"{self.path} was changed by another program while it was open.") from error

        return envelope

    def kind(self, place: int) -> str:
        """Return the kind of the event at a place; empty if it has to be read."""
        return kinds.tag(self._log.note(place))

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        """Store one durable envelope; with `barrier` it is on disk when this returns. Raises StoreError."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self._write, envelope, barrier)

    def close(self) -> None:
        """Write what is queued, fold the journal into the file, release the lock.

        Raises StoreError if it cannot be folded: then the journal stays and holds the new events.
        """
        self._writer.shutdown(wait=True)
        self._log.close()

    def fill(self, envelopes: Iterable[Envelope]) -> None:
        """Store many durable envelopes; they are on disk when this returns. Blocks. Raises StoreError."""
        rows: list[journal_reader.Operation] = []
        for expected, envelope in enumerate(envelopes, self._log.last + 1):
            if envelope.seq != expected:
                raise StoreError(f"{self.path}: event {envelope.seq} cannot follow event {expected - 1}.")
            rows.append(("put", "events", str(expected), _raw(envelope)))
        self._log.append(rows)

    def _write(self, envelope: Envelope, barrier: bool) -> None:
        if envelope.seq != self._log.last + 1:
            raise StoreError(f"{self.path}: event {envelope.seq} cannot follow event {self._log.last}.")
        self._log.append([("put", "events", str(envelope.seq), _raw(envelope))], barrier=barrier)


def _raw(envelope: Envelope) -> object:
    """Return the envelope as stored JSON; what strict JSON cannot hold is left to a lenient encoder."""
    try:
        return msgspec.Raw(encode(envelope))
    except UnicodeEncodeError:  # a lone surrogate
        return to_builtins(envelope)


def _envelope(raw: bytes, seq: int) -> Envelope:
    """Return a stored record as an envelope. Raises ValueError for invalid JSON."""
    envelope = decode(raw, seq=seq)
    if isinstance(envelope.event, UnknownEvent):
        envelope = from_builtins(journal_reader.load(raw), seq=seq)
    return envelope if envelope.seq == seq else msgspec.structs.replace(envelope, seq=seq)


def _gaps_filled(stored: Iterable[Envelope], session_id: str) -> Iterator[Envelope]:
    """Yield the records in order, with a placeholder for each missing one."""
    at, last_seq = datetime.fromtimestamp(0, UTC), 0
    for envelope in stored:
        seq = envelope.seq or 0
        if seq - last_seq <= _GAP_LIMIT:
            yield from (_gap(missing, session_id, at) for missing in range(last_seq + 1, seq))
        yield envelope
        at, last_seq = envelope.at, seq


class SessionStore:
    """The folder of sessions. Summaries are cached, and renewed for files that changed."""

    def __init__(self, folder: Path, clock: Clock = lambda: datetime.now(UTC)) -> None:
        self.folder = folder
        self._clock = clock
        self._summaries = Summaries(folder / "summaries.cache", _followed)
        self.trash = Trash(folder / "deleted")

    def new_id(self) -> str:
        """Return an unused id; ids sort by time, to the second."""
        while True:
            session_id = f"{self._clock():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
            if not _exists(self.path(session_id)):
                return session_id

    def path(self, session_id: str) -> Path:
        """Return where a session's file is or would be. Raises UsageError for an invalid id."""
        if not _ID.fullmatch(session_id):
            raise UsageError(f"{one_line(session_id, 60)!r} is not a session id.")
        return self.folder / f"{session_id}.json"

    def list(self) -> tuple[SessionSummary, ...]:
        """Return all sessions, newest first, unreadable ones included."""
        self._sweep()
        by_name = self._summaries.of(self.paths())
        summaries = [_as_filed(summary, self.folder / name) for name, summary in by_name.items()]
        return tuple(sorted(summaries, key=lambda summary: summary.session_id, reverse=True))

    def know(self, file: SessionFile) -> None:
        """Keep the summary of a session that was just opened up to date from now on."""
        self._summaries.follow(file.path, file.followed())

    def latest(self, *, own: bool = False) -> SessionSummary | None:
        """Return the session with the latest activity; with `own` none from elsewhere."""
        candidates = (summary for summary in self.list() if not (own and summary.imported))
        long_ago = datetime.fromtimestamp(0, UTC)
        return max(candidates, key=lambda one: one.last_activity or long_ago, default=None)

    def find(self, wanted: str) -> Path:
        """Return the file of a session by id, unique prefix of an id, or path. Raises UsageError."""
        as_path = Path(wanted).expanduser()
        if wanted.endswith(".json") and _exists(as_path):
            return as_path
        ids = sorted({path.stem for path in self.paths()})
        matches = [wanted] if wanted in ids else [known for known in ids if known.startswith(wanted)]
        if wanted and len(matches) == 1:
            return self.path(matches[0])
        if wanted and matches:
            raise UsageError(
                f"More than one session begins with {one_line(wanted, 60)!r}.",
                hint=f"It could be {', '.join(matches[-5:])}.",
            )
        raise UsageError(
            f"There is no session {one_line(wanted, 60)!r}.",
            hint=did_you_mean(wanted, ids, "`alita sessions` lists them."),
        )

    def find_own(self, wanted: str) -> Path:
        """Return the file of a session in this folder, as `find` does. Raises UsageError, also for one elsewhere."""
        path = self.find(wanted)
        if path.parent.resolve() != self.folder.resolve():
            raise from_elsewhere(str(path))
        return path

    def fork(self, wanted: str, at: int | None = None) -> str:
        """Begin a session with another one's events up to `at`; return its id.

        Raises UsageError if there is no such session or event, or it is from elsewhere, StoreError.
        """
        path = self.find_own(wanted)
        parent = SessionFile.open(path, readonly=True)
        try:
            envelopes = parent.envelopes()
        finally:
            parent.close()
        if parent.imported:
            raise from_elsewhere(parent.session_id)
        child = self.new_id()
        self.add(child, forked(envelopes, at, child, lambda: secrets.token_hex(5)))
        copied(path, self.path(child))
        return child

    def artefacts(self, wanted: str, most_bytes: int, *, reuse: bool = False) -> SessionArtefacts:
        """Return the artefacts of a session. Raises UsageError if there is no such session."""
        path = self.path(wanted) if _ID.fullmatch(wanted) else self.find(wanted)
        return SessionArtefacts(folder_of(path), most_bytes, reuse=reuse)

    def add(self, session_id: str, envelopes: Iterable[Envelope], *, imported: bool = False) -> str:
        """Add a whole session; return its id. Raises StoreError, leaving nothing.

        The verdicts of an `imported` one were given elsewhere and are in no audit log here.
        """
        path = self.path(session_id)
        if _exists(path):
            raise StoreError(f"There is a session file already: {path}.")
        draft = path.with_name(f".{path.name}")  # a killed process leaves no half-written session
        file = SessionFile.create(draft, session_id, imported=imported)
        try:
            try:
                file.fill(as_imported(envelopes) if imported else envelopes)
            finally:
                file.close()
            draft.replace(path)
            disk.sync_folder(self.folder)
        except BaseException as error:
            for leftover in _drafts_of(draft):
                leftover.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise disk.store_error("saved", path, error) from error
            raise
        return session_id

    def delete(self, wanted: str) -> str:
        """Move a session to the trash; return its id. `restore` brings it back.

        Raises UsageError, StoreLocked while a process has it open, StoreError.
        """
        path = self.find(wanted)
        if path.parent.resolve() != self.folder.resolve():
            raise UsageError(f"{path} is not in the folder of sessions; it is left as it is.")
        self.trash.put(path)
        return path.stem

    def restore(self, session_id: str) -> Path:
        """Bring a deleted session back; return its file. Raises UsageError, StoreError."""
        return self.trash.restore(self.path(session_id).stem, self.folder)

    def check_available(self, wanted: str) -> None:
        """Raise UsageError for an unknown session, StoreLocked for one open elsewhere, StoreError for what is none."""
        path = self.find(wanted)
        if is_open(path):
            SessionFile.open(path).close()
        _check_readable(path)

    def paths(self) -> set[Path]:
        """Return the files of all sessions, including those that only have a journal so far."""
        files = set(self.folder.glob("*.json"))
        orphans = {path.with_suffix("") for path in self.folder.glob("*.json.journal")}
        return {path for path in files | orphans if _ID.fullmatch(path.stem)}

    def _sweep(self) -> None:
        """Remove half-written files of killed processes: drafts that no process has open."""
        with suppress(OSError):
            for draft in (*self.folder.glob(".*.json"), *self.folder.glob(".*.json.journal")):
                base = draft.with_name(draft.name.removesuffix(".journal"))
                abandoned = time.time() - draft.stat().st_mtime > _DRAFT_SECONDS
                if abandoned and _ID.fullmatch(base.stem[1:]) and not is_open(base):
                    for leftover in _drafts_of(base):
                        leftover.unlink(missing_ok=True)
            for draft in self.folder.glob("*.json.tmp"):
                if not is_open(draft.with_suffix("")):
                    draft.unlink(missing_ok=True)


def _drafts_of(path: Path) -> tuple[Path, ...]:
    return (path, journal_reader.journal_of(path), path.with_name(f"{path.name}.tmp"))


def _exists(path: Path) -> bool:
    return path.exists() or journal_reader.journal_of(path).exists()


def _check_readable(path: Path, *, readonly: bool = False) -> None:
    """Raise UsageError if there is no file, StoreError if it cannot be read or, unless `readonly`, is no session."""
    if not _exists(path):
        raise UsageError(f"There is no session file {path}.", hint="`alita sessions` lists them.")
    disk.refuse_special(path)
    try:
        is_session = readonly or _was_session(path)
    except OSError as error:
        raise disk.store_error("opened", path, error) from error
    if not is_session:
        raise StoreError(f"{path} is not a session file, or nothing in it can be read; it is left as it is.")


def _was_session(path: Path) -> bool:
    """Return False for a file that never was a session: a repair would destroy it."""
    if journal_reader.journal_of(path).exists() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        if f'{{\n"{journal_reader.ABOUT}":'.encode() in file.read(100):
            return True
    return bool(journal_reader.read(path).tables.keys() & {"events", "meta", journal_reader.ABOUT})


def _followed(path: Path) -> Followed | None:
    """Return the summary of a session's file for incremental updates; None if the file is not complete."""
    try:
        file = SessionFile.open(path, readonly=True)
    except (StoreError, UsageError):
        return None
    try:
        return file.followed()
    finally:
        file.close()


def _as_filed(summary: SessionSummary, path: Path) -> SessionSummary:
    """Return a summary with the file's own data: whether it is open, and its name, which differs in a copy."""
    if summary.session_id != path.stem:
        summary = msgspec.structs.replace(summary, session_id=path.stem)
    if is_open(path) and summary.state != "unreadable":
        return msgspec.structs.replace(summary, state="open")
    return summary


def _gap(seq: int, session_id: str, at: datetime) -> Envelope:
    reason = "the record was damaged on disk"
    return Envelope(seq=seq, session_id=session_id, at=at, event=UnknownEvent(raw="", reason=reason))


def as_imported(envelopes: Iterable[Envelope]) -> Iterator[Envelope]:
    """Yield a session from elsewhere, always marked as imported."""
    for index, envelope in enumerate(envelopes):
        if index == 0 and isinstance(envelope.event, SessionOpened):
            opened = msgspec.structs.replace(envelope.event, imported=True)
            envelope = msgspec.structs.replace(envelope, event=opened)
        yield envelope


def from_elsewhere(session: str) -> UsageError:
    """Return the error for continuing a session whose verdicts and evidence are not those of this home."""
    return UsageError(
        f"The session {one_line(session, 200)} comes from elsewhere: what was approved there is not approved here, "
        "so it does not go on.",
        hint=f"Look at it: alita replay {one_line(session, 200)}. To continue, give its task to a session of your own.",
    )
