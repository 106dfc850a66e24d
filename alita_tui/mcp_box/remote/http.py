"""Streamable HTTP to a remote server. Answers are limited in size; its headers are sent only to its own origin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from alita_tui.mcp_box.remote.guard import Bounded, Guard, GuardedTransport, refuse_packed
from alita_tui.mcp_box.remote.wire import LONGEST_LINE, Tap, tapped
from alita_tui.spine.address import AddressPolicy

_CONNECT_SECONDS = 15.0
_READ_SECONDS = 300.0


async def _bound(response: httpx2.Response) -> None:
    refuse_packed(response)
    if (response.request.method == "POST" or response.is_error) and isinstance(
        response.stream, httpx2.AsyncByteStream
    ):
        response.stream = Bounded(response.stream, LONGEST_LINE)


def over_http(
    url: str, headers: Mapping[str, str], policy: AddressPolicy, auth: httpx2.Auth | None = None
) -> Callable[[Tap, Callable[[str], None]], AbstractAsyncContextManager[TransportStreams]]:
    """Return the transport to a server's URL. Redirects are followed only within its origin."""

    @asynccontextmanager
    async def streams(tap: Tap, broken: Callable[[str], None]) -> AsyncIterator[TransportStreams]:
        client = httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity", **headers},
            auth=auth,
            transport=GuardedTransport(Guard(url, policy)),
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
            event_hooks={"response": [_bound]},
        )
        transport = streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_LINE)
        async with client, tapped(transport, tap, broken) as pair:
            yield pair

    return streams
