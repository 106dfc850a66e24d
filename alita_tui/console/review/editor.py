"""Runs the user's editor while the console is suspended."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from textual.app import SuspendNotSupported


class NoEditor(Exception):
    """The editor could not be run; the message says why."""


def edit(name: str, text: str, suffix: str, suspend: Callable[[], AbstractContextManager[None]]) -> str:
    """Return code, or other text, as edited in $VISUAL, $EDITOR or vi as a file of that suffix. Raises NoEditor."""
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="alita-edit-") as folder:
        path = Path(folder) / f"{Path(name).name}{suffix}"
        path.write_text(text, "utf-8")
        try:
            with suspend():
                process = subprocess.run([*editor, str(path)], check=False)
        except (SuspendNotSupported, OSError) as error:
            raise NoEditor(f"The editor could not be run: {error}") from error
        if process.returncode:
            raise NoEditor(f"The editor ended with {process.returncode}, so nothing was changed.")
        return path.read_text("utf-8", "replace")
