"""The audit log: every verdict, in a file where each entry is signed and holds the hash of the one before.

Two signed heads say how far the log goes (`store/heads.py`). A change, a removal, an insertion, a cut or an older
copy contradicts one of them, and then nothing in the log is relied on. Whoever has the key as well can write
another log; only a head that was anchored elsewhere shows that.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from alita_tui.events import (
    ApprovalRequested,
    ApprovalResolved,
    Capabilities,
    SessionClosed,
    SessionOpened,
    SessionResumed,
)
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError
from alita_tui.spine.history import of
from alita_tui.spine.ports.stream import Clock
from alita_tui.store import disk
from alita_tui.store.chain import Chain, read_chain
from alita_tui.store.entry import ADOPTED, BEGUN_ANEW, GENESIS, REPAIRED, SIGNED, AuditEntry
from alita_tui.store.heads import Head, Heads
from alita_tui.store.judged import Reading, judged
from alita_tui.store.seal import Seal, new_key, public_of, sign, verifier

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["GENESIS", "AuditEntry", "AuditLog", "Reading"]

_HINT = "`alita audit verify` says what is wrong, `alita audit repair` what can be done about it."


class AuditLog:
    """The file `audit.jsonl`; several processes may append to it. All calls block and may raise StoreError."""

    def __init__(self, path: Path, key_folder: Path, clock: Clock = lambda: datetime.now(UTC)) -> None:
        """`key_folder` holds the key and the second head, apart from the data."""
        self._path = path
        self._clock = clock
        self._seal = Seal(key_folder)
        self._heads = Heads(path.with_suffix(".head"), key_folder / "head")
        self._last: Reading | None = None
        self._guard = threading.RLock()  # the engine calls from its loop and from threads

    # --- reading

    def reading(self) -> Reading:
        """Return the log as it is now; the same object as long as log and heads are the same, byte for byte."""
        with self._guard:
            reading = self._look()
            if reading.problems and self._path.exists():
                with suppress(OSError), self._locked():  # another process was half way through a write
                    reading = self._look()
            return reading

    def entries(self) -> tuple[AuditEntry, ...]:
        """Return every readable entry, oldest first, even if the log cannot be relied on."""
        return tuple(self.reading().chain.entries)

    def verify(self) -> list[str]:
        """Return what is wrong, one line each, after checking every signature anew."""
        with self._guard:
            reading = self._look(fully=True)
            if reading.problems and self._path.exists():
                with suppress(OSError), self._locked():
                    reading = self._look(fully=True)
            return list(reading.problems)

    def head(self) -> Head | None:
        """Return how far the log goes, signed; None if nothing was signed yet. Raises StoreError if it is broken."""
        self.settle()
        reading = self.reading()
        return reading.heads[-1] if reading.heads else None

    # --- writing

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
        move: str = "",
        before: str = "",
        after: str = "",
    ) -> AuditEntry:
        """Add one entry; it is on disk when this returns. Raises StoreError, also if the log is broken."""
        bare = AuditEntry(
            sequence=0,
            at=self._clock().isoformat(),
            previous="",
            who=_storable(who),
            verdict=verdict,
            digest=digest,
            name=_storable(name),
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
            move=move,
            before=_storable(before),
            after=_storable(after),
        )
        with self._writing() as fd:
            private, reading = self._taken_up(fd)
            # A build is decided once: entering a verdict again returns the entry that is there.
            earlier = (entry for entry in reversed(reading.chain.entries) if entry.approval_id == approval_id)
            if session_id and (same := next((entry for entry in earlier if _same(entry, bare)), None)):
                return same
            return self._write(fd, reading, private, bare)

    def enter(
        self,
        session_id: str,
        request: ApprovalRequested,
        verdict: ApprovalResolved,
        evidence: tuple[str, ...] = (),
    ) -> AuditEntry:
        """Add the verdict that a session has recorded. Raises StoreError."""
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
        """Enter verdicts that a crash kept from being entered; return their approval ids. Raises StoreError.

        A session records a verdict before it is entered here, so one of its last run can be missing. Earlier ones are
        left alone: they may belong to the session that this one was forked from.
        """
        asked: dict[str, ApprovalRequested] = {}
        given: list[ApprovalResolved] = []
        kinds = (ApprovalRequested, ApprovalResolved, SessionOpened, SessionResumed, SessionClosed)
        for envelope in of(history, *kinds):
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
        missing = [
            verdict for verdict in given if verdict.approval_id in asked and verdict.approval_id not in known
        ]
        for verdict in missing:
            self.enter(session_id, asked[verdict.approval_id], verdict)
        return tuple(verdict.approval_id for verdict in given)

    def settle(self) -> None:
        """Create the key, adopt entries of an older alita, and include in the heads what a crash left out."""
        reading = self.reading()
        if reading.behind or not reading.public:
            with self._writing() as fd:
                self._taken_up(fd)

    def repair(self, copies: Iterable[bytes] = ()) -> str:
        """Repair a broken log; return what was done, or an empty string if nothing was wrong.

        `copies` are whole logs from elsewhere, such as backups; one is used if it is exactly what both heads name.
        Otherwise entries beyond the heads are cut off; if something is missing or was changed, a new log begins, and
        everything has to be approved anew. The old log is kept aside.
        """
        with self._writing() as fd:
            reading = self._look(fully=True)
            if not reading.problems:
                self._taken_up(fd)
                return ""
            aside = disk.set_aside(self._path)
            intact = next((copy for copy in (reading.raw, *copies) if reading.counts(copy)), None)
            private = self._seal.private()
            if intact is not None and private is not None:
                content = intact[: max(head.size for head in reading.claimed)]
                _replace(fd, content)
                done, verdict = "what is on record was brought back, what is not was cut off", REPAIRED
            else:
                content, verdict = b"", BEGUN_ANEW
                done = "a new log was begun: every tool has to be approved anew"
                if private is None:
                    private = new_key()
                _replace(fd, b"")
                self._seal.keep(private)
                self._heads.write(self._signed_head(private, Chain(), b""))
            chain = read_chain(content, public_of(private))
            if chain.problems:
                raise StoreError(f"{aside} could not be mended: {chain.problems[0]}.")
            now = self._look()
            digest = sha256(reading.raw).hexdigest()
            self._write(fd, now, private, _upkeep(verdict, self._clock(), digest, reading.problems[0]))
            return f"The damaged log is kept as {aside.name}; {done}."

    # --- signing for others

    def signed(self, kind: str, text: str) -> str:
        """Return a signature (hex) of this home over a text of this kind. Raises StoreError."""
        with self._writing() as fd:
            private, _ = self._taken_up(fd)
        return sign(private, kind, text)

    def vouched(self, kind: str, text: str, signature: str) -> bool:
        """Return True if this home signed that text as this kind."""
        public = self._seal.public or self.reading().public
        return bool(public) and verifier(public, kind)(text, signature)

    # --- internals

    def _look(self, *, fully: bool = False) -> Reading:
        """Read the heads first, the log second: the log may be ahead of them, and is never read behind them."""
        heads_raw = self._heads.raw()
        raw = disk.read_bytes(self._path) or b""
        last = self._last
        if not fully and last is not None and last.heads_raw == heads_raw and last.raw == raw:
            return last
        self._last = judged(raw, heads_raw, self._heads, self._seal.public, fully=fully)
        return self._last

    def _taken_up(self, fd: int) -> tuple[Ed25519PrivateKey, Reading]:
        """Return the key and the log, created or brought up to date if needed. Raises StoreError if it is broken."""
        reading = self._look()
        if reading.problems:
            raise StoreError(
                f"The audit log {self._path} is not to be relied on: {reading.problems[0]}.", hint=_HINT
            )
        private = self._seal.private()
        if private is None:
            if reading.chain.signed:
                raise StoreError(
                    f"The key that signs the audit log {self._path} cannot be reached.",
                    hint="Unlock the keyring and try again. Where the key is lost for good: alita audit repair",
                )
            private = new_key()  # before it is stored: a head without its key is that of a log never signed
            self._heads.write(self._signed_head(private, reading.chain, reading.raw))
            self._seal.keep(private)
            reading = self._look()
        if reading.chain.entries and not reading.chain.signed:
            text = f"{len(reading.chain.entries)} entries of an older alita, chained and not signed"
            self._write(fd, reading, private, _upkeep(ADOPTED, self._clock(), "", text))
            reading = self._look()
        elif len(reading.heads) < 2 or any(head.size != reading.chain.size for head in reading.heads):
            self._count(private, reading)
            reading = self._look()
        return private, reading

    def _write(self, fd: int, reading: Reading, private: Ed25519PrivateKey, bare: AuditEntry) -> AuditEntry:
        chain, size = reading.chain, len(reading.raw)
        # A torn tail is ended, not removed: nothing ever leaves this file.
        ending = b"" if chain.ended else b"\n"
        if bare.verdict == ADOPTED:
            bare = msgspec.structs.replace(bare, digest=sha256(reading.raw + ending).hexdigest())
        bare = msgspec.structs.replace(
            bare,
            sequence=chain.sequence + 1,
            previous=chain.previous,
            format=SIGNED,
            key=public_of(private),
        )
        hashed = msgspec.structs.replace(bare, hash=bare.own_hash)
        entry = msgspec.structs.replace(hashed, signature=sign(private, "audit entry", hashed.hash))
        try:
            disk.write_all(fd, ending + entry.line + b"\n", size)
            os.fsync(fd)
        except OSError:
            os.ftruncate(fd, size)
            raise
        self._count(private, self._look())
        return entry

    def _count(self, private: Ed25519PrivateKey, reading: Reading) -> None:
        """Extend the heads to the whole log. If that fails, the entry is on record and the next one extends them."""
        with suppress(OSError, StoreError):
            self._heads.write(self._signed_head(private, reading.chain, reading.raw))

    def _signed_head(self, private: Ed25519PrivateKey, chain: Chain, raw: bytes) -> Head:
        bare = Head(
            sequence=chain.sequence,
            hash=chain.previous,
            size=chain.size,
            digest=sha256(memoryview(raw)[: chain.size]).hexdigest(),
            at=self._clock().isoformat(),
            key=public_of(private),
        )
        return msgspec.structs.replace(bare, signature=sign(private, "audit head", bare.text))

    @contextmanager
    def _writing(self) -> Iterator[int]:
        """Lock the log and return its descriptor. Raises StoreError."""
        disk.make_folder(self._path.parent)
        try:
            with self._guard, self._locked() as fd:
                yield fd
        except OSError as error:
            raise disk.store_error("saved", self._path, error) from error

    @contextmanager
    def _locked(self) -> Iterator[int]:
        known = self._path.exists()
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, disk.PRIVATE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if not known:
                disk.sync_folder(self._path.parent)
            yield fd
        finally:
            os.close(fd)


def _same(entry: AuditEntry, bare: AuditEntry) -> bool:
    """Return True if an entry is the same session's verdict on the same build."""
    wanted = (bare.session_id, bare.verdict, bare.digest)
    return (entry.session_id, entry.verdict, entry.digest) == wanted


def _replace(fd: int, raw: bytes) -> None:
    os.ftruncate(fd, 0)
    disk.write_all(fd, raw, 0)
    os.fsync(fd)


def _upkeep(verdict: str, at: datetime, digest: str, reason: str) -> AuditEntry:
    return AuditEntry(
        sequence=0, at=at.isoformat(), previous="", who="alita", verdict=verdict, digest=digest, name="",
        version=0, session_id="", approval_id="", reason=_storable(reason), via="",
    )  # fmt: skip


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
