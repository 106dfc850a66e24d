"""Storage for the tokens of remote servers: the keyring, else a file that only the person can read."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from alita_tui.spine.errors import StoreError

_SERVICE = "alita"


class KeptLogin:
    """The tokens of one server. Implements `Vault`; blocks."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._name = f"mcp-login-{sha256(url.encode()).hexdigest()[:32]}"

    @property
    def lock(self) -> Path:
        """The file that processes lock while they refresh."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder / f"{self._name}.lock"

    def read(self) -> str:
        """Return the stored login; empty if there is none."""
        try:  # there is a file only while the keyring has none or an older one
            return (self._folder / f"{self._name}.json").read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            pass
        try:
            import keyring

            return keyring.get_password(_SERVICE, self._name) or ""
        except Exception:  # noqa: BLE001  # back ends raise what their desktop's bus raises
            return ""

    def write(self, text: str) -> None:
        """Store a login. Raise StoreError."""
        file = self._folder / f"{self._name}.json"
        try:
            import keyring

            keyring.set_password(_SERVICE, self._name, text)
            if keyring.get_password(_SERVICE, self._name) == text:
                file.unlink(missing_ok=True)
                return
        except Exception:  # noqa: BLE001, S110  # as above
            pass
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = file.with_suffix(f".{os.urandom(4).hex()}")
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as out:
                out.write(text)
            draft.replace(file)
        except OSError as error:
            raise StoreError(f"{file} could not be written: {error.strerror}.") from error

    def forget(self) -> None:
        """Remove the stored login, if any."""
        try:
            import keyring

            keyring.delete_password(_SERVICE, self._name)
        except Exception:  # noqa: BLE001, S110  # as above
            pass
        (self._folder / f"{self._name}.json").unlink(missing_ok=True)
