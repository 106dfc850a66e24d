"""The files of one call: its inputs, and those that the tool left in its output folder."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from alita_tui.events import LeftFile, ready
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.owner import alive, me
from alita_tui.sandbox.warden.left_files import LONGEST_NAME, MOST_FILES
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job

_LARGEST_HEADER = 4096


class _FileHeader(msgspec.Struct, forbid_unknown_fields=True):
    """The header of a file in the stream."""

    name: str
    size: int


@asynccontextmanager
async def staged(host: Host, job: Job) -> AsyncIterator[str]:
    """Yield a folder with a job's input files that can be mounted; remove it afterwards.

    The account that runs Podman may enter it, other users of this machine may not. Raise SandboxUnavailable.
    """
    folder = host.area / "in" / f"{me()}-{os.urandom(8).hex()}"
    laid_out = asyncio.create_task(asyncio.to_thread(_lay_out, host, job, folder))
    try:
        await asyncio.shield(laid_out)
        yield str(folder)
    finally:
        await asyncio.wait([laid_out])  # after an interrupt the thread still copies
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _lay_out(host: Host, job: Job, folder: Path) -> None:
    calls_folder = folder.parent
    try:
        calls_folder.mkdir(exist_ok=True)
        if host.as_root:
            import pwd

            os.chown(calls_folder, 0, pwd.getpwnam(host.account).pw_gid)
        calls_folder.chmod(0o750 if host.as_root else 0o700)
        folder.mkdir()
        folder.chmod(0o755)
        for number, file in enumerate(job.inputs):
            file_folder = folder / str(number)
            file_folder.mkdir()
            file_folder.chmod(0o755)
            _link(Path(file.path), file_folder / file.name)
    except OSError as error:
        raise SandboxUnavailable(
            f"The files of a call cannot be laid out in {calls_folder}: {error.strerror}.",
            hint="Is the disk full? `alita doctor` says where the sandbox keeps its files.",
        ) from error


def tidy_staged(area: Path) -> None:
    """Remove the folders of calls whose process is gone."""
    calls_folder = area / "in"
    for folder in calls_folder.iterdir() if calls_folder.is_dir() else ():
        owner = re.fullmatch(r"(\d+\.\d+)-\w+", folder.name)
        if owner and not alive(owner[1]):
            shutil.rmtree(folder, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    """Provide a file under another path: as a hard link where the container can read it, else as a copy."""
    if source.stat().st_mode & 0o004:
        with suppress(OSError):
            os.link(source, target)
            return
    shutil.copyfile(source, target)
    target.chmod(0o444)


class LeftFiles:
    """Receives the files that a run left, piece by piece, and writes them to a folder under numbers.

    The tool chose the names, so they are never used as paths on this machine.
    """

    def __init__(self, folder: str, most_bytes: int) -> None:
        """With an empty `folder` all files are discarded."""
        self._folder = folder
        self._most_bytes = most_bytes
        self._buffer = bytearray()
        self._bytes_to_come = 0
        """Bytes of the current file that have not arrived yet."""
        self._fd = -1
        self._total = 0
        self.files: list[LeftFile] = []
        self.lost = ""

    def take(self, piece: bytes) -> None:
        """Take the next piece; after an invalid one the rest is discarded."""
        if self.lost or not self._folder:
            return
        self._buffer += piece
        try:
            while self._buffer and self._parse_next():
                pass
        except (ValueError, OSError) as error:
            self.lost = f"what it left could not be taken over: {error}"
            self.end()

    def end(self) -> None:
        """Drop the last file if it is incomplete."""
        if self._fd >= 0:
            self._close()
            self.files.pop()
            self.lost = self.lost or "the last file did not come whole"

    def _parse_next(self) -> bool:
        """Handle the start of the buffer; return False if more data is needed."""
        if self._bytes_to_come:
            piece = bytes(self._buffer[: self._bytes_to_come])
            del self._buffer[: len(piece)]
            self._bytes_to_come -= len(piece)
            remaining = memoryview(piece)
            while remaining:
                remaining = remaining[os.write(self._fd, remaining) :]
            if not self._bytes_to_come:
                self._close()
            return True
        if len(self._buffer) < 4:
            return False
        (length,) = struct.unpack(">I", self._buffer[:4])
        if length > _LARGEST_HEADER:
            raise ValueError("a name is too long")
        if len(self._buffer) < 4 + length:
            return False
        header = msgspec.json.decode(bytes(self._buffer[4 : 4 + length]), type=ready(_FileHeader | str))
        del self._buffer[: 4 + length]
        if isinstance(header, str):
            self.lost = header[:300]
            return False
        self._begin(header)
        return True

    def _begin(self, header: _FileHeader) -> None:
        self._total += header.size
        if header.size < 0 or self._total > self._most_bytes:
            raise ValueError(f"it is more than {self._most_bytes >> 20} MB")
        if len(self.files) == MOST_FILES or not header.name or len(header.name) > LONGEST_NAME:
            raise ValueError("there are too many files, or a name is too long")
        path = Path(self._folder) / str(len(self.files))
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self.files.append(LeftFile(name=header.name, size=header.size))
        self._bytes_to_come = header.size
        if not header.size:
            self._close()

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
