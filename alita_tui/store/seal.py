"""The key that a home's records are signed with: Ed25519, made when something is first signed.

It lies in the operating system's keyring, where there is one that works, else in a file that only its
owner can read, in a folder apart from the data: in no backup and in no export. Whoever has the whole
account has the key as well; what then can still be shown is what was anchored elsewhere.
"""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui.spine.errors import StoreError
from alita_tui.store import disk

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SERVICE = "alita"


class Seal:
    """The key of one home. Reading the keyring may block."""

    def __init__(self, folder: Path) -> None:
        """`folder` lies apart from the data."""
        self.folder = folder
        self._private: Ed25519PrivateKey | None = None
        self._guard = threading.Lock()

    @property
    def path(self) -> Path:
        """The file with the key, where no keyring has it."""
        return self.folder / "key"

    @property
    def public(self) -> str:
        """The public key (hex); empty where the key is not there or cannot be reached. Raises StoreError."""
        private = self.private()
        return public_of(private) if private is not None else ""

    def private(self) -> Ed25519PrivateKey | None:
        """The key; the keyring's goes before the file's. Raises StoreError where its file is open to others."""
        with self._guard:
            if self._private is None:
                self._private = _key(_keyring_get(self._name)) or _key(self._in_file())
            return self._private

    def keep(self, private: Ed25519PrivateKey) -> None:
        """Keep a new key. Raises StoreError."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()).hex()
        with self._guard:
            if not _keyring_set(self._name, raw):
                disk.make_folder(self.folder)
                try:
                    disk.replace(self.path, [raw.encode() + b"\n"])
                except OSError as error:
                    raise disk.store_error("saved", self.path, error) from error
            self._private = private

    @property
    def _name(self) -> str:
        place = str(self.folder.resolve()).encode("utf-8", "surrogateescape")
        return f"audit key {sha256(place).hexdigest()[:16]}"

    def _in_file(self) -> str:
        try:
            found = self.path.lstat()
        except OSError:
            return ""
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
            raise StoreError(
                f"The key of the audit log, {self.path}, is open to others or no plain file.",
                hint=f"If nobody else was at it: chmod 600 {self.path}  (`alita doctor --fix` does it)",
            )
        return (disk.read_bytes(self.path) or b"").decode("ascii", "replace").strip()


def new_key() -> Ed25519PrivateKey:
    """A key that nobody has yet."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()


def public_of(private: Ed25519PrivateKey) -> str:
    """The public key in hex."""
    return private.public_key().public_bytes_raw().hex()


def sign(private: Ed25519PrivateKey, kind: str, text: str) -> str:
    """A signature (hex) over a text; `kind` says what it is, so that none stands in for another."""
    return private.sign(_message(kind, text)).hex()


def verifier(public: str, kind: str) -> Callable[[str, str], bool]:
    """Says of a text and a signature whether this key signed it as this kind."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
    except ValueError:
        return lambda text, signature: False

    def holds(text: str, signature: str) -> bool:
        with suppress(ValueError, InvalidSignature):
            key.verify(bytes.fromhex(signature), _message(kind, text))
            return True
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


def _keyring_set(name: str, value: str) -> bool:
    """True when the keyring has it; some back ends take everything and keep nothing."""
    try:
        import keyring

        keyring.set_password(_SERVICE, name, value)
        return keyring.get_password(_SERVICE, name) == value
    except Exception:  # noqa: BLE001 - back ends raise what their desktop's bus raises
        return False


def _keyring_get(name: str) -> str:
    try:
        import keyring

        return keyring.get_password(_SERVICE, name) or ""
    except Exception:  # noqa: BLE001 - as in `_keyring_set`
        return ""
