"""One line of the audit log: what was decided on what, chained to the line before and signed."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from alita_tui.spine.values import Value

GENESIS = "0" * 64
"""What the first entry names as the one before it."""

SIGNED = 2
"""The format of entries that are signed; older ones are chained alone."""

ADOPTED = "log adopted"
"""The verdict of the entry that follows unsigned ones: its digest is of all bytes before it."""
REPAIRED = "log repaired"
"""The verdict of the entry that says that what was not on record was cut off and kept aside."""
BEGUN_ANEW = "log begun anew"
"""The verdict of the first entry of a log that replaces one that could not be relied on; its digest is of that."""

UPKEEP = frozenset({ADOPTED, REPAIRED, BEGUN_ANEW})
"""What the log says of itself."""


class AuditEntry(Value, frozen=True):
    """One verdict."""

    sequence: int
    """Counts by one from 1."""
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
    move: str = ""
    """For what was done with a tool: the kind of move (`MoveKind`, `alias` or `unalias`)."""
    before: str = ""
    """For a move: what was there before it; the state, the pinned version, the other name."""
    after: str = ""
    """For a move: what holds since, also where the move took another one back."""
    format: int = 1
    key: str = ""
    """For a signed entry: the public key (Ed25519, hex)."""
    hash: str = ""
    """SHA-256 over this entry's JSON with sorted keys and without this field and the signature."""
    signature: str = ""
    """Ed25519 (hex) over the hash; empty in the format 1."""

    @property
    def on_build(self) -> bool:
        """True for a verdict on a build, false for what was done with a registered tool later."""
        return bool(self.session_id)

    @property
    def on_screen(self) -> bool:
        """True for a verdict that was given on the build's review."""
        return self.on_build and self.via == "console"

    @property
    def signed(self) -> bool:
        """True for an entry of a format that is signed."""
        return self.format >= SIGNED

    @property
    def own_hash(self) -> str:
        """What `hash` has to be."""
        bare = msgspec.structs.replace(self, hash="", signature="")
        return sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()

    @property
    def label(self) -> str:
        """Which entry it is, as it is told to a person."""
        tool = f"{self.name} v{self.version}, " if self.name and self.version else ""
        return f"entry {self.sequence} ({tool or f'{self.name}, ' if self.name else ''}{self.verdict})"

    @property
    def line(self) -> bytes:
        """The entry as it stands in the file, without the line's end."""
        return msgspec.json.encode(self)


_DECODER = msgspec.json.Decoder(AuditEntry)


def read_entry(line: bytes) -> AuditEntry | None:
    """A line as an entry; None where it is none."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def unfinished(line: bytes, sequence: int) -> bool:
    """Whether a line is the beginning of the entry with this number: what a crash leaves of a write."""
    beginning = b'{"sequence":%d,' % sequence
    if not (line.startswith(beginning) or beginning.startswith(line)):
        return False
    try:
        _DECODER.decode(line)
    except msgspec.ValidationError:
        return False
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except UnicodeDecodeError:
        return False
    return False
