"""Every verdict on every build, in a file where each entry carries the hash of the one before.

Changing, removing or inserting an entry breaks the chain. A chain alone cannot tell that its
newest entries were cut off; the sessions, which hold the same verdicts, can.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from alita_tui.spine.envelope import Envelope
from alita_tui.spine.events import (
    ApprovalRequested,
    ApprovalResolved,
    SessionClosed,
    SessionOpened,
    SessionResumed,
)
from alita_tui.spine.ports import Clock
from alita_tui.spine.values import Capabilities, Value
from alita_tui.store import disk

GENESIS = "0" * 64
"""What the first entry names as the one before it."""

_BEGINNING = len(b'{"sequence":1')
"""Bytes that a line needs to tell which entry it was to be."""


class AuditEntry(Value, frozen=True):
    """One verdict."""

    sequence: int
    at: str
    """ISO 8601, UTC."""
    previous: str
    """Hash of the entry before."""
    who: str
    verdict: str
    digest: str
    name: str
    version: int
    session_id: str
    approval_id: str
    reason: str = ""
    seen_ms: float = 0.0
    scrolled_to_end: bool = False
    via: str = "console"
    tags: tuple[str, ...] = ()
    lasting: str = "library"
    grants: tuple[str, ...] | None = None
    """What was granted of what it asks for, as in `Capabilities.items`; None for all of it."""
    banned: tuple[str, ...] = ()
    alias: str = ""
    """For a build: the tool that its name became another name of. For a tool: the other name."""
    evidence: tuple[str, ...] = ()
    """What could be seen of the build, one finding a line."""
    hash: str = ""
    """SHA-256 over this entry's JSON with sorted keys and without this field."""

    @property
    def on_build(self) -> bool:
        """True for a verdict on a build, false for what was done with a registered tool later."""
        return bool(self.session_id)

    @property
    def on_screen(self) -> bool:
        """True for a verdict that was given on the build's review."""
        return self.on_build and self.via == "console"

    @property
    def own_hash(self) -> str:
        """What `hash` has to be."""
        bare = msgspec.structs.replace(self, hash="")
        return sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()


class AuditLog:
    """The file `audit.jsonl`; several processes may append to it. All calls block."""

    def __init__(self, path: Path, clock: Clock = lambda: datetime.now(UTC)) -> None:
        self._path = path
        self._clock = clock

    def append(
        self,
        *,
        who: str,
        verdict: str,
        digest: str,
        name: str,
        version: int,
        session_id: str,
        approval_id: str,
        reason: str = "",
        seen_ms: float = 0.0,
        scrolled_to_end: bool = False,
        via: str = "console",
        tags: tuple[str, ...] = (),
        lasting: str = "library",
        grants: Capabilities | None = None,
        banned: tuple[str, ...] = (),
        alias: str = "",
        evidence: tuple[str, ...] = (),
    ) -> AuditEntry:
        """Add one verdict; on disk when it returns. Raises StoreError."""
        disk.make_folder(self._path.parent)
        try:
            with self._locked() as fd:
                size = os.fstat(fd).st_size
                whole, torn, last = _tail(fd, size)
                bare = AuditEntry(
                    sequence=last.sequence + 1 if last else 1,
                    at=self._clock().isoformat(),
                    previous=last.hash if last else GENESIS,
                    who=who,
                    verdict=verdict,
                    digest=digest,
                    name=name,
                    version=version,
                    session_id=session_id,
                    approval_id=approval_id,
                    reason=_storable(reason),
                    tags=tuple(map(_storable, tags)),
                    lasting=lasting,
                    grants=None if grants is None else grants.items,
                    banned=tuple(map(_storable, banned)),
                    alias=_storable(alias),
                    evidence=tuple(map(_storable, evidence)),
                    seen_ms=float(seen_ms),  # a whole number would be read back as another text
                    scrolled_to_end=scrolled_to_end,
                    via=via,
                )
                entry = msgspec.structs.replace(bare, hash=bare.own_hash)
                line = msgspec.json.encode(entry) + b"\n"
                try:
                    # A torn tail is ended, not removed: nothing ever leaves this file.
                    disk.write_all(fd, b"\n" + line if torn else line, whole)
                    os.fsync(fd)
                except OSError:
                    os.ftruncate(fd, size)
                    raise
                return entry
        except OSError as error:
            raise disk.store_error("saved", self._path, error) from error

    def enter(
        self,
        session_id: str,
        request: ApprovalRequested,
        verdict: ApprovalResolved,
        evidence: tuple[str, ...] = (),
    ) -> AuditEntry:
        """Add the verdict that a session has on record. Raises StoreError."""
        return self.append(
            who=verdict.by,
            verdict=verdict.verdict,
            digest=verdict.digest,
            name=request.name,
            version=request.version,
            session_id=session_id,
            approval_id=verdict.approval_id,
            reason=verdict.reason,
            seen_ms=verdict.seen_ms,
            scrolled_to_end=verdict.scrolled_to_end,
            via=verdict.via,
            tags=verdict.tags,
            lasting=verdict.lasting,
            grants=verdict.grants,
            banned=verdict.banned,
            alias=verdict.alias_of.label if verdict.alias_of else "",
            evidence=evidence,
        )

    def catch_up(self, session_id: str, history: Iterable[Envelope]) -> tuple[str, ...]:
        """Enter what a crash kept out of here, and name its approvals. Raises StoreError.

        The session's record comes first and the entry here second, so a verdict of its last run can be
        missing. Earlier ones are left alone: they may be those of the session that it was forked from.
        """
        asked: dict[str, ApprovalRequested] = {}
        given: list[ApprovalResolved] = []
        for envelope in history:
            match envelope.event:
                case ApprovalRequested() as request:
                    asked[request.approval_id] = request
                case ApprovalResolved(by=by) as verdict if by:
                    given.append(verdict)
                case SessionOpened() | SessionResumed() | SessionClosed():
                    given = []
                case _:
                    pass
        if not given:
            return ()
        known = {entry.approval_id for entry in self.entries()}
        missing = [one for one in given if one.approval_id in asked and one.approval_id not in known]
        for verdict in missing:
            self.enter(session_id, asked[verdict.approval_id], verdict)
        return tuple(verdict.approval_id for verdict in given)

    def mark(self) -> tuple[int, int] | None:
        """Another value whenever the file is another; None where there is none."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def entries(self) -> tuple[AuditEntry, ...]:
        """Every entry that can be read, oldest first. Raises StoreError."""
        return tuple(entry for line in self._lines() if (entry := _entry(line)) is not None)

    def verify(self) -> list[str]:
        """What is wrong with the chain, one line per problem; empty when it holds. Raises StoreError."""
        problems: list[str] = []
        previous, sequence = GENESIS, 0
        lines = self._lines()
        for number, line in enumerate(lines, 1):
            entry = _entry(line)
            if entry is None:
                cut = line.startswith(b'{"sequence":%d,' % (sequence + 1)) or len(line) < _BEGINNING
                if number == len(lines) and not self._ended():
                    problems.append(f"line {number} was cut off while it was written")
                elif not cut:  # a cut one was written again, or the chain below says that it was not
                    problems.append(f"line {number} cannot be read")
                continue
            if entry.own_hash != entry.hash:
                problems.append(f"line {number}: entry {entry.sequence} was changed after it was written")
            if entry.previous != previous:
                problems.append(f"line {number}: entry {entry.sequence} does not follow the one before it")
            if entry.sequence != sequence + 1:
                problems.append(f"line {number}: entry {sequence} is followed by entry {entry.sequence}")
            previous, sequence = entry.hash, entry.sequence
        return problems

    def _lines(self) -> list[bytes]:
        return [line for line in (disk.read_bytes(self._path) or b"").split(b"\n") if line]

    def _ended(self) -> bool:
        return (disk.read_bytes(self._path) or b"\n").endswith(b"\n")

    @contextmanager
    def _locked(self) -> Iterator[int]:
        known = self._path.exists()
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, disk.PRIVATE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if not known:
                disk.sync_folder(self._path.parent)
            yield fd
        finally:
            os.close(fd)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _entry(line: bytes) -> AuditEntry | None:
    try:
        return msgspec.json.decode(line, type=AuditEntry)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _tail(fd: int, size: int) -> tuple[int, bool, AuditEntry | None]:
    """Where to write on, whether the last line is torn, and the last entry that can be read."""
    raw, block = b"", 64 * 1024
    while len(raw) < size:
        raw = os.pread(fd, min(block, size), max(0, size - block))
        lines = raw.split(b"\n") if len(raw) >= size else raw.split(b"\n")[1:]
        for line in reversed(lines):
            if (entry := _entry(line)) is not None:
                return size, not raw.endswith(b"\n"), entry
        block *= 4
    return size, size > 0 and not raw.endswith(b"\n"), None
