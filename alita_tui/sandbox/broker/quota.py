"""How much a workspace holds and whether a write still fits, over all runs and whoever wrote there."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from alita_tui.sandbox.broker.grants import Caps, Refused

_COUNTED_SECONDS = 1.0
"""Age at which a count is repeated: the person and other processes write there, too."""


class Quota:
    """Counts what lies below one folder. Safe to use from several threads."""

    def __init__(self, folder: Path, caps: Caps) -> None:
        self._folder = folder
        self._caps = caps
        self._lock = threading.Lock()
        self._bytes = self._entries = 0
        self._counted_at = -_COUNTED_SECONDS

    def take(self, grown: int, entries: int) -> None:
        """Reserve bytes and entries for a write. Raise Refused where there are not enough left."""
        with self._lock:
            now = time.monotonic()
            if now - self._counted_at >= _COUNTED_SECONDS:
                self._bytes, self._entries = self._count()
                self._counted_at = time.monotonic()
            if grown > 0 and self._bytes + grown > self._caps.workspace_bytes:
                raise self._full(f"{self._caps.workspace_bytes >> 20} MB")
            if entries > 0 and self._entries + entries > self._caps.workspace_entries:
                raise self._full(f"{self._caps.workspace_entries} files and folders")
            self._bytes += grown
            self._entries += entries

    def _full(self, most: str) -> Refused:
        return Refused(507, f"the workspace may hold {most}; remove what is not needed from {self._folder}")

    def _count(self) -> tuple[int, int]:
        """Return bytes and entries, links not followed; stop counting once either is too much."""
        size = entries = 0
        rest = [str(self._folder)]
        while rest:
            with suppress(OSError), os.scandir(rest.pop()) as listing:
                for entry in listing:
                    entries += 1
                    if entry.is_dir(follow_symlinks=False):
                        rest.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
                    if size > self._caps.workspace_bytes or entries > self._caps.workspace_entries:
                        return size, entries
        return size, entries
