"""One line of the audit log: a verdict or change, chained to the line before and signed."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from alita_tui.events import ApprovalRequested, ApprovalResolved, Value, ready

GENESIS = "0" * 64
"""What the first entry names as its predecessor."""

SIGNED = 2
"""The format of signed entries; older ones are only chained."""

ADOPTED = "log adopted"
"""The verdict of the entry that adopts unsigned ones: its digest covers all bytes before it."""
REPAIRED = "log repaired"
"""The verdict of the entry after a repair that cut off entries beyond the heads and kept them aside."""
BEGUN_ANEW = "log begun anew"
"""The verdict of the first entry of a log that replaces an unreliable one; it contains that one's digest."""


class AuditEntry(Value, frozen=True, kw_only=True):
    """One entry."""

    sequence: int = 0
    """Counts by one from 1; set by the log."""
    at: str = ""
    """ISO 8601, UTC; set by the log."""
    previous: str = ""
    """Hash of the entry before; set by the log."""
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
    """For a build: the tool that its name became an alias of. For a tool: the alias."""
    evidence: tuple[str, ...] = ()
    """What the build's review showed, one finding a line."""
    move: str = ""
    """For a change to a tool: the kind of move (`MoveKind`, `alias` or `unalias`)."""
    before: str = ""
    """For a move: the value before; the state, the pinned version, the alias."""
    after: str = ""
    """For a move: the new value, also if the move undid another one."""
    format: int = 1
    key: str = ""
    """For a signed entry: the public key (Ed25519, hex)."""
    hash: str = ""
    """SHA-256 over this entry's JSON with sorted keys and without this field and the signature."""
    signature: str = ""
    """Ed25519 (hex) over the hash; empty in the format 1."""

    @classmethod
    def of_verdict(
        cls,
        session_id: str,
        request: ApprovalRequested,
        resolved: ApprovalResolved,
        evidence: tuple[str, ...] = (),
    ) -> AuditEntry:
        """Return the entry for a verdict that a session recorded."""
        verdict = resolved.verdict
        return cls(
            who=verdict.by,
            verdict=verdict.decision,
            digest=resolved.digest,
            name=request.name,
            version=request.version,
            session_id=session_id,
            approval_id=resolved.approval_id,
            reason=verdict.reason,
            seen_ms=float(verdict.seen_ms),  # a whole number would be read back as another text
            scrolled_to_end=verdict.scrolled_to_end,
            via=verdict.via,
            tags=verdict.tags,
            lasting=verdict.lasting,
            grants=None if verdict.grants is None else verdict.grants.items,
            banned=verdict.banned,
            alias=verdict.alias_of.label if verdict.alias_of else "",
            evidence=evidence,
        )

    def same_verdict(self, entry: AuditEntry) -> bool:
        """Return True if both are the same session's verdict on the same build."""
        names = ("approval_id", "session_id", "verdict", "digest")
        return all(getattr(self, name) == getattr(entry, name) for name in names)

    @property
    def on_build(self) -> bool:
        """True for a verdict on a build, False for a later change to a registered tool."""
        return bool(self.session_id)

    @property
    def on_screen(self) -> bool:
        """True for a verdict that was given on the build's review screen."""
        return self.on_build and self.via == "console"

    @property
    def signed(self) -> bool:
        """True for an entry of a signed format."""
        return self.format >= SIGNED

    @property
    def own_hash(self) -> str:
        """The value that `hash` must have."""
        unhashed = msgspec.structs.replace(self, hash="", signature="")
        return sha256(msgspec.json.encode(unhashed, order="sorted")).hexdigest()

    @property
    def label(self) -> str:
        """The entry's name in messages."""
        tool = f"{self.name} v{self.version}, " if self.name and self.version else ""
        return f"entry {self.sequence} ({tool or f'{self.name}, ' if self.name else ''}{self.verdict})"

    @property
    def line(self) -> bytes:
        """The entry as its line in the file, without the line end."""
        return msgspec.json.encode(self)


_DECODER = msgspec.json.Decoder(ready(AuditEntry))


def read_entry(line: bytes) -> AuditEntry | None:
    """Return a line as an entry, or None."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def unfinished(line: bytes, sequence: int) -> bool:
    """Return True if a line is the beginning of the entry with this number, as a crash leaves it."""
    beginning = b'{"sequence":%d,' % sequence
    if not (line.startswith(beginning) or beginning.startswith(line)):
        return False
    try:
        _DECODER.decode(line)
    except msgspec.ValidationError:
        return False
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except (UnicodeDecodeError, RecursionError):
        return False
    return False
