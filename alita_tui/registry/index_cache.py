"""Caches the index of a large library on disk. Without the file the index is built again."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from alita_tui.spine.errors import StoreError
from alita_tui.system.files import read_plain


class IndexCache:
    """One file. If it cannot be read or written, it is treated as missing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> bytes:
        """Return the bytes that were written last; empty if there are none."""
        try:
            return read_plain(self._path)
        except OSError:
            return b""

    def remove(self) -> None:
        """Remove the file if it exists. Raises StoreError."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self._path.name} cannot be removed: {error.strerror}.", hint=f"Remove it: rm {self._path}"
            ) from error

    def write(self, data: bytes) -> None:
        """Replace the file atomically, readable by its owner only; a failure is ignored."""
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError):
            try:
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                temporary.replace(self._path)
            finally:
                temporary.unlink(missing_ok=True)
