"""Connections to granted hosts: to addresses that were checked, or by way of the proxy that this machine uses.

Where the environment names a proxy, it resolves the name and decides where that leads; private literals,
and names that are private from here, are refused all the same.
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

_TRIES = 3
_PIECE = 1 << 16


class CountedConnection:
    """A connection. Meets `Pipe`; what goes through it is counted."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, grants: RunGrants, entry: Entry
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._grants = grants
        self._entry = entry

    async def read(self) -> bytes:
        """See `Pipe.read`."""
        data = await self._reader.read(_PIECE)
        self._entry.received += self._grants.received(len(data))
        return data

    async def write(self, data: bytes) -> None:
        """See `Pipe.write`."""
        self._entry.sent += self._grants.sent(len(data))
        self._writer.write(data)
        await self._writer.drain()

    async def head(self) -> bytes:
        """All up to an empty line. Raises EOFError, ValueError where it is too long."""
        try:
            return await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError as error:
            raise ValueError("its answer is too long") from error

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


class HostConnection:
    """A host that was reached."""

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
        """The wire, or TLS on it."""
        self.private = private
        """True where nobody on the way can read along: TLS, or this machine itself."""
        self.prefix = prefix
        """What goes before a request's path: a proxy is given the whole address."""
        self.headers = headers or []
        """What a request has to carry besides its own, for a proxy."""


@asynccontextmanager
async def connected_to(
    grants: RunGrants, grant: HostGrant, entry: Entry, tls: ssl.SSLContext | None, *, through: bool = False
) -> AsyncIterator[HostConnection]:
    """A connection to a granted host; `through` for bytes that nobody here reads. Raises Refused."""
    proxy = grants.proxies.of("https" if tls or through else "http", grant.host)
    addresses = (await grants.pinned(grant, proxied=bool(proxy)))[:_TRIES]
    problem = "there is no address"
    for host, port in [_place(proxy)] if proxy else [(one, grant.port) for one in addresses]:
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
                    found = await _by_proxy(wire, grant, proxy, tls, through=through)
                else:
                    found = HostConnection(
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
                yield found
            finally:
                await wire.close()
            return
    raise Refused(502, f"{grant.where} cannot be reached: {problem}", failed=True)


async def _by_proxy(
    wire: CountedConnection, grant: HostGrant, proxy: str, tls: ssl.SSLContext | None, *, through: bool
) -> HostConnection:
    """Have the proxy lead to the host; hangs up where it does not. Raises OSError, EOFError, ValueError."""
    own = _credentials(proxy)
    if not tls and not through:
        return HostConnection(wire, wire, private=False, prefix=f"http://{grant.where}".encode(), headers=own)
    try:
        where = grant.where.encode()
        lines = [b"CONNECT " + where + b" HTTP/1.1", b"Host: " + where, *map(b": ".join, own), b"", b""]
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


def _place(proxy: str) -> tuple[str, int]:
    """Host and port of a proxy. Raises Refused."""
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    try:
        host, port = parts.hostname or "", parts.port or 80
    except ValueError:
        host, port = "", 0
    if parts.scheme != "http" or not host:
        raise Refused(502, "the proxy that the environment names cannot be used", failed=True)
    return host, port


def _credentials(proxy: str) -> Headers:
    """The header by which a proxy knows us, where its address has a name (RFC 9110, 11.7.2)."""
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.username is None:
        return []
    plain = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return [(b"Proxy-Authorization", b"Basic " + base64.b64encode(plain))]
