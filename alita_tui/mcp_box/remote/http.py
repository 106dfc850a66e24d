"""A server by its address: streamable HTTP over TLS, answers bounded, headers sent there and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import urlsplit

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from alita_tui.mcp_box.remote.wire import LONGEST_LINE, Tap, tapped
from alita_tui.spine.errors import UsageError

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CONNECT_SECONDS = 15.0
_READ_SECONDS = 300.0


class TooMuch(httpx2.ReadError):
    """An answer is larger than it may be."""


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, up to a size."""

    def __init__(self, inner: httpx2.AsyncByteStream, most: int) -> None:
        self._inner = inner
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            size += len(piece)
            if size > self._most:
                raise TooMuch(f"an answer is larger than {self._most >> 20} MB")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooMuch("an answer is packed, although that was not accepted")
    if response.request.method == "POST" and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream, LONGEST_LINE)


def check_url(url: str) -> None:
    """Raise UsageError for an address that nothing is sent to: without TLS, or with a password in it."""
    parts = urlsplit(url)
    named = parts.username or parts.password or parts.fragment
    if parts.scheme not in ("http", "https") or not parts.hostname or named:
        raise UsageError("That is no address of a server.", hint="Write it as https://HOST[:PORT]/PATH")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise UsageError(
            f"{parts.hostname} would be talked to without TLS.",
            hint="Use https; http is for this machine alone.",
        )


def over_http(
    url: str, headers: Mapping[str, str], auth: httpx2.Auth | None = None
) -> Callable[[Tap, Callable[[str], None]], AbstractAsyncContextManager[TransportStreams]]:
    """Return the transport to a server's address. Redirects are followed within its origin alone."""

    @asynccontextmanager
    async def streams(tap: Tap, broken: Callable[[str], None]) -> AsyncIterator[TransportStreams]:
        client = httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity", **headers},
            auth=auth,
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
            event_hooks={"response": [_bound]},
        )
        async with client, tapped(streamable_http_client(url, http_client=client), tap, broken) as both:
            yield both

    return streams
