"""HTTP with Podman's socket: one request on a connection of its own, read and written by h11."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import h11

from alita_tui.spine.errors import SandboxUnavailable

_API = "/v4.0.0/libpod"
_PIECE = 1 << 16
_LARGEST_HEAD = 1 << 16


class RestError(Exception):
    """A response that is no success."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"HTTP {status}: {_reason(body)}")
        self.status = status


class ServiceLost(SandboxUnavailable):
    """The service went away before it answered, so nobody knows what it did."""


class EngineLost(SandboxUnavailable):
    """The engine went away while a tool ran: the tool must not be run again without being asked."""


@contextmanager
def unbroken() -> Iterator[None]:
    """Raise ServiceLost if the connection breaks or the answer is incomplete."""
    try:
        yield
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, h11.RemoteProtocolError) as error:
        raise ServiceLost(f"Podman's service broke off: {error}.") from error


class Exchange:
    """One request and its response. Every method may raise what `unbroken` turns into ServiceLost."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)

    @classmethod
    async def open(cls, socket: Path) -> Exchange:
        """Return a new connection. Raise OSError."""
        return cls(*await asyncio.open_unix_connection(str(socket), limit=1 << 20))

    async def begin(
        self, method: str, target: str, *, size: int = 0, kind: str = "json", upgrade: bool = False
    ) -> None:
        """Send the request's head; `upgrade` asks for the bare connection in place of a response body."""
        headers = [("Host", "podman"), ("Content-Type", f"application/{kind}"), ("Content-Length", str(size))]
        headers += [("Connection", "Upgrade"), ("Upgrade", "tcp")] if upgrade else [("Connection", "close")]
        await self._send(h11.Request(method=method, target=_API + target, headers=headers))

    async def send(self, piece: bytes) -> None:
        """Send a piece of the request's body."""
        await self._send(h11.Data(data=piece))

    async def status(self) -> int:
        """End the request and return the response's status; nothing past its head is read."""
        await self._send(h11.EndOfMessage())
        while True:
            self._http.receive_data(await self.reader.readuntil(b"\r\n\r\n"))
            event = self._http.next_event()
            if isinstance(event, h11.Response):
                return event.status_code
            if isinstance(event, h11.InformationalResponse) and event.status_code == 101:
                return event.status_code

    async def body(self) -> bytes:
        """Return the whole body of the response."""
        received = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self.reader.read(_PIECE))
            elif isinstance(event, h11.Data):
                received += event.data
            else:
                return bytes(received)

    async def close(self) -> None:
        """Drop the connection, whatever is left to write, and wait until its socket is closed."""
        self.writer.transport.abort()
        with suppress(OSError):
            await self.writer.wait_closed()

    async def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            self.writer.write(data)
            await self.writer.drain()


def _reason(body: bytes) -> str:
    try:
        parsed = json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")[:400]
    if not isinstance(parsed, dict):
        return ""
    return str(parsed.get("message") or parsed.get("cause") or parsed)[:400]
