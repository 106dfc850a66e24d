"""Limits where requests for a remote server may go, because a login follows addresses that the server names.

The server's own origin is trusted, because the person typed it. Any other must use TLS and a public address, which is
resolved once; loopback is allowed only for a server on loopback. Answers to a login are limited in size and time.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
from collections.abc import AsyncIterator, Mapping
from typing import cast
from urllib.parse import urlsplit

import httpx2

from alita_tui.spine.address import AddressPolicy, host_key
from alita_tui.spine.errors import UsageError
from alita_tui.spine.proxies import Proxies
from alita_tui.spine.text import one_line

LOGIN = "alita_login"
"""Request extension that marks the requests of a login."""
_LOGIN_BYTES = 256 << 10
_LOGIN_SECONDS = 30.0
_TRIES = 3
_IDLE_SECONDS = 5.0
"""Seconds that an idle connection to the server's own origin stays open."""


class TooMuch(httpx2.ReadError):
    """An answer is larger than allowed."""


def refuse_packed(response: httpx2.Response) -> None:
    """Raise TooMuch for a compressed answer, which would be decompressed without a limit."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooMuch("an answer is compressed, although the request did not accept that")


class Bounded(httpx2.AsyncByteStream):
    """The body of an answer, limited in size."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._most = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > self._most:
                raise TooMuch(f"an answer is larger than {_size(self._most)}")
            yield chunk

    async def aclose(self) -> None:
        """Close the underlying stream."""
        await self._inner.aclose()


def _size(limit: int) -> str:
    return f"{limit >> 20} MB" if limit >> 20 else f"{limit >> 10} kB"


def check_url(url: str) -> None:
    """Raise UsageError for a URL without TLS (loopback excepted) or with a password in it."""
    parts = urlsplit(url)
    has_credentials = parts.username or parts.password or parts.fragment
    if parts.scheme not in ("http", "https") or not parts.hostname or has_credentials:
        raise UsageError("That is no address of a server.", hint="Write it as https://HOST[:PORT]/PATH")
    if parts.scheme == "http" and not _on_loopback(parts.hostname):
        raise UsageError(
            f"{one_line(parts.hostname, 80)} would be talked to without TLS.",
            hint="Use https; http is for this machine alone.",
        )


class Guard:
    """Decides to which addresses one server may make alita send requests."""

    def __init__(self, url: str, policy: AddressPolicy, environ: Mapping[str, str] = os.environ) -> None:
        server_url = httpx2.URL(url)
        self.origin = _origin(server_url)
        self._local = _on_loopback(server_url.host)
        self._policy = policy
        self._proxies = Proxies(environ)

    async def check(self, url: str) -> None:
        """Raise UsageError or WebError for a page to which the person must not be sent."""
        await self.way(httpx2.URL(url))

    async def way(self, url: httpx2.URL) -> tuple[tuple[str, ...], str]:
        """Return the addresses to connect to, best first, and the proxy, empty for none.

        Raises UsageError, WebError, AddressRefused.
        """
        check_url(str(url))
        scheme, host, port = origin = _origin(url)
        if scheme == "http" and not self._local:
            raise UsageError(f"{one_line(host, 80)} would be talked to without TLS, by the word of a server.")
        proxy = self._proxies.of(scheme, host)
        trusted = origin == self.origin or (self._local and _on_loopback(host))
        addresses = await self._policy.check(
            host, port, trusted=frozenset({(host, port)} if trusted else ()), proxied=bool(proxy)
        )
        return addresses, proxy


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests that the guard allows, to the addresses that it resolved."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._open: dict[tuple[str, bool], httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return the response; the answer to a login is read completely.

        Raises AlitaError, httpx2's errors.
        """
        if LOGIN not in request.extensions:
            return await self._sent(request)
        host = one_line(request.url.host, 80)
        try:
            async with asyncio.timeout(_LOGIN_SECONDS):
                response = await self._sent(request)
                try:
                    refuse_packed(response)
                    stream = cast("httpx2.AsyncByteStream", response.stream)
                    body = b"".join([piece async for piece in Bounded(stream, _LOGIN_BYTES)])
                finally:
                    await response.aclose()
        except TimeoutError:
            raise TooMuch(f"{host} did not answer a login within {_LOGIN_SECONDS:.0f} s") from None
        return httpx2.Response(response.status_code, headers=response.headers, content=body)

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        addresses, proxy = await self._guard.way(request.url)
        transport = self._transport(proxy, own_origin=_origin(request.url) == self._guard.origin)
        if proxy:
            return await transport.handle_async_request(request)
        tries = addresses[:_TRIES]
        for retries, address in zip(range(len(tries) - 1, -1, -1), tries, strict=True):
            server_name = {} if address == host_key(request.url.host) else {"sni_hostname": request.url.host}
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, **server_name},
            )
            try:
                return await transport.handle_async_request(pinned)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if not retries:
                    raise
        raise AssertionError("the guard returns at least one address")

    def _transport(self, proxy: str, *, own_origin: bool) -> httpx2.AsyncHTTPTransport:
        """Return a connection pool. Connections to other origins are not reused, so that no two names share one."""
        if (proxy, own_origin) not in self._open:
            limits = httpx2.Limits(
                max_keepalive_connections=None if own_origin else 0, keepalive_expiry=_IDLE_SECONDS
            )
            self._open[proxy, own_origin] = httpx2.AsyncHTTPTransport(limits=limits, proxy=proxy or None)
        return self._open[proxy, own_origin]

    async def aclose(self) -> None:
        """Close all connections."""
        while self._open:
            await self._open.popitem()[1].aclose()


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    return (
        url.scheme,
        host_key(url.raw_host.decode("ascii")),
        url.port or (443 if url.scheme == "https" else 80),
    )


def _on_loopback(host: str) -> bool:
    name = host_key(host)
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
