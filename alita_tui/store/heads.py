"""Signed heads that say how far the audit log goes, in two places: beside the log, and with the key.

The log may be ahead of a head if a crash came between the two writes. It is never behind one.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec

from alita_tui.events import ready
from alita_tui.store import disk
from alita_tui.store.seal import Signed, verifier


class Head(Signed, frozen=True, omit_defaults=False):
    """The log's state when this was signed."""

    sequence: int
    """The number of its last entry; 0 for an empty log."""
    hash: str
    """The hash of that entry."""
    size: int
    """Size of the file up to there."""
    digest: str
    """SHA-256 (hex) of those bytes."""
    at: str
    """ISO 8601, UTC."""
    key: str
    """The public key (Ed25519, hex)."""
    signature: str = ""

    @property
    def genuine(self) -> bool:
        """Return True if the key that it names signed it."""
        return verifier(self.key, "audit head")(self.text, self.signature)

    def fits(self, raw: bytes) -> bool:
        """Return True if a log begins with the bytes that this head covers."""
        return len(raw) >= self.size and sha256(memoryview(raw)[: self.size]).hexdigest() == self.digest


class Heads:
    """The two files."""

    def __init__(self, near: Path, far: Path) -> None:
        self.near = near
        self.far = far

    def raw(self) -> tuple[bytes | None, bytes | None]:
        """Return both as they are, the near one first; None for a missing one. Raises StoreError."""
        return disk.read_bytes(self.near), disk.read_bytes(self.far)

    def write(self, head: Head) -> None:
        """Write both. Raises OSError, StoreError."""
        line = msgspec.json.encode(head) + b"\n"
        for path in (self.far, self.near):
            disk.make_folder(path.parent)
            if disk.read_bytes(path) != line:
                disk.replace(path, [line])


def read_head(raw: bytes | None) -> Head | None:
    """Return a head as written, or None."""
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=ready(Head))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
