"""The audit log: every verdict, in a file where each entry is signed and holds the hash of the one before.

Two signed heads record the log's length (`store/heads.py`). A change, a removal, an insertion, a cut or an older
copy contradicts one of them, and then nothing in the log is relied on. With the key, another log can be written;
only a head that was anchored elsewhere reveals that.
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
from typing import TYPE_CHECKING, Any

import msgspec

from alita_tui.events import (
    ApprovalRequested,
    ApprovalResolved,
    SessionOpened,
    SessionResumed,
)
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError
from alita_tui.spine.history import of
from alita_tui.spine.ports.stream import Clock
from alita_tui.store import disk
from alita_tui.store.carried import prohibitions
from alita_tui.store.chain import Chain, read_chain
from alita_tui.store.entry import ADOPTED, BEGUN_ANEW, GENESIS, REPAIRED, SIGNED, AuditEntry
from alita_tui.store.heads import Head, Heads
from alita_tui.store.log_check import CheckedLog, check_log
from alita_tui.store.seal import Seal, new_key, public_of, sign, verifier

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["GENESIS", "AuditEntry", "AuditLog", "CheckedLog"]

_KEY_IN_FILE = (
    "Its new key is in {}, because no keyring took it. If a keyring that is locked now has the older key, that key "
    "counts again once it is unlocked, and no tool runs: then run `alita audit repair` once more."
)
_HINT = "`alita audit verify` says what is wrong, `alita audit repair` what can be done about it."


class AuditLog:
    """The file `audit.jsonl`; several processes may append to it. All calls block and may raise StoreError."""

    def __init__(self, path: Path, key_folder: Path, clock: Clock = lambda: datetime.now(UTC)) -> None:
        """`key_folder` holds the key and the second head, apart from the data."""
        self._path = path
        self._clock = clock
        self._seal = Seal(key_folder)
        self._heads = Heads(path.with_suffix(".head"), key_folder / "head")
        self._last: CheckedLog | None = None
        self._guard = threading.RLock()  # the engine calls from its loop and from threads

    # --- reading

    def checked(self) -> CheckedLog:
        """Return the log as it is now; the same object as long as log and heads are the same, byte for byte."""
        with self._guard:
            log = self._look()
            if log.problems and self._path.exists():
                with suppress(OSError), self._locked():  # another process was half way through a write
                    log = self._look()
            return log

    def entries(self) -> tuple[AuditEntry, ...]:
        """Return every readable entry, oldest first, even if the log cannot be relied on."""
        return tuple(self.checked().chain.entries)

    def verify(self) -> list[str]:
        """Return the problems, one line each, after checking every signature again."""
        with self._guard:
            log = self._look(fully=True)
            if log.problems and self._path.exists():
                with suppress(OSError), self._locked():
                    log = self._look(fully=True)
            return list(log.problems)

    def head(self) -> Head | None:
        """Return the log's signed head; None if nothing was signed yet. Raises StoreError if the log is broken."""
        self.settle()
        log = self.checked()
        return log.heads[-1] if log.heads else None

    # --- writing

    def append(self, entry: AuditEntry) -> AuditEntry:
        """Sign and add one entry; return it as it is on disk. Raises StoreError, also if the log is broken."""
        unsigned = _storable(msgspec.structs.replace(entry, at=self._clock().isoformat()))
        with self._writing() as fd:
            private, log = self._ready_to_write(fd)
            # A build is decided once: entering a verdict again returns the existing entry.
            duplicates = (
                duplicate for duplicate in reversed(log.chain.entries) if duplicate.same_verdict(unsigned)
            )
            if unsigned.session_id and (duplicate := next(duplicates, None)):
                return duplicate
            return self._write(fd, log, private, unsigned)

    def enter(
        self,
        session_id: str,
        request: ApprovalRequested,
        resolved: ApprovalResolved,
        evidence: tuple[str, ...] = (),
    ) -> AuditEntry:
        """Add the verdict that a session has recorded; return the entry. Raises StoreError."""
        return self.append(AuditEntry.of_verdict(session_id, request, resolved, evidence))

    def catch_up(self, session_id: str, history: Iterable[Envelope]) -> tuple[str, ...]:
        """Enter verdicts that were not entered because of a crash; return their approval ids. Raises StoreError.

        A session records a verdict before it is entered here, so one of its last run can be missing: the process was
        killed, or gave up because the disk was full. Earlier runs are left alone, and so is what a fork has from its
        parent. Only what this home signed for this log counts: a session's file can be written by anyone.
        """
        requests: dict[str, ApprovalRequested] = {}
        decided: list[ApprovalResolved] = []
        kinds = (ApprovalRequested, ApprovalResolved, SessionOpened, SessionResumed)
        copied = 0
        for envelope in of(history, *kinds):
            match envelope.event:
                case ApprovalRequested() as request:
                    requests[request.approval_id] = request
                case ApprovalResolved(approval_id=approval_id) as resolved if resolved.verdict.by:
                    own = approval_id in requests and self._is_own(requests[approval_id], resolved)
                    if own and (envelope.seq or 0) > copied:
                        decided.append(resolved)
                case SessionOpened(parent_seq=parent_seq):
                    copied = parent_seq
                case SessionResumed():
                    decided = []
                case _:
                    pass
        if not decided:
            return ()
        entered = {entry.approval_id for entry in self.entries()}
        for resolved in decided:
            if resolved.approval_id not in entered:
                self.enter(session_id, requests[resolved.approval_id], resolved)
        return tuple(resolved.approval_id for resolved in decided)

    def sign_verdict(self, request: ApprovalRequested, resolved: ApprovalResolved) -> ApprovalResolved:
        """Return a verdict with this home's signature over what is entered of it. Raises StoreError."""
        signature = self.signed("verdict", _signed_text(request, resolved, self._begun()))
        return msgspec.structs.replace(resolved, signature=signature)

    def has(self, approval_id: str, digest: str, verdict: str) -> bool:
        """Return True if this verdict on these bytes is on record."""
        wanted = (approval_id, digest, verdict)
        return any((entry.approval_id, entry.digest, entry.verdict) == wanted for entry in self.entries())

    def _is_own(self, request: ApprovalRequested, resolved: ApprovalResolved) -> bool:
        return self.vouched("verdict", _signed_text(request, resolved, self._begun()), resolved.signature)

    def _begun(self) -> str:
        """Return the hash of the entry with which a damaged log was begun anew; empty for a home's first log."""
        first = next(iter(self.checked().chain.entries), None)
        return first.hash if first and first.verdict == BEGUN_ANEW else ""

    def settle(self) -> None:
        """Create the key, adopt entries of an older alita, and include in the heads what a crash left out."""
        log = self.checked()
        if log.behind or not log.public:
            with self._writing() as fd:
                self._ready_to_write(fd)

    def repair(self, copies: Iterable[bytes] = ()) -> str:
        """Repair a broken log; return what was done, or an empty string if nothing was wrong.

        `copies` are whole logs from elsewhere, such as backups; one is used if it is exactly what both heads name.
        Otherwise entries beyond the heads are cut off; if something is missing or was changed, a new log begins, and
        everything has to be approved again. Bans and revocations that can be read anywhere still hold. The old log is
        kept aside.
        """
        copies = tuple(copies)
        with self._writing() as fd:
            log = self._look(fully=True)
            if not log.problems:
                self._ready_to_write(fd)
                return ""
            aside = disk.set_aside(self._path)
            intact = next((copy for copy in (log.raw, *copies) if log.counts(copy)), None)
            private = self._seal.private()
            if intact is not None and private is not None:
                content = intact[: max(head.size for head in log.claimed)]
                _replace(fd, content)
                outcome, verdict = "what is on record was brought back, what is not was cut off", REPAIRED
            else:
                content, verdict = b"", BEGUN_ANEW
                outcome = "a new log was begun: every tool has to be approved anew"
                unreachable = private is None
                private = private or new_key()
                _replace(fd, b"")
                self._seal.keep(private)
                if unreachable and self._seal.path.exists():
                    outcome += f". {_KEY_IN_FILE.format(self._seal.path)}"
                self._heads.write(self._signed_head(private, Chain(), b""))
            chain = read_chain(content, public_of(private))
            if chain.problems:
                raise StoreError(f"{aside} could not be mended: {chain.problems[0]}.")
            current = self._look()
            digest = sha256(log.raw).hexdigest()
            upkeep = _upkeep(verdict, self._clock(), digest, log.problems[0])
            here = {entry.hash for entry in chain.entries}
            forbidden = prohibitions((*reversed(copies), log.raw, content), log.public)
            self._write(fd, current, private, upkeep, *(one for one in forbidden if one.hash not in here))
            return f"The damaged log is kept as {aside.name}; {outcome.rstrip('.')}."

    # --- signing for others

    def signed(self, kind: str, text: str) -> str:
        """Return a signature (hex) of this home over a text of this kind. Raises StoreError."""
        with self._writing() as fd:
            private, _ = self._ready_to_write(fd)
        return sign(private, kind, text)

    def vouched(self, kind: str, text: str, signature: str) -> bool:
        """Return True if this home signed that text as this kind."""
        public = self._seal.public or self.checked().public
        return bool(public) and verifier(public, kind)(text, signature)

    # --- internals

    def _look(self, *, fully: bool = False) -> CheckedLog:
        """Return the log. The heads are read first: the log may be ahead of them, and is never read behind them."""
        heads_raw = self._heads.raw()
        raw = disk.read_bytes(self._path) or b""
        last = self._last
        if not fully and last is not None and last.heads_raw == heads_raw and last.raw == raw:
            return last
        self._last = check_log(raw, heads_raw, self._heads, self._seal.public, fully=fully)
        return self._last

    def _ready_to_write(self, fd: int) -> tuple[Ed25519PrivateKey, CheckedLog]:
        """Return the key and the log, created or brought up to date if needed. Raises StoreError if it is broken."""
        log = self._look()
        if log.problems:
            raise StoreError(
                f"The audit log {self._path} is not to be relied on: {log.problems[0]}.", hint=_HINT
            )
        private = self._seal.private()
        if private is None:
            if log.chain.signed:
                raise StoreError(
                    f"The key that signs the audit log {self._path} cannot be reached.",
                    hint="Unlock the keyring and try again. Where the key is lost for good: alita audit repair",
                )
            private = new_key()  # before it is stored: a head without its key is that of a log never signed
            self._heads.write(self._signed_head(private, log.chain, log.raw))
            self._seal.keep(private)
            log = self._look()
        if log.chain.entries and not log.chain.signed:
            text = f"{len(log.chain.entries)} entries of an older alita, chained and not signed"
            self._write(fd, log, private, _upkeep(ADOPTED, self._clock(), "", text))
            log = self._look()
        elif len(log.heads) < 2 or any(head.size != log.chain.size for head in log.heads):
            self._extend_heads(private, log)
            log = self._look()
        return private, log

    def _write(
        self, fd: int, log: CheckedLog, private: Ed25519PrivateKey, *entries: AuditEntry
    ) -> AuditEntry:
        """Add entries in one write; return the last one."""
        chain, size = log.chain, len(log.raw)
        # A torn tail is ended, not removed: nothing ever leaves this file.
        content = b"" if chain.ended else b"\n"
        previous, signed = chain.previous, entries[-1]
        for sequence, entry in enumerate(entries, chain.sequence + 1):
            if entry.verdict == ADOPTED:
                entry = msgspec.structs.replace(entry, digest=sha256(log.raw + content).hexdigest())
            entry = msgspec.structs.replace(
                entry, sequence=sequence, previous=previous, format=SIGNED, key=public_of(private)
            )
            hashed = msgspec.structs.replace(entry, hash=entry.own_hash)
            signed = msgspec.structs.replace(hashed, signature=sign(private, "audit entry", hashed.hash))
            content, previous = content + signed.line + b"\n", signed.hash
        try:
            disk.write_all(fd, content, size)
            os.fsync(fd)
        except OSError:
            os.ftruncate(fd, size)
            raise
        self._extend_heads(private, self._look())
        return signed

    def _extend_heads(self, private: Ed25519PrivateKey, log: CheckedLog) -> None:
        """Extend the heads to the whole log. If that fails, the entry is on record and the next one extends them."""
        with suppress(OSError, StoreError):
            self._heads.write(self._signed_head(private, log.chain, log.raw))

    def _signed_head(self, private: Ed25519PrivateKey, chain: Chain, raw: bytes) -> Head:
        head = Head(
            sequence=chain.sequence,
            hash=chain.previous,
            size=chain.size,
            digest=sha256(memoryview(raw)[: chain.size]).hexdigest(),
            at=self._clock().isoformat(),
            key=public_of(private),
        )
        return msgspec.structs.replace(head, signature=sign(private, "audit head", head.text))

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
        existed = self._path.exists()
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, disk.PRIVATE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if not existed:
                disk.sync_folder(self._path.parent)
            yield fd
        finally:
            os.close(fd)


def _signed_text(request: ApprovalRequested, resolved: ApprovalResolved, begun: str) -> str:
    """Return the entry that a verdict becomes, without its session: a fork has its parent's verdicts.

    With `begun` it counts for the log that begins with this entry only: an approval from before must not come back.
    """
    text = _storable(AuditEntry.of_verdict("", request, resolved)).line.decode()
    return f"{text}\n{begun}" if begun else text


def _replace(fd: int, raw: bytes) -> None:
    os.ftruncate(fd, 0)
    disk.write_all(fd, raw, 0)
    os.fsync(fd)


def _upkeep(verdict: str, at: datetime, digest: str, reason: str) -> AuditEntry:
    entry = AuditEntry(
        at=at.isoformat(), who="alita", verdict=verdict, digest=digest, name="", version=0, session_id="",
        approval_id="", reason=reason, via="",
    )  # fmt: skip
    return _storable(entry)


def _storable(entry: AuditEntry) -> AuditEntry:
    """Return an entry that UTF-8 can hold: lone surrogates become question marks."""
    fields = msgspec.structs.asdict(entry)
    return AuditEntry(**{name: _encodable(value) for name, value in fields.items()})


def _encodable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_encodable, value))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
