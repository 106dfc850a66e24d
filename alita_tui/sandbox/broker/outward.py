"""Connections to granted hosts: to checked addresses, or through the proxy that this machine uses.

A proxy named by the environment resolves names itself; private literals, and names that are private when
resolved here, are refused all the same.
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from alita_tui.sandbox.broker.grants import Entry, Refused, RunGrants
from alita_tui.sandbox.broker.http import Headers
from alita_tui.sandbox.broker.streams import Pipe
from alita_tui.sandbox.broker.tls import TlsPipe
from alita_tui.spine.grants import HostGrant

_MOST_ADDRESSES = 3
_PIECE = 1 << 16


class CountedConnection:
    """A pipe whose bytes are counted."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, grants: RunGrants, entry: Entry
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._grants = grants
        self._entry = entry

    async def read(self) -> bytes:
        """Return some bytes; none at the end."""
        data = await self._reader.read(_PIECE)
        self._entry.received += self._grants.received(len(data))
        return data

    async def write(self, data: bytes) -> None:
        """Write, waiting until the bytes are taken."""
        self._entry.sent += self._grants.sent(len(data))
        self._writer.write(data)
        await self._writer.drain()

    async def head(self) -> bytes:
        """Return everything up to an empty line. Raise EOFError; ValueError where that is too long."""
        try:
            return await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError as error:
            raise ValueError("its answer is too long") from error

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


class HostConnection:
    """A connection to a host."""

    def __init__(
        self,
        wire: CountedConnection,
        pipe: Pipe,
        *,
        private: bool,
        prefix: bytes = b"",
        headers: Headers | None = None,
    ) -> None:
        self.wire = wire
        self.pipe = pipe
        """The counted connection, or TLS on top of it."""
        self.private = private
        """True where nobody in between can read it: with TLS, or to a host on this machine."""
        self.prefix = prefix
        """Text before a request's path: a proxy gets the whole URL."""
        self.headers = headers or []
        """Headers to add to a request, for a proxy."""


@asynccontextmanager
async def connected_to(
    grants: RunGrants, grant: HostGrant, entry: Entry, tls: ssl.SSLContext | None, *, opaque: bool = False
) -> AsyncIterator[HostConnection]:
    """Yield a connection to a granted host; `opaque` for a tunnel whose bytes nobody here reads. Raise Refused."""
    proxy = grants.proxies.of("https" if tls or opaque else "http", grant.host)
    addresses = (await grants.pinned(grant, proxied=bool(proxy)))[:_MOST_ADDRESSES]
    problem = "there is no address"
    targets = [_host_and_port(proxy)] if proxy else [(address, grant.port) for address in addresses]
    for host, port in targets:
        try:
            async with asyncio.timeout(grants.caps.connect_seconds):
                reader, writer = await asyncio.open_connection(
                    host,
                    port,
                    ssl=None if proxy else tls,
                    server_hostname=grant.host if tls and not proxy else None,
                )
                wire = CountedConnection(reader, writer, grants, entry)
                if proxy:
                    connection = await _through_proxy(wire, grant, proxy, tls, opaque=opaque)
                else:
                    connection = HostConnection(
                        wire, wire, private=tls is not None or ip_address(host).is_loopback
                    )
        except ssl.SSLError as error:
            problem = f"its certificate is not accepted: {getattr(error, 'verify_message', error.reason)}"
        except TimeoutError:
            problem = f"it did not answer within {grants.caps.connect_seconds:g} s"
        except (OSError, EOFError, ValueError) as error:
            problem = getattr(error, "strerror", None) or str(error)
        else:
            entry.address = f"{host}:{port}, a proxy" if proxy else host
            try:
                yield connection
            finally:
                await wire.close()
            return
    raise Refused(502, f"{grant.where} cannot be reached: {problem}", failed=True)


async def _through_proxy(
    wire: CountedConnection, grant: HostGrant, proxy: str, tls: ssl.SSLContext | None, *, opaque: bool
) -> HostConnection:
    """Return a connection through the proxy; it is closed if the proxy refuses. Raise OSError, EOFError, ValueError."""
    proxy_headers = _credentials(proxy)
    if not tls and not opaque:
        return HostConnection(
            wire, wire, private=False, prefix=f"http://{grant.where}".encode(), headers=proxy_headers
        )
    try:
        authority = grant.where.encode()
        lines = [
            b"CONNECT " + authority + b" HTTP/1.1",
            b"Host: " + authority,
            *map(b": ".join, proxy_headers),
            b"",
            b"",
        ]
        await wire.write(b"\r\n".join(lines))
        status = re.match(rb"HTTP/1\.[01] (\d{3})", await wire.head())
        if status is None or not status[1].startswith(b"2"):
            raise ValueError(f"the proxy answers {status[1].decode() if status else 'no HTTP'}")
        if tls is None:
            return HostConnection(wire, wire, private=False)
        pipe = TlsPipe(wire, tls, host=grant.host)
        await pipe.shake_hands()
        return HostConnection(wire, pipe, private=True)
    except BaseException:
        await wire.close()
        raise


def _host_and_port(proxy: str) -> tuple[str, int]:
    """Return host and port of a proxy. Raise Refused."""
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    try:
        host, port = parts.hostname or "", parts.port or 80
    except ValueError:
        host, port = "", 0
    if parts.scheme != "http" or not host:
        raise Refused(502, "the proxy that the environment names cannot be used", failed=True)
    return host, port


def _credentials(proxy: str) -> Headers:
    """Return the header with the credentials for a proxy, if its URL holds any (RFC 9110, 11.7.2)."""
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.username is None:
        return []
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return [(b"Proxy-Authorization", b"Basic " + base64.b64encode(credentials))]
