"""HTTP/1.1 over a pipe, by h11: heads of a limited size, bodies piece by piece."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus
from typing import Any

import h11

from alita_tui.sandbox.broker.grants import Refused
from alita_tui.sandbox.broker.streams import Pipe
from alita_tui.spine.text import one_line

_DRAINED = 1 << 20
Headers = list[tuple[bytes, bytes]]
_HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"upgrade", b"transfer-encoding"})
"""Headers for a single connection, never forwarded (RFC 9110, 7.6.1); those of a proxy are not forwarded either."""


class HttpConnection:
    """Our side of an HTTP connection: the server's towards the tool, the client's towards a host."""

    def __init__(self, pipe: Pipe, head_bytes: int, *, server: bool = True) -> None:
        self.pipe = pipe
        self._pending = b""
        self.http = h11.Connection(h11.SERVER if server else h11.CLIENT, max_incomplete_event_size=head_bytes)

    async def next(self) -> Any:
        """Return the next event of h11. Raise h11.RemoteProtocolError."""
        while True:
            event = self.http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self.http.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            self.http.receive_data(await self.pipe.read())

    async def send(self, event: h11.Event, *, hold: bool = False) -> None:
        """Write an event; with `hold` it is written together with the next one."""
        self._pending += self.http.send(event) or b""
        if self._pending and not hold:
            data, self._pending = self._pending, b""
            await self.pipe.write(data)

    async def body(self, max_bytes: int = sys.maxsize) -> AsyncIterator[bytes]:
        """Yield the body in pieces. Raise h11.RemoteProtocolError where it breaks off, Refused past `max_bytes`."""
        count = 0
        while True:
            event = await self.next()
            if not isinstance(event, h11.Data):
                return
            count += len(event.data)
            if count > max_bytes:
                raise Refused(413, f"the body may have {max_bytes} bytes")
            yield bytes(event.data)

    async def whole_body(self, max_bytes: int) -> bytes:
        """Return the whole body. Raise Refused past `max_bytes`."""
        return b"".join([piece async for piece in self.body(max_bytes)])

    async def respond(self, status: int, content: bytes, kind: str, *, reason: str = "") -> None:
        """Send a whole response of the broker's own."""
        headers = [("Content-Type", kind), ("Content-Length", str(len(content)))]
        if self.http.their_state is not h11.DONE:  # the rest of the request is not waited for
            headers.append(("Connection", "close"))
        phrase = (reason or HTTPStatus(status).phrase).encode("ascii", "replace")
        await self.send(h11.Response(status_code=status, headers=headers, reason=phrase), hold=True)
        await self.send(h11.Data(data=content), hold=True)
        await self.send(h11.EndOfMessage())

    async def refuse(self, refusal: Refused) -> None:
        """Send the reason for a refusal, unless a response has begun."""
        if self.http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            text = f"alita: {refusal.reason}\n".encode()
            await self.respond(refusal.status, text, "text/plain", reason=str(one_line(refusal.reason, 200)))
            await self._drain()

    async def _drain(self) -> None:
        """Read up to 1 MB more: closing a connection with unread bytes would lose the response."""
        remaining = _DRAINED
        while remaining > 0 and self.http.their_state is h11.SEND_BODY:
            if self.http.they_are_waiting_for_100_continue:
                return
            event = await self.next()
            if not isinstance(event, h11.Data):
                return
            remaining -= len(event.data)


def passed_on(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers without those of a single connection.

    Where the body is chunked, Content-Length is dropped (RFC 9112, 6.1): with both, two programs could see
    two different messages.
    """
    all_headers = list(headers)
    chunked = any(name.lower() == b"transfer-encoding" for name, _ in all_headers)
    connection_tokens = {
        token.strip().lower()
        for name, value in all_headers
        if name.lower() == b"connection"
        for token in value.split(b",")
    }
    return [
        (name, value)
        for name, value in all_headers
        if (lower_name := name.lower()) not in _HOP_BY_HOP
        and lower_name not in connection_tokens
        and not lower_name.startswith(b"proxy-")
        and not (chunked and lower_name == b"content-length")
    ]
