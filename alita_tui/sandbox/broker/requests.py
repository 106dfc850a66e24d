"""Serves the tool's connections: as a proxy to granted hosts, and with paths of its own for files, models, tools."""

from __future__ import annotations

import asyncio
import re
import ssl

import h11

from alita_tui.sandbox.broker import page_log
from alita_tui.sandbox.broker.forward import forward, tunnel
from alita_tui.sandbox.broker.grants import Entry, Refused, RunGrants
from alita_tui.sandbox.broker.http import HttpConnection
from alita_tui.sandbox.broker.local import LocalEndpoints
from alita_tui.sandbox.broker.streams import Pipe, Stream
from alita_tui.sandbox.broker.tls import Authority, TlsPipe
from alita_tui.spine.address import host_key
from alita_tui.spine.grants import HostGrant

_HOST_AND_PORT = re.compile(rb"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
_URL = re.compile(rb"http://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?(?:[/?]\S*)?")

_OWN = re.compile(rb"(?:http://127\.0\.0\.1:\d{1,5})?(/files/[^?]*|/tools/[^?]*|/model)(?:\?.*)?")
"""The broker's own paths; a client that uses the proxy even for the loopback sends the whole URL."""


class RequestServer:
    """Serves all connections of one run."""

    def __init__(
        self, grants: RunGrants, local: LocalEndpoints, authority: Authority, trust: ssl.SSLContext
    ) -> None:
        self._grants = grants
        self._local = local
        self._authority = authority
        self._trust = trust
        """What verifies hosts' certificates."""

    async def serve(self, stream: Stream) -> None:
        """Serve one connection, request after request. Raise AlitaError for a failure that is not the tool's fault."""
        await self._serve_requests(stream, None)

    async def _serve_requests(self, pipe: Pipe, tls_host: HostGrant | None) -> None:
        """Serve requests one after another. Where TLS ends here, `tls_host` is the host that the tool addressed."""
        connection = HttpConnection(pipe, self._grants.caps.head_bytes)
        while True:
            entry = self._grants.answered("a request that is no HTTP")
            try:
                request = await connection.next()
            except h11.RemoteProtocolError as error:
                await self._end(
                    connection, entry, Refused(error.error_status_hint, f"no valid HTTP: {error}")
                )
                return
            if not isinstance(request, h11.Request):
                return
            refusal: Refused | None = None
            upgraded_host: HostGrant | None = None
            try:
                entry.request = _line(request, tls_host)
                if page_log.is_from_launcher(request, self._grants, tls_host):
                    entry.unrecorded = True
                    await page_log.record_messages(connection, self._grants, entry)
                else:
                    await self._grants.turn()
                    upgraded_host = await self._handle(connection, request, entry, tls_host)
            except Refused as error:
                refusal = error
            except h11.RemoteProtocolError as error:
                refusal = Refused(400, f"no valid HTTP: {error}")
            except (asyncio.CancelledError, OSError) as error:
                complete = entry.tunnel or connection.http.our_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)
                broken_off = Refused(0, f"the run ended before it was served {error}".strip(), failed=True)
                await self._record(entry, None if complete else broken_off)
                raise
            if upgraded_host is not None:
                return await self._serve_inside_tls(connection, upgraded_host, entry)
            if not await self._end(connection, entry, refusal):
                return

    async def _handle(
        self, connection: HttpConnection, request: h11.Request, entry: Entry, tls_host: HostGrant | None
    ) -> HostGrant | None:
        """Carry out a request; return the host with which the tool now begins TLS, if any. Raise Refused."""
        if tls_host is not None:
            if not request.target.startswith(b"/"):
                raise Refused(400, "no path")
            await self._forward(connection, request, tls_host, entry, self._trust)
        elif request.method == b"CONNECT":
            grant = self._grant(_HOST_AND_PORT.fullmatch(request.target), 0)
            if self._grants.ends_tls:
                return grant
            await self._tunnel(connection, grant, entry)
        elif own_path := _OWN.fullmatch(request.target):
            await self._local.answer(
                connection, request.method.decode("ascii"), own_path[1].decode("ascii"), entry
            )
        else:
            grant = self._grant(_URL.fullmatch(request.target), 80)
            await self._forward(connection, request, grant, entry, None)
        return None

    async def _tunnel(self, connection: HttpConnection, grant: HostGrant, entry: Entry) -> None:
        """Connect the tool to a host. Raise Refused."""
        await tunnel(connection, self._grants, grant, entry)

    async def _forward(
        self,
        connection: HttpConnection,
        request: h11.Request,
        grant: HostGrant,
        entry: Entry,
        tls: ssl.SSLContext | None,
    ) -> None:
        """Pass a request on to its host, and the answer back. Raise Refused."""
        await forward(connection, request, self._grants, grant, entry, tls)

    def _grant(self, match: re.Match[bytes] | None, default_port: int) -> HostGrant:
        if match is None:
            raise Refused(400, "the broker takes http:// addresses, CONNECT host:port, and paths of its own")
        port = int(match[2]) if match[2] else default_port
        return self._grants.grant(host_key(match[1].decode("ascii")), port)

    async def _serve_inside_tls(self, connection: HttpConnection, grant: HostGrant, entry: Entry) -> None:
        """End TLS here and serve the requests inside it; each becomes a request of its own to the host."""
        context = await asyncio.to_thread(self._authority.context, grant.host)
        await connection.send(h11.Response(status_code=200, headers=[]))
        pipe = TlsPipe(connection.pipe, context)
        try:
            await pipe.shake_hands()
        except ssl.SSLError as error:
            entry.status = 200
            refusal = Refused(
                0, f"the tool did not accept the broker's certificate: {error.reason}", failed=True
            )
            await self._grants.record(entry.done(refusal))
            return
        await self._serve_requests(pipe, grant)

    async def _end(self, connection: HttpConnection, entry: Entry, refusal: Refused | None) -> bool:
        """Record a request and send a refusal; return whether the connection may be used again.

        Raise AlitaError where it cannot be recorded.
        """
        if refusal is not None and connection.http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            entry.status = refusal.status
        await self._record(entry, refusal)
        try:
            if refusal is not None:
                await connection.refuse(refusal)
            if connection.http.our_state is h11.DONE and connection.http.their_state is h11.DONE:
                connection.http.start_next_cycle()
                return True
        except h11.LocalProtocolError:
            pass  # a response had begun: the connection ends in the middle of it
        return False

    async def _record(self, entry: Entry, refusal: Refused | None) -> None:
        """Raise AlitaError where it cannot be recorded."""
        if not entry.unrecorded:
            await self._grants.record(entry.done(refusal))


def _line(request: h11.Request, tls_host: HostGrant | None) -> str:
    """Return a request as it is recorded."""
    method, target = (part.decode("ascii", "replace") for part in (request.method, request.target))
    return f"{method} https://{tls_host.where}{target}" if tls_host else f"{method} {target}"
