"""Frames over a hijacked attach: Podman's own 8-byte headers outside, the warden's inside."""

from __future__ import annotations

import asyncio
import json
import re
import struct
from typing import Any

from alita_tui.sandbox.warden.messages import strict_json
from alita_tui.spine.errors import SandboxUnavailable

_LARGEST_FRAME = 64 << 20
_DEEPEST = 200
_QUOTED = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class Channel:
    """The host's end of the channel to a warden."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()
        self.stderr = bytearray()
        """The container's stderr: errors of the interpreter itself."""

    async def send(self, kind: bytes, payload: bytes) -> None:
        """Write one frame."""
        self._writer.write(frame(kind, payload))
        await self._writer.drain()

    async def receive(self) -> tuple[bytes, bytes] | None:
        """Return the next frame, or None once the container has ended. Raise SandboxUnavailable."""
        while True:
            if (frame := take(self._buffer)) is not None:
                return frame
            if not await self._receive_more():
                return None

    @property
    def ended(self) -> bool:
        """Return whether the other end has closed the channel."""
        return self._reader.at_eof() or self._reader.exception() is not None

    def close(self) -> None:
        """Close the channel; the warden then ends everything inside."""
        self._writer.close()

    async def _receive_more(self) -> bool:
        try:
            header = await self._reader.readexactly(8)
            stream, size = header[0], struct.unpack(">I", header[4:])[0]
            if size > _LARGEST_FRAME:
                raise SandboxUnavailable(f"Podman sent a frame of {size} bytes.")
            piece = await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        if stream == 2:
            self.stderr = (self.stderr + piece)[-4000:]
        else:
            self._buffer += piece
        return True


def frame(kind: bytes, payload: bytes) -> bytes:
    """Return a frame: 4 bytes length, 1 byte type, payload."""
    return struct.pack(">I", len(payload)) + kind + payload


def take(buffer: bytearray) -> tuple[bytes, bytes] | None:
    """Remove and return the first whole frame of a buffer. Raise SandboxUnavailable on an impossible one."""
    if len(buffer) < 5:
        return None
    size = struct.unpack(">I", buffer[:4])[0]
    if size > _LARGEST_FRAME:
        raise SandboxUnavailable(f"The warden announced a frame of {size} bytes.")
    if len(buffer) < 5 + size:
        return None
    kind, payload = bytes(buffer[4:5]), bytes(buffer[5 : 5 + size])
    del buffer[: 5 + size]
    return kind, payload


def parse(text: bytes | str) -> Any:
    """Return the JSON that a container sent. Raise ValueError where it is invalid or nested too deeply."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    depth = deepest = 0
    for byte in _QUOTED.sub(b"", raw).translate(None, _NO_BRACKETS):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        raise ValueError(f"it is nested {deepest} levels deep")
    try:
        value = strict_json(raw)
        if b"\\ud" in raw or b"\\uD" in raw:  # a lone surrogate cannot be passed on as text
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        return value
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
