"""The packages of servers that alita fetched itself, each in a folder of its own, gone with its server."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_FETCHING_SECONDS = 3600.0
"""A folder that no server names may be one that is being fetched, or looked at before it is kept."""


def new_folder(data: Path, server: str, unique: str) -> Path:
    """Return a new folder for the packages of a server."""
    folder = data / "servers" / f"{server}-{unique}"
    folder.mkdir(mode=0o700, parents=True)
    return folder


def tidy(data: Path, kept: Iterable[str], gone: str = "") -> None:
    """Remove the folders that no server names: `gone` at once, others once nobody can be filling them."""
    named = set(kept)
    with suppress(OSError):
        for folder in (data / "servers").iterdir():
            if str(folder) in named or folder.is_symlink():
                continue
            if str(folder) == gone or time.time() - folder.stat().st_mtime > _FETCHING_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
