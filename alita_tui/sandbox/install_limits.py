"""Limits on the disk space of an environment, checked while it is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from alita_tui.events import Value

_UNPACKED_TWICE = 2
"""uv unpacks a wheel into its cache and copies it from there."""


class InstallLimits(Value, frozen=True):
    """How much disk space one environment may take."""

    bytes: int = 1 << 30
    files: int = 60_000
    hint: str = "`alita config set sandbox.environment_mb N` allows more."

    def exceeded(self, *folders: Path) -> str:
        """Return the limit that one of these folders exceeds; an empty string if none does."""
        for folder in folders:
            size = files = 0
            for entry in below(folder):
                with suppress(OSError):  # it is being moved
                    size += entry.stat(follow_symlinks=False).st_size
                files += 1
                if size > self.bytes:
                    return f"unpacked it takes more than {self.bytes >> 20:,} MB"
                if files > self.files:
                    return f"it has more than {self.files:,} files"
        return ""


class InstallWatch:
    """Checks one run of uv while it installs."""

    def __init__(self, limits: InstallLimits, cache: Path, target: Path) -> None:
        """`cache` is where uv unpacks, in folders named `.tmp*`; `target` is where it copies to."""
        self._limits = limits
        self._cache = cache
        self._target = target
        self._before = set(cache.glob(".tmp*"))

    def look(self, process: int) -> str:
        """Return the limit that uv with this process id has exceeded; an empty string if none."""
        if bytes_written(process) > self._limits.bytes * _UNPACKED_TWICE:
            return f"it wrote more than {self._limits.bytes >> 20:,} MB"
        return self._limits.exceeded(self._target, *self._unpacked())

    def clear(self) -> None:
        """Remove what was unpacked and is too large, but nothing that another uv unpacks right now."""
        for folder in self._unpacked():
            if self._limits.exceeded(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def _unpacked(self) -> set[Path]:
        return set(self._cache.glob(".tmp*")) - self._before


def below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield every entry below a folder; links are not followed."""
    folders = [str(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def bytes_written(process: int) -> int:
    """Return the bytes that a process wrote so far (proc(5), `wchar`); 0 where that is unknown."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{process}/io").read_text().splitlines():
            if line.startswith("wchar:"):
                return int(line.split()[1])
    return 0


def resident_bytes(process: int) -> int:
    """Return the bytes of memory that a process takes (proc(5), `statm`); 0 where that is unknown."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
