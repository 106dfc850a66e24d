"""The right to write a file belongs to whoever holds the lock (flock) on its journal."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from alita_tui.spine.errors import StoreLocked
from alita_tui.store import disk
from alita_tui.store.journal_reader import journal_of, operation


def take(path: Path, patience: float) -> int:
    """Return the journal of `path`, open and locked, created if missing.

    Waits up to `patience` seconds for another holder. Raises StoreLocked, OSError.
    """
    journal, until = journal_of(path), time.monotonic() + patience
    while True:
        existed = journal.exists()
        fd = os.open(journal, os.O_RDWR | os.O_CREAT, disk.PRIVATE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last holder may have removed it between open and lock.
            if _same_file(fd, journal):
                if not existed:
                    disk.sync_folder(path.parent)
                return fd
            os.close(fd)
        except BlockingIOError:
            owner = _owner(fd)
            os.close(fd)
            if time.monotonic() > until:
                raise StoreLocked(
                    f"{path} is open in another process{owner}.",
                    hint="Close it there first. `alita replay` looks at a session meanwhile.",
                ) from None
            time.sleep(0.01)
        except BaseException:
            os.close(fd)
            raise


def is_open(path: Path) -> bool:
    """Return True while a process has the file open for writing."""
    try:
        fd = os.open(journal_of(path), os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for its other end
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _same_file(fd: int, path: Path) -> bool:
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(fd), status)


def _owner(fd: int) -> str:
    """Return ` (process 123)` as the journal's first line names it; empty if it names none or one that is gone."""
    header = operation(os.pread(fd, 200, 0).split(b"\n", 1)[0])
    if header is None or header[0] != "gen":
        return ""
    try:
        os.kill(int(header[2]), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return ""
    except PermissionError:
        pass
    return f" (process {header[2]})"
