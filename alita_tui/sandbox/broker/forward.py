"""Forwards a request or a tunnel of the tool to a granted host: to a checked address, counted and recorded."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable

import h11

from alita_tui.sandbox.broker.grants import Entry, Refused, RunGrants
from alita_tui.sandbox.broker.http import Headers, HttpConnection, passed_on
from alita_tui.sandbox.broker.outward import connected_to
from alita_tui.sandbox.broker.secrets import RequestSecrets
from alita_tui.sandbox.broker.streams import Pipe
from alita_tui.spine.grants import METHODS, HostGrant


async def tunnel(connection: HttpConnection, grants: RunGrants, grant: HostGrant, entry: Entry) -> None:
    """Copy bytes both ways without reading them: TLS between the tool and the host. Raise Refused."""
    async with connected_to(grants, grant, entry, None, opaque=True) as host:
        host_pipe = host.pipe
        entry.status, entry.tunnel = 200, True
        await connection.send(h11.Response(status_code=200, headers=[]))
        early, _ = connection.http.trailing_data
        if early:
            await host_pipe.write(early)
        tool = connection.pipe
        copies = [
            asyncio.ensure_future(_copy(tool, host_pipe)),
            asyncio.ensure_future(_copy(host_pipe, tool)),
        ]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
            if not copies[1].done():  # the tool sends no more; the host may still answer
                await asyncio.wait(copies)
        finally:
            for copy in copies:
                copy.cancel()
            await asyncio.wait(copies)
        for copy in copies:
            if not copy.cancelled() and isinstance(error := copy.exception(), Refused):
                raise error


async def _copy(source: Pipe, sink: Pipe) -> None:
    while data := await source.read():
        await sink.write(data)


async def forward(
    connection: HttpConnection,
    request: h11.Request,
    grants: RunGrants,
    grant: HostGrant,
    entry: Entry,
    tls: ssl.SSLContext | None,
) -> None:
    """Forward a request and return its response. The tool follows redirects itself, each as a new request.

    Raise Refused while no response has begun.
    """
    method = request.method.decode("ascii", "replace")
    if method not in (grant.methods or METHODS):
        raise Refused(403, f"{method} is not granted for {grant.where}")
    keyring = RequestSecrets(grants, grant, entry)
    target = keyring.into_target(path_of(request.target))
    headers = keyring.into_headers(
        _to_host(passed_on(request.headers), grant, tls, request.headers, secret=bool(grants.secrets))
    )
    headers, body = await keyring.into_body(headers, connection.body())
    async with connected_to(grants, grant, entry, tls) as upstream:
        if entry.secrets and not upstream.private:
            raise Refused(403, f"{grant.where} would get a secret without TLS")
        host = HttpConnection(upstream.pipe, grants.caps.head_bytes, server=False)
        target, headers = upstream.prefix + target, upstream.headers + headers
        try:
            await host.send(h11.Request(method=request.method, target=target, headers=headers), hold=True)
            async for piece in body:
                await host.send(h11.Data(data=piece))
            await host.send(h11.EndOfMessage())
            await _answer(connection, host, keyring, entry)
        except h11.LocalProtocolError as error:
            problem = keyring.mask().text(str(error))
            raise Refused(400, f"the request is no valid HTTP: {problem}") from None
        except (h11.RemoteProtocolError, OSError, EOFError) as error:
            problem = keyring.mask().text(str(error)) if entry.received else "it hung up without an answer"
            raise Refused(502, f"{grant.where} broke off: {problem}", failed=True) from None
        except ValueError as error:
            raise Refused(
                502, f"the answer of {grant.where} is not passed on: {error}", failed=True
            ) from None


async def _answer(
    connection: HttpConnection, host: HttpConnection, keyring: RequestSecrets, entry: Entry
) -> None:
    answer = await host.next()
    while isinstance(answer, h11.InformationalResponse):
        answer = await host.next()
    if not isinstance(answer, h11.Response):
        raise EOFError("it did not answer")
    mask = keyring.mask()
    headers = passed_on(answer.headers)
    if mask.needed:
        encodings = [value for name, value in headers if name.lower() == b"content-encoding"]
        if any(value.lower() != b"identity" for value in encodings):
            raise Refused(502, "the answer is packed, so that a secret could hide in it", failed=True)
        headers = mask.headers(headers)
    entry.status = answer.status_code
    reason = mask.text(answer.reason.decode("latin-1")).encode("latin-1", "replace")
    response = h11.Response(status_code=answer.status_code, headers=headers, reason=reason)
    await connection.send(response, hold=bool(host.http.trailing_data[0]) or _has_short_body(headers))
    async for piece in host.body():
        await connection.send(h11.Data(data=mask.masked(piece)))
    await connection.send(h11.Data(data=mask.masked(b"", last=True)), hold=True)
    await connection.send(h11.EndOfMessage())


def _has_short_body(headers: Headers) -> bool:
    """Return whether the body surely follows at once: its length is stated, and short."""
    lengths = [value for name, value in headers if name.lower() == b"content-length"]
    return bool(lengths) and len(lengths[0]) <= 5


def path_of(target: bytes) -> bytes:
    """Return path and query of a target, which a client of a proxy sends as a whole URL."""
    if target.startswith(b"/"):
        return target
    remainder = target.partition(b"://")[2]
    for position, byte in enumerate(remainder):
        if byte in b"/?":
            return remainder[position:] if byte == 0x2F else b"/" + remainder[position:]
    return b"/"


def _to_host(
    headers: Headers,
    grant: HostGrant,
    tls: ssl.SSLContext | None,
    original: Iterable[tuple[bytes, bytes]],
    *,
    secret: bool,
) -> Headers:
    """Return the headers that the host gets: its own name, and one request per connection.

    With `secret` the run has a secret, which any host may have received: then no compressed response is requested.
    """
    default_port = grant.port == (443 if tls else 80)
    host_name = f"[{grant.host}]" if ":" in grant.host else grant.host
    kept_headers = [
        (key, value)
        for key, value in headers
        if key.lower() not in (b"host", b"expect") and not (secret and key.lower() == b"accept-encoding")
    ]
    own_headers = [
        (b"Host", (host_name if default_port else f"{host_name}:{grant.port}").encode()),
        (b"Connection", b"close"),
    ]
    if any(key.lower() == b"transfer-encoding" for key, _ in original):
        own_headers.append((b"Transfer-Encoding", b"chunked"))
    if secret:
        own_headers.append((b"Accept-Encoding", b"identity"))
    return own_headers + kept_headers
