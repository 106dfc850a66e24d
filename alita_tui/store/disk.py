"""Durable writes: whole-file replacement, folder sync, copies of damaged files."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from alita_tui.spine.errors import StoreError

PRIVATE = 0o600
"""Mode of every file made here: sessions hold what a person typed."""

Signature = tuple[int, int, int]
"""Inode, modification time (ns) and size; changes whenever a file is replaced or grows."""

NO_FILE: Signature = (0, 0, 0)


def signature(path: Path) -> Signature:
    """Return the file's signature; `NO_FILE` if it does not exist."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return NO_FILE
    return (status.st_ino, status.st_mtime_ns, status.st_size)


def is_special(path: Path) -> bool:
    """Return whether it is a pipe, a socket or a device: opening one would wait for its other end, or never end."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def refuse_special(path: Path) -> None:
    """Raise StoreError for a pipe, a socket or a device: a record is never one."""
    if is_special(path):
        raise StoreError(f"{path} is not a plain file.", hint="Remove it, or put a backup in its place.")


def read_bytes(path: Path, *, any_kind: bool = False) -> bytes | None:
    """Return all bytes of a file, or None if it does not exist.

    Raises StoreError, also for a pipe or a device unless `any_kind` is set.
    """
    if not any_kind:
        refuse_special(path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise store_error("read", path, error) from error


def write_all(fd: int, data: bytes, offset: int) -> None:
    """Write every byte at an offset, continuing after short writes. Raises OSError."""
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view = view[written:]
        offset += written


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folder(folder: Path) -> None:
    """Create a private folder if it does not exist. Raises StoreError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise store_error("made", folder, error) from error


def write_new(path: Path, pieces: Iterable[bytes]) -> None:
    """Write and sync a new file; on failure nothing is left. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    try:
        at = 0
        for piece in pieces:
            write_all(fd, piece, at)
            at += len(piece)
        os.fsync(fd)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(fd)


def replace(path: Path, pieces: Iterable[bytes]) -> None:
    """Replace a file atomically. Raises OSError."""
    draft = path.with_name(path.name + ".tmp")
    write_new(draft, pieces)
    draft.replace(path)
    sync_folder(path.parent)


def set_aside(path: Path) -> Path:
    """Copy a damaged file to `<name>.damaged-<n>` and return that path. Raises OSError."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    shutil.copy2(path, aside)
    return aside


def move_aside(path: Path) -> Path:
    """Set a file aside and remove it; return where it is, which is the same path if it could not be moved."""
    try:
        aside = set_aside(path)
        path.unlink(missing_ok=True)
    except OSError:
        return path
    return aside


_HINTS = {
    errno.ENOSPC: "The disk is full: free some space.",
    errno.EDQUOT: "The disk quota is used up: free some space.",
    errno.EFBIG: "The file may not grow any further: raise the file size limit.",
    errno.EROFS: "The file system is read-only: choose another folder with --home.",
    errno.EACCES: "Check who owns the folder, or choose another with --home.",
    errno.EPERM: "Check who owns the folder, or choose another with --home.",
    errno.EIO: "The disk reports an error: copy the folder elsewhere and check the disk.",
}


def store_error(what: str, path: Path, error: OSError) -> StoreError:
    """Return the error that a person sees; `what` is a participle such as `saved` or `read`."""
    reason = error.strerror or type(error).__name__
    return StoreError(f"{path} could not be {what}: {reason}.", hint=_HINTS.get(error.errno or 0, ""))
