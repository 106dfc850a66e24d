# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Run a command line over given files, with the programs that the sandbox's image has; files it makes are left."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_LONGEST = 20_000
"""Characters of each output that are returned."""
_MOST_FILES = 100


def run(command: str, files: list[str] | None = None, stdin: str = "") -> dict[str, object]:
    """Returns the exit code, what was printed, and the files that the command made.

    `command` is run by /bin/sh in an empty folder that has copies of `files` under their own names: none of the
    originals is changed. A copy that was changed, and each new file of that folder, is left. Output longer than
    20,000 characters is cut, and `cut` says so. Raises ValueError for an empty command and for files that cannot
    stand side by side.
    """
    if not command.strip() or "\0" in command or "\0" in stdin:
        raise ValueError("command is a line for /bin/sh, and no text has a NUL in it")
    copies = {}
    for given in files or ():
        source = Path(given)
        if not source.is_file():
            raise ValueError(f"there is no file {given}")
        if source.name in copies:
            raise ValueError(f"two files are called {source.name}")
        if source.resolve() != Path(source.name).resolve():
            shutil.copyfile(source, source.name)
        copies[source.name] = _state(Path(source.name))
    before = set(os.listdir())
    done = subprocess.run(  # a command line is what it is for; the sandbox holds it
        command, shell=True, executable="/bin/sh", input=stdin.encode(), capture_output=True, check=False
    )
    printed = [text.decode("utf-8", "replace") for text in (done.stdout, done.stderr)]
    made = [
        path.name
        for path in sorted(Path().iterdir())
        if path.is_file()
        and not path.is_symlink()
        and (path.name not in before or (path.name in copies and _state(path) != copies[path.name]))
    ]
    return {
        "exit_code": done.returncode,
        "stdout": printed[0][:_LONGEST],
        "stderr": printed[1][:_LONGEST],
        "cut": any(len(text) > _LONGEST for text in printed),
        "files": made[:_MOST_FILES],
    }


def _state(path: Path) -> tuple[int, int]:
    """Returns what changes with a file: its size, and when it was written, in ns."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
