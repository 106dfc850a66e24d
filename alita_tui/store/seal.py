"""The key that signs a home's records: Ed25519, created when something is first signed.

It is in the operating system's keyring, if there is a working one, else in a file that only its owner can read,
apart from the data: in no backup and no export. Whoever controls the whole account has the key as well; then only
heads anchored elsewhere can show a change.
"""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from alita_tui.events import Value
from alita_tui.spine.errors import StoreError
from alita_tui.store import disk
from alita_tui.system import secrets

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class Signed(Value, frozen=True):
    """A record whose field `signature` is a home's signature over all of it."""

    @property
    def text(self) -> str:
        """What is signed: the other fields as JSON."""
        return msgspec.json.encode(msgspec.structs.replace(self, signature=""), order="sorted").decode()


class Seal:
    """The key of one home. Reading the keyring may block."""

    def __init__(self, folder: Path) -> None:
        """`folder` is apart from the data."""
        self.folder = folder
        self._private: Ed25519PrivateKey | None = None
        self._guard = threading.Lock()

    @property
    def path(self) -> Path:
        """The file with the key, if no keyring has it."""
        return self.folder / "key"

    @property
    def public(self) -> str:
        """The public key (hex); empty if the key is missing or cannot be reached. Raises StoreError."""
        private = self.private()
        return public_of(private) if private is not None else ""

    def private(self) -> Ed25519PrivateKey | None:
        """Return the key, from the keyring before the file. Raises StoreError if others can read its file."""
        with self._guard:
            if self._private is None:
                self._private = _key(secrets.read(self._name)) or _key(self._in_file())
            return self._private

    def keep(self, private: Ed25519PrivateKey) -> None:
        """Store a new key, in a file if the keyring does not take it. Raises StoreError."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()).hex()
        with self._guard:
            if not secrets.write(self._name, raw):
                disk.make_folder(self.folder)
                try:
                    disk.replace(self.path, [raw.encode() + b"\n"])
                except OSError as error:
                    raise disk.store_error("saved", self.path, error) from error
            self._private = private

    @property
    def _name(self) -> str:
        folder = str(self.folder.resolve()).encode("utf-8", "surrogateescape")
        return f"audit key {sha256(folder).hexdigest()[:16]}"

    def _in_file(self) -> str:
        try:
            status = self.path.lstat()
        except OSError:
            return ""
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
            raise StoreError(
                f"The key of the audit log, {self.path}, is open to others or no plain file.",
                hint=f"If only you had access: chmod 600 {self.path}  (`alita doctor --fix` does it)",
            )
        return (disk.read_bytes(self.path) or b"").decode("ascii", "replace").strip()


def new_key() -> Ed25519PrivateKey:
    """Return a new key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()


def public_of(private: Ed25519PrivateKey) -> str:
    """Return the public key in hex."""
    return private.public_key().public_bytes_raw().hex()


def sign(private: Ed25519PrivateKey, kind: str, text: str) -> str:
    """Return a signature (hex) of a text; `kind` separates uses, so that none can replace another."""
    return private.sign(_message(kind, text)).hex()


def verifier(public: str, kind: str) -> Callable[[str, str], bool]:
    """Return a function that checks whether this key signed a text as this kind.

    A signature is lower-case hex without spaces: a file that was changed in a letter's case was changed.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
    except ValueError:
        return lambda text, signature: False

    def holds(text: str, signature: str) -> bool:
        with suppress(ValueError, InvalidSignature):
            raw = bytes.fromhex(signature)
            key.verify(raw, _message(kind, text))
            return raw.hex() == signature
        return False

    return holds


def _message(kind: str, text: str) -> bytes:
    return f"alita {kind}\n".encode() + text.encode("utf-8", "surrogatepass")


def _key(raw: str) -> Ed25519PrivateKey | None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(raw)) if raw else None
    except ValueError:
        return None
