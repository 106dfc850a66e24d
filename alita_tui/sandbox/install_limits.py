"""How much an environment may take on disk, and whether what is being installed takes more."""

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
    """What one environment may take."""

    bytes: int = 1 << 30
    files: int = 60_000
    hint: str = "`alita config set sandbox.environment_mb N` allows more."

    def exceeded(self, *folders: Path) -> str:
        """What there is too much of in any of these folders; empty where nothing is."""
        for folder in folders:
            size = files = 0
            for entry in _below(folder):
                with suppress(OSError):  # it is being moved
                    size += entry.stat(follow_symlinks=False).st_size
                files += 1
                if size > self.bytes:
                    return f"unpacked it takes more than {self.bytes >> 20:,} MB"
                if files > self.files:
                    return f"it has more than {self.files:,} files"
        return ""


class InstallWatch:
    """Looks at one run of uv while it installs."""

    def __init__(self, limits: InstallLimits, cache: Path, target: Path) -> None:
        """`cache` is where uv unpacks to, in folders that begin with `.tmp`; `target` where it copies to."""
        self._limits = limits
        self._cache = cache
        self._target = target
        self._before = set(cache.glob(".tmp*"))

    def look(self, process: int) -> str:
        """What uv, by its process id, has written too much of by now; empty while it has not."""
        if _written(process) > self._limits.bytes * _UNPACKED_TWICE:
            return f"it wrote more than {self._limits.bytes >> 20:,} MB"
        return self._limits.exceeded(self._target, *self._unpacked())

    def clear(self) -> None:
        """Remove what was unpacked and is too large; what another uv unpacks just now is not."""
        for folder in self._unpacked():
            if self._limits.exceeded(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def _unpacked(self) -> set[Path]:
        return set(self._cache.glob(".tmp*")) - self._before


def _below(folder: Path) -> Iterator[os.DirEntry[str]]:
    rest = [str(folder)]
    while rest:
        with suppress(OSError), os.scandir(rest.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    rest.append(entry.path)


def _written(process: int) -> int:
    """Bytes that a process gave to write(2) so far (proc(5), `wchar`); 0 where the kernel does not tell."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{process}/io").read_text().splitlines():
            if line.startswith("wchar:"):
                return int(line.split()[1])
    return 0
