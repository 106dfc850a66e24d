"""Files on the command line: given with a task, piped in, saved."""

from __future__ import annotations

import os
import select
import stat
import sys
from pathlib import Path

import typer

from alita_tui.spine.errors import UsageError

_QUIET_SECONDS = 2.0
"""Seconds after which a wait for standard input is mentioned."""
_CHUNK = 1 << 20


def check_file(path: Path) -> None:
    """Raise UsageError unless this is a file that can be read."""
    if path.is_dir():
        raise UsageError(
            f"{path} is a folder.", hint="Give a file; pack a folder first, for example with zip."
        )
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint="Check the path.")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path} cannot be read.", hint="Check its permissions.")


def piped_file(folder: Path) -> Path | None:
    """Write what is piped in to `stdin.txt` in a folder and return its path; None where nothing is.

    A pipe is read to its end, whenever its writer begins; a terminal, a device and a closed input are not read.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISSOCK(mode):  # some programs leave a socket open that never delivers anything
            if not select.select([sys.stdin], [], [], 0)[0]:
                return None
        elif not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
            return None
        if not select.select([sys.stdin], [], [], _QUIET_SECONDS)[0]:
            typer.echo("Reading standard input to its end; without one: alita run … < /dev/null", err=True)
        path = folder / "stdin.txt"
        with path.open("wb") as file:
            while piece := os.read(sys.stdin.fileno(), _CHUNK):
                file.write(piece)
    except (OSError, ValueError, AttributeError):
        return None
    return path if path.stat().st_size else None
