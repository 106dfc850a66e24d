"""Sends the host what a run left in its current folder, after everything in the container was killed.

Per file: 4 bytes of length (big endian), a JSON object with name and size, the bytes. A JSON text instead of an object
says why the rest is missing. A process with the tool's user id reads the folder: the warden may not read that user's
files, and the process reads nothing that the tool could not have read itself.
"""

from __future__ import annotations

import json
import os
import stat
import struct
from collections.abc import Iterator
from typing import Any

from alita_tui.sandbox.warden.channel import Channel
from alita_tui.sandbox.warden.confine import renounce

FOLDER = "/tmp/out"
MOST_FILES = 64
LONGEST_NAME = 200
DEEPEST = 8
CHUNK = 65536


def send_left_files(channel: Channel, uid: int, most_bytes: int) -> None:
    """Send every regular file below the folder, up to `most_bytes` in total."""
    try:
        status = os.lstat(FOLDER)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid or not os.listdir(FOLDER):
            return
    except OSError:  # removed, or closed to others by the tool
        return
    reading, writing = os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            for fd in (0, 1, 2, reading):
                os.close(fd)
            renounce(uid)
            _write_all(writing, most_bytes)
        finally:
            os._exit(0)
    os.close(writing)
    while piece := os.read(reading, CHUNK):
        channel.send(b"P", piece)
    os.close(reading)
    os.waitpid(helper, 0)


def _write_all(pipe: int, most_bytes: int) -> None:
    count = total = 0
    for path, name in _files(FOLDER, "", 0):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                continue
            count += 1
            total += status.st_size
            if count > MOST_FILES or total > most_bytes or len(name) > LONGEST_NAME:
                reason = (
                    f"it left more than {MOST_FILES} files, {most_bytes >> 20} MB, or a name that is too long"
                )
                _write(pipe, _header(reason))
                return
            _write(pipe, _header({"name": name, "size": status.st_size}))
            unsent = status.st_size
            while unsent and (piece := os.read(fd, min(CHUNK, unsent))):
                _write(pipe, piece)
                unsent -= len(piece)
            if unsent:  # nothing runs any more, so a file cannot shrink; the host drops what is not whole
                return
        finally:
            os.close(fd)


def _files(folder: str, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield path and name of every file, in the order of their names; no link is followed."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        name = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            if depth < DEEPEST:
                yield from _files(entry.path, name + "/", depth + 1)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path, name


def _header(value: Any) -> bytes:
    raw = json.dumps(value).encode()
    return struct.pack(">I", len(raw)) + raw


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
