"""The packages of servers that alita fetched itself, each in a folder of its own that is removed with the server."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_FETCHING_SECONDS = 3600.0
"""Age in seconds up to which an unnamed folder may belong to a server that is still being fetched or added."""


def new_folder(data: Path, server: str, unique: str) -> Path:
    """Return a new folder for the packages of a server."""
    folder = data / "servers" / f"{server}-{unique}"
    folder.mkdir(mode=0o700, parents=True)
    return folder


def tidy(data: Path, used: Iterable[str], removed: str = "") -> None:
    """Remove the folders that no server uses: `removed` at once, others once they are older than an hour."""
    in_use = set(used)
    with suppress(OSError):
        for folder in (data / "servers").iterdir():
            if str(folder) in in_use or folder.is_symlink():
                continue
            if str(folder) == removed or time.time() - folder.stat().st_mtime > _FETCHING_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
