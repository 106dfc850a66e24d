"""Reads plain files only, and replaces files that only their owner can read."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path


def read_plain(path: Path) -> bytes:
    """Return a file's bytes. Raises OSError, also for a pipe or a device: it would never end, or wait for a writer."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(fd)


def replace(path: Path, text: str) -> None:
    """Replace a file atomically and durably, with mode 0600; a link is followed. Raises OSError, UnicodeEncodeError."""
    target = path.resolve()
    data = text.encode()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # mode 0600
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
