"""The size of a workspace and whether a write still fits, over all runs and whoever wrote there."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from alita_tui.sandbox.broker.grants import Caps, Refused

_RECOUNT_SECONDS = 1.0
"""Age at which a count is repeated: the person and other processes write there as well."""


class Quota:
    """Counts bytes and entries below one folder. Safe to use from several threads."""

    def __init__(self, folder: Path, caps: Caps) -> None:
        self._folder = folder
        self._caps = caps
        self._lock = threading.Lock()
        self._bytes = self._entries = 0
        self._counted_at = -_RECOUNT_SECONDS

    def take(self, added_bytes: int, added_entries: int) -> None:
        """Reserve bytes and entries for a write. Raise Refused where there are not enough left."""
        with self._lock:
            now = time.monotonic()
            if now - self._counted_at >= _RECOUNT_SECONDS:
                self._bytes, self._entries = self._count()
                self._counted_at = time.monotonic()
            if added_bytes > 0 and self._bytes + added_bytes > self._caps.workspace_bytes:
                raise self._full(f"{self._caps.workspace_bytes >> 20} MB")
            if added_entries > 0 and self._entries + added_entries > self._caps.workspace_entries:
                raise self._full(f"{self._caps.workspace_entries} files and folders")
            self._bytes += added_bytes
            self._entries += added_entries

    def _full(self, limit: str) -> Refused:
        return Refused(507, f"the workspace may hold {limit}; remove what is not needed from {self._folder}")

    def _count(self) -> tuple[int, int]:
        """Return bytes and entries, without following links; stop once either exceeds its cap."""
        size = entries = 0
        folders = [str(self._folder)]
        while folders:
            with suppress(OSError), os.scandir(folders.pop()) as listing:
                for entry in listing:
                    entries += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
                    if size > self._caps.workspace_bytes or entries > self._caps.workspace_entries:
                        return size, entries
        return size, entries
