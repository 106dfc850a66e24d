"""Reads a skill's files from a folder or an archive, which may be hostile.

No link is followed, nothing is unpacked to disk, and no file is read beyond its size limit.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import tarfile
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from alita_tui.events import Value, digest_of
from alita_tui.mcp_box.skills.format import INSTRUCTIONS, SkillRefused, SkillText, read_skill
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import hidden_characters, one_line

_MOST_FILES = 500
_DEEPEST = 8
_LARGEST_INSTRUCTIONS = 256 << 10
_LARGEST_FILE = 5 << 20
_LARGEST_TOTAL = 20 << 20
"""Largest file and largest sum of all files, unpacked, in bytes; an archive has the limit of the sum."""
_LEFT_OUT = {".git", "__pycache__", ".DS_Store"}
"""Names of files and folders that never belong to a skill."""
_PART = re.compile(r"[^/\\\x00-\x1f\x7f]{1,120}")


class Skill(Value, frozen=True):
    """The content of a skill."""

    text: SkillText
    files: dict[str, bytes]
    """All files by path, `SKILL.md` included."""

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over the names and bytes of all files; an approval names it."""
        return digest_of(
            *(f"{name}\0{sha256(data).hexdigest()}" for name, data in sorted(self.files.items()))
        )

    @property
    def scripts(self) -> tuple[str, ...]:
        """The paths of its scripts."""
        return tuple(name for name in sorted(self.files) if name.startswith("scripts/"))


def read_from(path: Path) -> Skill:
    """Return the skill in a folder or an archive (ZIP, tar or tar.gz).

    Raises SkillRefused if it is no skill or breaks the format, UsageError if it cannot be read.
    """
    try:
        if path.is_dir():
            return skill_of(dict(_in_folder(path)), path.resolve().name)
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SkillRefused(f"{one_line(path.name, 80)} is neither a folder nor a file")
            data = file.read(_LARGEST_TOTAL + 1)
    except OSError as error:
        raise UsageError(f"{one_line(str(path), 200)} cannot be read: {error.strerror or error}.") from error
    if len(data) > _LARGEST_TOTAL:
        raise SkillRefused(f"it is larger than {_LARGEST_TOTAL >> 20} MB")
    return skill_of(*_root(dict(_bounded(_in_archive(data)))))


def skill_of(files: Mapping[str, bytes], folder: str) -> Skill:
    """Return the skill of these files in a folder of this name. Raises SkillRefused."""
    if INSTRUCTIONS not in files:
        raise SkillRefused(f"there is no {INSTRUCTIONS} in it")
    if len(files[INSTRUCTIONS]) > _LARGEST_INSTRUCTIONS:
        raise SkillRefused(f"{INSTRUCTIONS} is larger than {_LARGEST_INSTRUCTIONS >> 10} kB")
    try:
        text = files[INSTRUCTIONS].decode()
    except UnicodeDecodeError as error:
        raise SkillRefused(f"{INSTRUCTIONS} is no text in UTF-8") from error
    return Skill(text=read_skill(text, folder), files=dict(files))


def _checked(name: str) -> str:
    """Return a path inside a skill. Raises SkillRefused if it leaves the folder or holds hidden characters."""
    parts = name.split("/")
    label = one_line(name, 80)
    if name.startswith("/") or ".." in parts or "." in parts or "\\" in name or re.match(r"[A-Za-z]:", name):
        raise SkillRefused(f"the path {label!r} leads out of its folder")
    if len(parts) > _DEEPEST:
        raise SkillRefused(f"{label!r} is more than {_DEEPEST} folders deep")
    if not all(_PART.fullmatch(part) for part in parts) or hidden_characters(name):
        raise SkillRefused(f"the path {label!r} holds hidden characters, or a name that no file has")
    return name


def _bounded(files: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    spellings: dict[str, str] = {}
    room = _LARGEST_TOTAL
    for name, data in files:
        spelling = unicodedata.normalize("NFKC", name).casefold()
        if (earlier := spellings.get(spelling)) is not None:
            label = one_line(name, 80)
            raise SkillRefused(
                f"it holds {label} twice"
                if earlier == name
                else f"{label} and {one_line(earlier, 80)} look the same or differ in case alone"
            )
        spellings[spelling] = name
        if len(spellings) > _MOST_FILES:
            raise SkillRefused(f"it has more than {_MOST_FILES} files")
        room -= len(data)
        if len(data) > _LARGEST_FILE or room < 0:
            raise SkillRefused(f"{one_line(name, 80)} is too large")
        yield name, data


def _in_folder(top: Path) -> Iterator[tuple[str, bytes]]:
    return _bounded(_walked(top))


def _walked(top: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a folder by path. Each is opened relative to its listed folder, and no link is followed."""
    examined = 0
    for folder, folders, names, folder_descriptor in os.fwalk(
        top, follow_symlinks=False, onerror=_raise_error
    ):
        folders[:] = sorted(subfolder for subfolder in folders if subfolder not in _LEFT_OUT)
        relative = PurePosixPath(folder).relative_to(PurePosixPath(top))
        for name in sorted({*names, *folders} - _LEFT_OUT):
            examined += 1
            if examined > 4 * _MOST_FILES:
                raise SkillRefused(f"it has more than {_MOST_FILES} files")
            path = _checked(_utf8(str(relative / name)))
            mode = os.stat(name, dir_fd=folder_descriptor, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                continue
            if not stat.S_ISREG(mode):
                file_type = "a link" if stat.S_ISLNK(mode) else "no plain file"
                raise SkillRefused(
                    f"{one_line(path, 80)} is {file_type}; a skill holds nothing but files and folders"
                )
            descriptor = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_descriptor
            )
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise SkillRefused(f"{one_line(path, 80)} is no plain file")
                yield path, file.read(_LARGEST_FILE + 1)


def _raise_error(error: OSError) -> None:
    raise error


def _utf8(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise SkillRefused("one of its paths is no text in UTF-8") from error
    return name


def _in_archive(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive by path."""
    try:
        if data[:4] == b"PK\x03\x04":
            yield from _in_zip(data)
        else:
            yield from _in_tar(data)
    except SkillRefused:
        raise
    except Exception as error:  # zlib, struct and other errors that hostile bytes cause
        raise SkillRefused(f"it is no archive that can be read: {one_line(str(error), 120)}") from error


def _in_zip(data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > 4 * _MOST_FILES:
            raise SkillRefused(f"it has more than {_MOST_FILES} files")
        for entry in entries:
            path = _checked(entry.filename.rstrip("/"))
            if _left_out(path) or entry.is_dir():
                continue
            file_type = stat.S_IFMT(entry.external_attr >> 16)
            if file_type not in (0, stat.S_IFREG) or entry.flag_bits & 0x1:
                raise SkillRefused(f"{one_line(path, 80)} is a link, or no plain file")
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise SkillRefused(f"{one_line(path, 80)} is compressed by an unsupported method")
            with archive.open(entry) as file:
                yield path, file.read(_LARGEST_FILE + 1)


def _in_tar(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a tar archive, read as a stream up to the size limit of a skill."""
    compressed = io.BytesIO(data)
    source = gzip.GzipFile(fileobj=compressed) if data[:2] == b"\x1f\x8b" else compressed
    capped = _Capped(source)
    with tarfile.open(fileobj=capped, mode="r|") as archive:  # type: ignore[call-overload]  # only `read` is called
        for number, entry in enumerate(archive):
            if number > 4 * _MOST_FILES:
                raise SkillRefused(f"it has more than {_MOST_FILES} files")
            if entry.name in ("", "."):
                continue
            path = _checked(_utf8(entry.name.removeprefix("./")))
            if _left_out(path) or entry.isdir():
                continue
            if not entry.isreg() or entry.sparse:
                raise SkillRefused(f"{one_line(path, 80)} is a link, or no plain file")
            if entry.size > _LARGEST_FILE:
                raise SkillRefused(f"{one_line(path, 80)} is too large")
            file = archive.extractfile(entry)
            yield path, file.read(_LARGEST_FILE + 1) if file else b""


class _Capped:
    """A stream with a limit: it raises instead of returning more, because tar headers may claim any length."""

    def __init__(self, source: io.BufferedIOBase) -> None:
        self._source = source
        self._room = 2 * _LARGEST_TOTAL

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes. Raises SkillRefused beyond the limit."""
        if size > self._room:
            raise SkillRefused("it is too large")
        data = self._source.read(size)
        self._room -= len(data)
        return data


def _left_out(path: str) -> bool:
    return not _LEFT_OUT.isdisjoint(path.split("/"))


def _root(files: dict[str, bytes]) -> tuple[dict[str, bytes], str]:
    """Return an archive's files below its one folder, and that folder's name."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) != 1 or INSTRUCTIONS in files:
        raise SkillRefused("an archive holds one folder, whose name is the skill's")
    (top,) = tops
    return {path.partition("/")[2]: data for path, data in files.items() if "/" in path}, top
