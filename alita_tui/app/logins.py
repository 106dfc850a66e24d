"""Storage for the tokens of remote servers: the keyring, else a file that only the person can read."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from alita_tui.spine.errors import StoreError
from alita_tui.system import files, secrets
from alita_tui.system.files import read_plain


class StoredLogin:
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
            return read_plain(self._folder / f"{self._name}.json").decode()
        except (OSError, UnicodeDecodeError):
            pass
        return secrets.read(self._name)

    def write(self, text: str) -> None:
        """Store a login. Raise StoreError."""
        file = self._folder / f"{self._name}.json"
        try:
            if secrets.write(self._name, text):
                file.unlink(missing_ok=True)
                return
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace(file, text)
        except OSError as error:
            raise StoreError(f"{file} could not be written: {error.strerror}.") from error

    def forget(self) -> None:
        """Remove the stored login, if any."""
        secrets.remove(self._name)
        (self._folder / f"{self._name}.json").unlink(missing_ok=True)
