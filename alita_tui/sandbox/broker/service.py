"""What a connection of the tool is served: as a proxy to granted hosts, and files and models by name."""

from __future__ import annotations

import asyncio
import re
import ssl

import h11

from alita_tui.sandbox.broker.desk import Desk, Entry, Refused
from alita_tui.sandbox.broker.forward import forward, tunnel
from alita_tui.sandbox.broker.http import Talk
from alita_tui.sandbox.broker.local import Local
from alita_tui.sandbox.broker.streams import Pipe, Stream
from alita_tui.sandbox.broker.tls import Authority, TlsPipe
from alita_tui.spine.address import host_key
from alita_tui.spine.grants import HostGrant

_PLACE = re.compile(rb"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
_URL = re.compile(rb"http://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?(?:[/?]\S*)?")

_OWN = re.compile(rb"(?:http://127\.0\.0\.1:\d{1,5})?(/files/[^?]*|/model)(?:\?.*)?")
"""The broker's own paths; a client that goes through its proxy even to the loopback names it whole."""


class Service:
    """All connections of one run."""

    def __init__(self, desk: Desk, local: Local, authority: Authority, trust: ssl.SSLContext) -> None:
        self._desk = desk
        self._local = local
        self._authority = authority
        self._trust = trust
        """What hosts have to be certified by."""

    async def serve(self, stream: Stream) -> None:
        """One connection of the tool, request after request. Raises AlitaError where it is not the tool's fault."""
        await self._requests(stream, None)

    async def _requests(self, pipe: Pipe, inside: HostGrant | None) -> None:
        """`inside` is the host that the tool believes to talk to, where TLS ends here."""
        talk = Talk(pipe, self._desk.caps.head_bytes)
        while True:
            entry = self._desk.answered("a request that is no HTTP")
            try:
                request = await talk.next()
            except h11.RemoteProtocolError as error:
                await self._end(talk, entry, Refused(error.error_status_hint, f"no valid HTTP: {error}"))
                return
            if not isinstance(request, h11.Request):
                return
            why: Refused | None = None
            upgraded: HostGrant | None = None
            try:
                entry.request = _told(request, inside)
                await self._desk.turn()
                upgraded = await self._handle(talk, request, entry, inside)
            except Refused as error:
                why = error
            except h11.RemoteProtocolError as error:
                why = Refused(400, f"no valid HTTP: {error}")
            except (asyncio.CancelledError, OSError) as error:
                whole = entry.tunnel or talk.http.our_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)
                broke = Refused(0, f"the run ended before it was served {error}".strip(), failed=True)
                await self._desk.record(entry.done(None if whole else broke))
                raise
            if upgraded is not None:
                return await self._inside(talk, upgraded, entry)
            if not await self._end(talk, entry, why):
                return

    async def _handle(
        self, talk: Talk, request: h11.Request, entry: Entry, inside: HostGrant | None
    ) -> HostGrant | None:
        """Carry a request out; the host whose TLS the tool is to begin now, if any. Raises Refused."""
        if inside is not None:
            if not request.target.startswith(b"/"):
                raise Refused(400, "no path")
            await forward(talk, request, self._desk, inside, entry, self._trust)
        elif request.method == b"CONNECT":
            grant = self._grant(_PLACE.fullmatch(request.target), 0)
            if self._desk.ends_tls:
                return grant
            await tunnel(talk, self._desk, grant, entry)
        elif own := _OWN.fullmatch(request.target):
            await self._local.answer(talk, request.method.decode("ascii"), own[1].decode("ascii"), entry)
        else:
            grant = self._grant(_URL.fullmatch(request.target), 80)
            await forward(talk, request, self._desk, grant, entry, None)
        return None

    def _grant(self, found: re.Match[bytes] | None, usual: int) -> HostGrant:
        if found is None:
            raise Refused(400, "the broker takes http:// addresses, CONNECT host:port, and paths of its own")
        port = int(found[2]) if found[2] else usual
        return self._desk.grant(host_key(found[1].decode("ascii")), port)

    async def _inside(self, talk: Talk, grant: HostGrant, entry: Entry) -> None:
        """TLS ends here: the tool's requests are read, and each is a request of its own to the host."""
        context = await asyncio.to_thread(self._authority.context, grant.host)
        await talk.send(h11.Response(status_code=200, headers=[]))
        pipe = TlsPipe(talk.pipe, context)
        try:
            await pipe.shake_hands()
        except ssl.SSLError as error:
            entry.status = 200
            why = Refused(0, f"the tool did not accept the broker's certificate: {error.reason}", failed=True)
            await self._desk.record(entry.done(why))
            return
        await self._requests(pipe, grant)

    async def _end(self, talk: Talk, entry: Entry, why: Refused | None) -> bool:
        """Tell of a request, answer a refusal; true when the connection may be used again.

        Raises AlitaError where it cannot be recorded.
        """
        if why is not None and talk.http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            entry.status = why.status
        await self._desk.record(entry.done(why))
        try:
            if why is not None:
                await talk.refuse(why)
            if talk.http.our_state is h11.DONE and talk.http.their_state is h11.DONE:
                talk.http.start_next_cycle()
                return True
        except h11.LocalProtocolError:
            pass  # an answer had begun: the connection ends in the middle of it
        return False


def _told(request: h11.Request, inside: HostGrant | None) -> str:
    """A request as it is recorded."""
    method, target = (part.decode("ascii", "replace") for part in (request.method, request.target))
    return f"{method} https://{inside.where}{target}" if inside else f"{method} {target}"
