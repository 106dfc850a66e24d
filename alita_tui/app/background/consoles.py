"""Which sessions are open in a console of this home, for commands that hand something to one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def announced(folder: Path, session_id: str) -> Generator[None]:
    """Mark the session as open in a console while the context is open; do nothing if the folder is not writable."""
    path = folder / f"{os.getpid()}-{session_id}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(fd, session_id.encode())
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(fd)


def open_in_console(folder: Path) -> tuple[str, ...]:
    """Return the ids of the sessions that are open in a console, the one opened last first."""
    opened: list[tuple[float, str]] = []
    for path in folder.glob("*-*") if folder.is_dir() else ():
        with suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)  # its process was killed
            except BlockingIOError:
                opened.append((os.fstat(fd).st_mtime, os.read(fd, 200).decode("ascii", "replace")))
            finally:
                os.close(fd)
    return tuple(session_id for _, session_id in sorted(opened, reverse=True))
