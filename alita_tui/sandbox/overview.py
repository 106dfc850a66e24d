"""The sandbox's inventory: containers of every alita, installed environments, and the removal of old environments."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from alita_tui.sandbox import seals
from alita_tui.sandbox.owner import alive, orphaned
from alita_tui.spine.inventory import ContainerRow, EnvironmentRow
from alita_tui.spine.requirements import NPM


def container_rows(
    listed: list[dict[str, Any]], engine: str = "local", waiting: Collection[str] = ()
) -> tuple[ContainerRow, ...]:
    """Return the rows of Podman's list, newest first; `waiting` are the ids of those in the pool."""
    rows = []
    for entry in listed:
        labels = entry.get("Labels") or {}
        rows.append(
            ContainerRow(
                container=str(entry.get("Id", ""))[:12],
                session=labels.get("alita.session", ""),
                environment=labels.get("alita.environment", "base"),
                state="waiting" if entry.get("Id") in waiting else str(entry.get("State", "")),
                since=str(entry.get("Created", "")),
                engine=engine,
                orphan=orphaned(labels),
            )
        )
    return tuple(sorted(rows, key=lambda row: row.since, reverse=True))


def environment_rows(root: Path) -> tuple[EnvironmentRow, ...]:
    """Return a row for each environment, the most recently used first."""
    rows = []
    for folder in root.iterdir() if root.is_dir() else ():
        with suppress(OSError):
            stamp = folder / ".complete"
            used_at = stamp.stat().st_mtime
            rows.append(
                EnvironmentRow(
                    environment=folder.name[:12],
                    packages=_packages(folder),
                    size=_size(folder, stamp),
                    used_at=used_at,
                )
            )
    return tuple(sorted(rows, key=lambda row: -row.used_at))


def _packages(folder: Path) -> tuple[str, ...]:
    names = (path.name.removesuffix(".dist-info") for path in folder.glob("*.dist-info"))
    modules = folder / "node_modules"
    npm_packages = (
        f"{NPM}{path.parent.relative_to(modules)}"
        for depth in ("*", "@*/*")
        for path in modules.glob(f"{depth}/package.json")
    )
    return (*sorted(name.replace("-", " ", 1) for name in names), *sorted(npm_packages))


def _size(folder: Path, stamp: Path) -> int:
    """Return the size of an environment, as counted when it was built."""
    with suppress(ValueError, TypeError, KeyError):
        return int(json.loads(stamp.read_text())["bytes"])
    return size_of(folder)


def size_of(folder: Path) -> int:
    """Return the size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def hold(folder: Path) -> int:
    """Lock an environment against removal; return the descriptor to close when it is no longer used."""
    stamp = os.open(folder / ".complete", os.O_RDONLY)
    fcntl.flock(stamp, fcntl.LOCK_SH)
    return stamp


class HeldEnvironments(dict[Path, int]):
    """Environments that this process keeps from being removed, each with a descriptor."""

    def hold(self, folder: Path) -> None:
        """Lock an environment against removal, unless it is locked already."""
        if folder not in self:
            self[folder] = hold(folder)

    def set_aside(self, folder: Path) -> None:
        """Release a changed environment, and set it aside."""
        if folder in self:
            os.close(self.pop(folder))
        seals.set_aside(folder)

    def close(self) -> None:
        """Release all of them."""
        while self:
            os.close(self.popitem()[1])


def tidy(root: Path, most_bytes: int) -> int:
    """Remove half-built environments of dead processes, and the least recently used ones beyond a total size.

    Return how many folders were removed. What a process holds stays.
    """
    removed = 0
    for folder in root.glob("building-*") if root.is_dir() else ():
        owner = re.fullmatch(r"building-(\d+\.\d+)-\w+", folder.name)
        if owner and not alive(owner[1]):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    total = 0
    for row in environment_rows(root):
        total += row.size
        if total > most_bytes:
            for folder in root.glob(row.environment + "*"):
                removed += _discard(folder)
    return removed


def _discard(folder: Path) -> bool:
    """Remove an environment unless a process holds it; return whether it was removed."""
    with suppress(OSError):
        stamp = os.open(folder / ".complete", os.O_RDONLY)
        try:
            fcntl.flock(stamp, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (folder / ".complete").unlink()  # first: an environment is complete or absent
            seals.forget(folder)
            shutil.rmtree(folder, ignore_errors=True)
            return True
        finally:
            os.close(stamp)
    return False
