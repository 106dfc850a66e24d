"""The host's end of the tool's connections, which the warden forwards over its channel.

Frames and window are those of `warden/relay.py`. The reader of the channel passes frames on without waiting; the
window limits how much can accumulate.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from alita_tui.sandbox.warden.relay import MOST, PIECE, REPORTED, WINDOW
from alita_tui.spine.errors import AlitaError

Send = Callable[[bytes, bytes], Awaitable[None]]
"""Writes one frame to the warden."""
FRAMES = (b"C", b"N", b"K", b"X")


class Violation(Exception):
    """A frame that the warden cannot have sent."""


class Pipe(Protocol):
    """Bytes both ways: a connection of the tool, or TLS on top of one."""

    async def read(self) -> bytes:
        """Return some bytes; none at the end."""

    async def write(self, data: bytes) -> None:
        """Write, waiting until the bytes are taken."""


class Stream:
    """One connection of the tool."""

    def __init__(self, number: int, send: Send) -> None:
        self._number = number
        self._send = send
        self._received = bytearray()
        self._unreported = 0
        self._input_ended = False
        self._changed = asyncio.Event()
        self._credit = WINDOW
        self._credit_added = asyncio.Event()
        self._output_ended = False

    async def read(self) -> bytes:
        """Return some bytes; none at the end."""
        while not self._received and not self._input_ended:
            self._changed.clear()
            await self._changed.wait()
        data = bytes(self._received)
        self._received.clear()
        self._unreported += len(data)
        if self._unreported >= REPORTED:
            consumed, self._unreported = self._unreported, 0
            await self._send_frame(b"K", struct.pack(">I", consumed))
        return data

    async def write(self, data: bytes) -> None:
        """Write, waiting until the bytes are taken."""
        remaining = memoryview(data)
        while remaining:
            while not self._credit:
                self._credit_added.clear()
                await self._credit_added.wait()
            piece = remaining[: min(PIECE, self._credit)]
            remaining = remaining[len(piece) :]
            self._credit -= len(piece)
            await self._send_frame(b"N", bytes(piece))

    async def end(self) -> None:
        """Signal the end of the data to the tool."""
        if not self._output_ended:
            self._output_ended = True
            await self._send_frame(b"X", b"")

    def take(self, kind: bytes, data: bytes) -> None:
        """Handle a frame of the warden. Raise Violation."""
        if kind == b"N":
            self._received += data
            if len(self._received) > WINDOW or self._input_ended:
                raise Violation("The warden sent more than was asked for.")
        elif kind == b"X":
            self._input_ended = True
        elif len(data) == 4:
            self._credit += struct.unpack(">I", data)[0]
            self._credit_added.set()
        self._changed.set()

    async def _send_frame(self, kind: bytes, data: bytes) -> None:
        await self._send(kind, struct.pack(">I", self._number) + data)


class Connections:
    """All connections of one run, each served by a task of its own."""

    def __init__(self, send: Send, serve: Callable[[Stream], Awaitable[None]]) -> None:
        self._send = send
        self._serve = serve
        self._streams: dict[int, Stream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.failure: AlitaError | None = None
        """A failure that is not the tool's fault, such as a full disk."""
        self.broken: Callable[[], object] = lambda: None
        """Called on such a failure, so that the run ends at once even if the tool does nothing more."""
        self._closed = False

    def take(self, kind: bytes, payload: bytes) -> None:
        """Handle a frame of the warden without waiting. Raise Violation."""
        if len(payload) < 4:
            raise Violation("The warden sent a frame without a connection.")
        number = struct.unpack(">I", payload[:4])[0]
        if kind != b"C":
            if number in self._streams:
                self._streams[number].take(kind, payload[4:])
            return
        if number in self._streams or len(self._tasks) >= 2 * MOST:
            raise Violation("The warden opened more connections than it may.")
        stream = self._streams[number] = Stream(number, self._send)
        task = asyncio.create_task(self._work(number, stream))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End all connections without a further frame to the warden."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def cut(self) -> None:
        """Close every connection; new ones may be opened."""
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    async def _work(self, number: int, stream: Stream) -> None:
        try:
            await self._serve(stream)
        except AlitaError as error:
            self.failure = self.failure or error
            if not self._closed:
                self.broken()
        except (OSError, EOFError):
            pass  # the tool hung up, or its container ended
        finally:
            self._streams.pop(number, None)
            if not self._closed:
                with suppress(OSError):
                    await stream.end()
