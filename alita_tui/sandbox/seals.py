"""Whether an installed environment is still what was installed: its seal is a list of all that is in it, beside it.

A tool cannot change what it imports: an environment is mounted read-only, and its seal is not mounted at all. What else
writes to this disk could, by mistake or not, and no approval is for that. Everything is read at the first use in a
process; afterwards only what the file system says of it is compared (inode, size, times), at most once a second.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from alita_tui.events import Value
from alita_tui.sandbox.owner import me
from alita_tui.spine.errors import RequirementsError
from alita_tui.spine.text import one_line

FRESH_SECONDS = 1.0
"""How long a look at an environment holds. Whoever can write there could write right after one as well."""
_STAMP = ".complete"
"""Touched whenever an environment is used."""
_GRAIN_NS = 50_000_000
"""How far apart two changes may be and have the same time: the clock of file systems ticks that slowly at worst."""
_NEVER_SET = stat.S_IWGRP | stat.S_IWOTH | stat.S_ISUID | stat.S_ISGID
"""No file or folder is installed with any of these bits."""


class _Seen(Value, frozen=True):
    state: int
    at: float


_SEEN: dict[Path, _Seen] = {}
"""What this process has looked at."""


class EnvironmentChanged(RequirementsError):
    """An installed environment is no longer what was installed."""

    def __init__(self, folder: Path, difference: str) -> None:
        super().__init__(
            f"The installed packages were changed on this disk after they were installed: {difference}. "
            "Nothing of them was run.",
            hint="The next run installs them anew. If you did not change them, look for what did.",
        )
        self.folder = folder


def publish(draft: Path, folder: Path) -> None:
    """Give a finished environment its name, and seal it. One that another process made meanwhile stays.

    Blocks; raise OSError.
    """
    seal = json.dumps(_contents(draft))
    with _locked(folder.parent):
        if _sealed(folder):
            return  # another process was faster: its folder is the same
        set_aside(folder)
        draft.rename(folder)
        written = folder.with_name(f".{folder.name}.seal")
        written.write_text(seal)
        written.rename(_seal(folder))


def complete(folder: Path) -> bool:
    """Return whether an environment is there with its seal. Blocks."""
    if _sealed(folder):
        return True
    if not (folder / _STAMP).exists():
        return False
    with _locked(folder.parent):  # it may be sealed this very moment
        return _sealed(folder)


def check(folder: Path) -> None:
    """Look whether an environment is what was installed. Blocks; raise EnvironmentChanged."""
    seen, now = _SEEN.get(folder), time.monotonic()
    if seen is not None and now - seen.at < FRESH_SECONDS:
        return
    newest, state = _state(folder)
    settled = newest + _GRAIN_NS < time.time_ns()
    if seen is None or seen.state != state:
        if difference := _difference(folder):
            raise EnvironmentChanged(folder, difference)
    if settled:
        _SEEN[folder] = _Seen(state=state, at=now)
    else:  # a second change in the same tick would leave the same times
        _SEEN.pop(folder, None)


def set_aside(folder: Path) -> None:
    """Take its name and its seal from an environment; it is removed when this process is gone. Blocks."""
    _SEEN.pop(folder, None)
    _seal(folder).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        if folder.is_symlink():  # somebody put it there; where it leads is not ours to remove
            folder.unlink()
            return
        folder.rename(folder.with_name(f"building-{me()}-{os.urandom(4).hex()}"))


def forget(folder: Path) -> None:
    """Remove the seal of an environment that is removed. Blocks."""
    _SEEN.pop(folder, None)
    _seal(folder).unlink(missing_ok=True)


def _seal(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.seal")


def _sealed(folder: Path) -> bool:
    return (folder / _STAMP).exists() and _seal(folder).exists()


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    descriptor = os.open(root / ".sealing", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _difference(folder: Path) -> str:
    """Return what is different first, in words; empty where nothing is."""
    try:
        sealed: dict[str, str] = json.loads(_seal(folder).read_text())
        names = set(sealed)
    except (OSError, ValueError, TypeError):
        return "what was installed is not known any more"
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & _NEVER_SET:
        return "its folder is another one"
    if not stat.S_ISREG((folder / _STAMP).lstat().st_mode):
        return f"{_STAMP} is another one"
    there = {_name(folder, entry): entry for entry in _entries(folder)}
    if added := sorted(set(there) - names):
        return f"{one_line(added[0], 120)} was added"
    if missing := sorted(names - set(there)):
        return f"{one_line(missing[0], 120)} is missing"
    for name, entry in there.items():
        if _described(entry, sealed[name]) != sealed[name]:
            return f"{one_line(name, 120)} is another one"
    return ""


def _contents(folder: Path) -> dict[str, str]:
    return {_name(folder, entry): _described(entry) for entry in _entries(folder)}


def _described(entry: os.DirEntry[str], wanted: str = "") -> str:
    """Return kind, mode, size and digest of an entry; a file of another size than the wanted one is not read."""
    status = entry.stat(follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        return f"link:{Path(entry.path).readlink()}"
    if status.st_mode & _NEVER_SET:
        return "writable for others:"
    if stat.S_ISDIR(status.st_mode):
        return "folder:"
    if not stat.S_ISREG(status.st_mode):
        return "special:"
    head = f"file:{bool(status.st_mode & 0o111):d}:{status.st_size}:"
    if wanted and not wanted.startswith(head):
        return head
    try:
        descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return f"{head}unread"
    with os.fdopen(descriptor, "rb") as file:
        digest = sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
    return head + digest.hexdigest()


def _state(folder: Path) -> tuple[int, int]:
    """Return the newest time in a folder, and what the file system says of it all, as a number for this process."""
    own, stamped = folder.lstat(), (folder / _STAMP).lstat()
    numbers = [("", own.st_mode, own.st_ino, stamped.st_mode, own.st_mtime_ns, own.st_ctime_ns)]
    waiting, stamp = [str(folder)], str(folder / _STAMP)
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.path == stamp:
                    continue
                status = entry.stat(follow_symlinks=False)
                numbers.append(
                    (
                        entry.path,
                        status.st_mode,
                        status.st_ino,
                        status.st_size,
                        status.st_mtime_ns,
                        status.st_ctime_ns,
                    )
                )
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
    return max(changed for *_, changed in numbers), hash(frozenset(numbers))


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """Yield everything in a folder but its stamp, in an order of its own; links are not followed."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name == _STAMP and isinstance(folder, Path):
            continue
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path)


def _name(folder: Path, entry: os.DirEntry[str]) -> str:
    return (
        entry.path[len(str(folder)) + 1 :]
        .replace("\\", "\\\\")
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "backslashreplace")
    )
