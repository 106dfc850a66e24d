"""Files of the workspace by name: regular files below one folder, and nothing else.

No link is followed, whoever made it and whenever: each folder is opened relative to its parent with O_NOFOLLOW,
and all checks are made on what was opened. All calls block.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from alita_tui.sandbox.broker.grants import Caps, Refused
from alita_tui.sandbox.broker.quota import Quota

_DEEPEST = 8
_LONGEST = 120
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Workspace:
    """The folder that tools may read or write according to their grants."""

    def __init__(self, folder: Path, caps: Caps, quota: Quota | None = None) -> None:
        """`quota` is shared by all runs that write there at the same time."""
        self._folder = folder
        self._caps = caps
        self._quota = quota or Quota(folder, caps)

    def names(self) -> list[str]:
        """Return every file's name, sorted. Raise Refused."""
        names: list[str] = []
        with self._root() as root:
            self._walk(root, "", names, _DEEPEST)
        return sorted(names)

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raise Refused."""
        *folders, file_name = steps(name)
        with self._below(folders, name) as folder, _refusing(name):
            fd = os.open(file_name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            try:
                self._check_regular(os.fstat(fd), name)
                with os.fdopen(os.dup(fd), "rb") as file:
                    data = file.read(self._caps.file_bytes + 1)
            finally:
                os.close(fd)
        self._check_size(len(data))
        return data

    def write(self, name: str, data: bytes) -> bool:
        """Create or replace a file, completely or not at all; return whether it is new. Raise Refused."""
        *folders, file_name = steps(name)
        self._check_size(len(data))
        size = self._size(folders, file_name, name)
        self._quota.take(len(data) - (size or 0), int(size is None))
        with self._below(folders, name, make=True) as folder, _refusing(name):
            is_new = True
            with suppress(FileNotFoundError):
                self._check_regular(os.stat(file_name, dir_fd=folder, follow_symlinks=False), name)
                is_new = False
            draft = f".alita-{os.urandom(6).hex()}"
            try:
                fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(fd)
                os.rename(draft, file_name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise
        return is_new

    def _size(self, folders: list[str], file_name: str, name: str) -> int | None:
        """Return the file's present size, or None if it is missing. Raise Refused for anything but a file."""
        try:
            with self._below(folders, name) as folder, _refusing(name):
                status = os.stat(file_name, dir_fd=folder, follow_symlinks=False)
        except Refused as refusal:
            if refusal.status == 404:
                return None
            raise
        self._check_regular(status, name)
        return status.st_size

    @contextmanager
    def _root(self) -> Iterator[int]:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            root = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise Refused(503, f"the workspace cannot be opened: {error.strerror}", failed=True) from error
        try:
            yield root
        finally:
            os.close(root)

    @contextmanager
    def _below(self, folders: list[str], name: str, *, make: bool = False) -> Iterator[int]:
        """Yield the descriptor of a folder in the workspace, opened step by step. Raise Refused."""
        with self._root() as root:
            folder_fd = os.dup(root)
            try:
                for part in folders:
                    with _refusing(name):
                        if make:
                            self._ensure_folder(part, folder_fd)
                        next_fd = os.open(part, _FOLDER, dir_fd=folder_fd)
                    os.close(folder_fd)
                    folder_fd = next_fd
                yield folder_fd
            finally:
                os.close(folder_fd)

    def _ensure_folder(self, part: str, parent_fd: int) -> None:
        """Create a folder unless it exists. Raise Refused."""
        try:
            os.stat(part, dir_fd=parent_fd, follow_symlinks=False)
        except FileNotFoundError:
            self._quota.take(0, 1)
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=parent_fd)

    def _walk(self, folder: int, prefix: str, names: list[str], levels: int) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(names) >= self._caps.listed:
                    return
                if not _is_allowed(entry.name):
                    continue
                if entry.is_file(follow_symlinks=False):
                    names.append(prefix + entry.name)
                elif entry.is_dir(follow_symlinks=False) and levels > 1:
                    with suppress(OSError):
                        subfolder = os.open(entry.name, _FOLDER, dir_fd=folder)
                        try:
                            self._walk(subfolder, f"{prefix}{entry.name}/", names, levels - 1)
                        finally:
                            os.close(subfolder)

    def _check_regular(self, status: os.stat_result, name: str) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise Refused(403, f"{name} is no regular file")
        self._check_size(status.st_size)

    def _check_size(self, size: int) -> None:
        if size > self._caps.file_bytes:
            raise Refused(413, f"a workspace file may have {self._caps.file_bytes >> 20} MB")


def steps(name: str) -> list[str]:
    """Return the parts of a name. Raise Refused for one that points elsewhere or is hidden."""
    parts = name.split("/")
    if len(parts) > _DEEPEST or not all(map(_is_allowed, parts)):
        raise Refused(403, f"{name!r} is no name of a workspace file")
    return parts


def _is_allowed(part: str) -> bool:
    """Return whether a part is not hidden, not `..`, printable, and short enough for a file system."""
    return (
        part.isprintable()
        and "\\" not in part
        and not part.startswith(".")
        and 0 < len(part.encode("utf-8", "surrogateescape")) <= _LONGEST
    )


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise Refused(404, f"there is no {name}") from error
    except OSError as error:  # ELOOP and ENOTDIR: a link, or no folder
        raise Refused(403, f"{name} cannot be opened: {error.strerror}") from error
