"""Checks that an installed environment is unchanged. Its seal, a file beside it, lists all of its content.

A tool cannot change what it imports: an environment is mounted read-only, and its seal is not mounted at all. Other
programs that write to this disk could change it, and no approval covers that. Everything is read at the first use in a
process; afterwards only the file system's metadata is compared (inode, size, times), at most once a second.
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
"""How long a check of an environment is valid. Whoever can write to it could as well do so right after a check."""
_STAMP = ".complete"
"""Touched whenever an environment is used."""
_CLOCK_TICK_NS = 50_000_000
"""Longest tick of a file system's clock: two changes within one tick may have the same time."""
_NEVER_SET = stat.S_IWGRP | stat.S_IWOTH | stat.S_ISUID | stat.S_ISGID
"""No file or folder is installed with any of these bits."""


class _Checked(Value, frozen=True):
    state: int
    at: float


_CHECKED: dict[Path, _Checked] = {}
"""The last check of each environment in this process."""


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
    """Give a finished environment its name, and seal it. One that another process finished meanwhile stays.

    Blocks; raise OSError.
    """
    seal = json.dumps(_contents(draft))
    with _locked(folder.parent):
        if _sealed(folder):
            return  # another process was faster: its folder is the same
        set_aside(folder)
        draft.rename(folder)
        seal_draft = folder.with_name(f".{folder.name}.seal")
        seal_draft.write_text(seal)
        seal_draft.rename(_seal(folder))


def complete(folder: Path) -> bool:
    """Return whether an environment exists with its seal. Blocks."""
    if _sealed(folder):
        return True
    if not (folder / _STAMP).exists():
        return False
    with _locked(folder.parent):  # it may be sealed this very moment
        return _sealed(folder)


def check(folder: Path) -> None:
    """Check that an environment is what was installed. Blocks; raise EnvironmentChanged."""
    last_check, now = _CHECKED.get(folder), time.monotonic()
    if last_check is not None and now - last_check.at < FRESH_SECONDS:
        return
    newest, state = _state(folder)
    clock_moved_on = newest + _CLOCK_TICK_NS < time.time_ns()
    if last_check is None or last_check.state != state:
        if difference := _difference(folder):
            raise EnvironmentChanged(folder, difference)
    if clock_moved_on:
        _CHECKED[folder] = _Checked(state=state, at=now)
    else:  # a second change in the same tick would leave the same times
        _CHECKED.pop(folder, None)


def set_aside(folder: Path) -> None:
    """Remove the seal of an environment, and rename it so that it is removed once this process has ended. Blocks."""
    _CHECKED.pop(folder, None)
    _seal(folder).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        if folder.is_symlink():  # somebody put it there; where it leads is not ours to remove
            folder.unlink()
            return
        folder.rename(folder.with_name(f"building-{me()}-{os.urandom(4).hex()}"))


def forget(folder: Path) -> None:
    """Remove the seal of an environment that is removed. Blocks."""
    _CHECKED.pop(folder, None)
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
    """Return the first difference in words; an empty string if there is none."""
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
    present = {_name(folder, entry): entry for entry in _entries(folder)}
    if added := sorted(set(present) - names):
        return f"{one_line(added[0], 120)} was added"
    if missing := sorted(names - set(present)):
        return f"{one_line(missing[0], 120)} is missing"
    for name, entry in present.items():
        if _described(entry, sealed[name]) != sealed[name]:
            return f"{one_line(name, 120)} is another one"
    return ""


def _contents(folder: Path) -> dict[str, str]:
    return {_name(folder, entry): _described(entry) for entry in _entries(folder)}


def _described(entry: os.DirEntry[str], expected: str = "") -> str:
    """Return kind, mode, size and digest of an entry; a file whose size differs from the expected one is not read."""
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
    if expected and not expected.startswith(head):
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
    """Return the newest time of change in a folder, and a hash of all metadata that is valid in this process."""
    folder_status, stamp_status = folder.lstat(), (folder / _STAMP).lstat()
    facts = [
        (
            "",
            folder_status.st_mode,
            folder_status.st_ino,
            stamp_status.st_mode,
            folder_status.st_mtime_ns,
            folder_status.st_ctime_ns,
        )
    ]
    folders, stamp = [str(folder)], str(folder / _STAMP)
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.path == stamp:
                    continue
                status = entry.stat(follow_symlinks=False)
                facts.append(
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
                    folders.append(entry.path)
    return max(changed for *_, changed in facts), hash(frozenset(facts))


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """Yield everything in a folder except its stamp, sorted by name; links are not followed."""
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=lambda entry: entry.name)
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
