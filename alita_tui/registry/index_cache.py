"""The index of a large library on disk. It is only a cache: without it the index is built again."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from alita_tui.spine.errors import StoreError


class IndexCache:
    """One file. If it cannot be read or written, it is treated as missing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> bytes:
        """Return what was written last; empty if nothing was."""
        try:
            return self._path.read_bytes()
        except OSError:
            return b""

    def remove(self) -> None:
        """Remove it, if it is there. Raise StoreError."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self._path.name} cannot be removed: {error.strerror}.", hint=f"Remove it: rm {self._path}"
            ) from error

    def write(self, data: bytes) -> None:
        """Replace it whole, readable by its owner alone."""
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError):
            try:
                descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                fresh.replace(self._path)
            finally:
                fresh.unlink(missing_ok=True)
