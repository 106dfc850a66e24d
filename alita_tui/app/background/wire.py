"""The protocol between a console or a command and the background, over a Unix socket of the home.

Each message is a length of four bytes (big endian) and that much JSON.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import msgspec

from alita_tui.events import Json, Value, ready
from alita_tui.spine import commands
from alita_tui.spine.commands import Command
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.inventory import Inventory

_LONGEST = 256_000_000
"""Bytes of one message."""
_LONGEST_PATH = 100
"""Bytes of a socket's path that every system supports."""


class Look(Value, frozen=True, tag=True):
    """Ask what the background does, and have it look for work at once."""


class Attach(Value, frozen=True, tag=True):
    """Subscribe to a session's events from now on, and send it commands."""

    session_id: str
    after: int = 0
    """The sequence number of the newest event that is known already."""


class Do(Value, frozen=True, tag=True):
    """Hand a command to the attached session."""

    name: str
    command: Json


class Tend(Value, frozen=True, tag=True):
    """Look at, tidy or rebuild the sandbox of the attached session."""

    what: str
    number: int
    """Number that the answer repeats."""


class End(Value, frozen=True, tag=True):
    """Shut down cleanly; sessions continue when the background is started again."""


Request = Look | Attach | Do | Tend | End


class Session(Value, frozen=True, omit_defaults=False):
    """A session that the background has open."""

    session_id: str
    state: str
    """`opening`, `working`, `waiting` (for the person) or `ending`."""
    task: str
    """The newest task, in one line."""
    consoles: int = 0
    """How many are attached."""
    schedule: str = ""


class Standing(Value, frozen=True, tag=True, omit_defaults=False):
    """What the background does."""

    version: str
    process: int
    sessions: tuple[Session, ...] = ()


class Attached(Value, frozen=True, tag=True):
    """The session is attached; its events follow."""

    version: str


class News(Value, frozen=True, tag=True):
    """An event of the attached session."""

    envelope: msgspec.Raw


class Tended(Value, frozen=True, tag=True):
    """The outcome of a `Tend`."""

    number: int
    inventory: Inventory | None = None
    counts: tuple[int, int] = (0, 0)
    problem: str = ""
    hint: str = ""


class Refused(Value, frozen=True, tag=True):
    """The request cannot be met."""

    message: str
    hint: str = ""


Reply = Standing | Attached | News | Tended | Refused

_COMMANDS: dict[str, type[Command]] = {kind.__name__: kind for kind in get_args(commands.Command)}


def doing(command: Command) -> Do:
    """Return the message that hands a command over."""
    return Do(name=type(command).__name__, command=msgspec.to_builtins(command))


def command_of(message: Do) -> Command:
    """Return the command of a message. Raises ValueError."""
    kind = _COMMANDS.get(message.name)
    if kind is None:
        raise ValueError(message.name)
    return msgspec.convert(message.command, ready(kind))


def news(encoded: bytes) -> News:
    """Return the message with an event, given the JSON of its envelope."""
    return News(envelope=msgspec.Raw(encoded))


def framed(message: Request | Reply) -> bytes:
    """Return the bytes of a message."""
    raw = msgspec.json.encode(message)
    return struct.pack(">I", len(raw)) + raw


async def request(reader: asyncio.StreamReader) -> Request | None:
    """Return the next request; None at the end. Raises ValueError for an invalid one."""
    raw = await _frame(reader)
    return None if raw is None else msgspec.json.decode(raw, type=ready(Request))


async def reply(reader: asyncio.StreamReader) -> Reply | None:
    """Return the next reply; None at the end. Raises ValueError for an invalid one."""
    raw = await _frame(reader)
    return None if raw is None else msgspec.json.decode(raw, type=ready(Reply))


async def _frame(reader: asyncio.StreamReader) -> bytes | None:
    try:
        (size,) = struct.unpack(">I", await reader.readexactly(4))
        if size > _LONGEST:
            raise ValueError(f"a message of {size:,} bytes")
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


# --- the socket ---------------------------------------------------------------------------------


@asynccontextmanager
async def connected(path: Path) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter] | None]:
    """Yield a connection to the background of a home; None if none runs. Raises UsageError, StoreError."""
    with _short(path) as short:
        try:
            reader, writer = await asyncio.open_unix_connection(short)
        except (FileNotFoundError, ConnectionRefusedError):
            yield None
            return
        except OSError as error:
            raise StoreError(
                f"{path} cannot be reached: {error.strerror}.", hint="Check its permissions."
            ) from error
    try:
        if peer(writer) != os.getuid():
            raise UsageError(f"{path} belongs to another user's process.", hint="Check who may write there.")
        yield reader, writer
    finally:
        writer.close()


def listening(path: Path) -> socket.socket:
    """Return a new socket that only this user can reach; a leftover one is replaced. Raises StoreError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            with _short(path) as short:
                listener.bind(short)
        finally:
            os.umask(mask)
    except OSError as error:
        listener.close()
        raise StoreError(
            f"{path} cannot be made: {error.strerror or error}.", hint="Check its folder."
        ) from error
    return listener


def peer(writer: asyncio.StreamWriter) -> int:
    """Return the user id of the process at the other end, from the kernel; -1 if unknown."""
    connection = writer.get_extra_info("socket")
    try:
        if sys.platform == "linux":
            _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        else:  # struct xucred of macOS and the BSDs: LOCAL_PEERCRED of SOL_LOCAL
            _, uid = struct.unpack("2I", connection.getsockopt(0, 1, 8))
    except (OSError, struct.error):
        return -1
    return int(uid)


class _short:  # used as a function
    """Yield a socket path that is short enough for the system; a long one goes through an open folder's descriptor."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) <= _LONGEST_PATH:
            return str(self._path)
        if sys.platform != "linux":
            raise UsageError(f"{self._path} is too long for a socket.", hint="Give a shorter --home.")
        self._folder = os.open(self._path.parent, os.O_DIRECTORY | os.O_PATH)
        return f"/proc/self/fd/{self._folder}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)
