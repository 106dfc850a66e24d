"""How far the audit log goes, signed, in two places: beside the log, and apart from the data with the key.

The log may be ahead of a head by what a crash kept from being counted, never behind one.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec

from alita_tui.spine.values import Value
from alita_tui.store import disk
from alita_tui.store.seal import verifier


class Head(Value, frozen=True, omit_defaults=False):
    """The log as it was when this was signed."""

    sequence: int
    """The number of its last entry; 0 for a log without any."""
    hash: str
    """Of that entry."""
    size: int
    """Bytes of the file up to there."""
    digest: str
    """SHA-256 (hex) over those bytes."""
    at: str
    """ISO 8601, UTC."""
    key: str
    """The public key (Ed25519, hex)."""
    signature: str = ""

    @property
    def text(self) -> str:
        """What is signed."""
        return msgspec.json.encode(msgspec.structs.replace(self, signature=""), order="sorted").decode()

    @property
    def genuine(self) -> bool:
        """Whether the key that it names signed it."""
        return verifier(self.key, "audit head")(self.text, self.signature)

    def fits(self, raw: bytes) -> bool:
        """Whether a log begins with what this head was signed over."""
        return len(raw) >= self.size and sha256(memoryview(raw)[: self.size]).hexdigest() == self.digest


class Heads:
    """The two files."""

    def __init__(self, near: Path, far: Path) -> None:
        self.near = near
        self.far = far

    def raw(self) -> tuple[bytes | None, bytes | None]:
        """Both as they are, the near one first; None for one that is not there. Raises StoreError."""
        return disk.read_bytes(self.near), disk.read_bytes(self.far)

    def write(self, head: Head) -> None:
        """Put both in place. Raises OSError, StoreError."""
        line = msgspec.json.encode(head) + b"\n"
        for path in (self.far, self.near):
            disk.make_folder(path.parent)
            if disk.read_bytes(path) != line:
                disk.replace(path, [line])


def read_head(raw: bytes | None) -> Head | None:
    """A head as it was written; None for what is none."""
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=Head)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
