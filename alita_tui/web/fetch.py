"""The only access to the network: guarded, pinned, capped and timed requests, GET or POST.

Each request connects to an address that the guard checked, with the original name in the Host
header and in the TLS handshake. Redirects are followed here, each hop checked again. Connections
are not kept: two names on one address must never share a connection whose certificate was checked
for one of them.

A proxy named in the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY) is used: the proxy
then resolves names and decides where they lead; private literals and names that are private from
here are still refused. Loopback hosts never go through it.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from alita_tui.events import Value
from alita_tui.spine.address import AddressPolicy, host_key
from alita_tui.spine.errors import WebError
from alita_tui.spine.proxies import Proxies
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    import httpx

_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 5
_TRIES = 3
Origin = tuple[str, int]


class Fetched(Value, frozen=True):
    """One answer, redirects followed. Untrusted."""

    url: str
    status: int
    headers: dict[str, str]
    """Lower-case names."""
    body: bytes
    truncated: bool = False


class _Cap(Value, frozen=True):
    """Bytes of an answer at most, by its media type."""

    usual: int
    others: Mapping[str, int]

    def of(self, response: httpx.Response) -> int:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return self.others.get(kind, self.usual)


class Fetcher:
    """Requests over one pool. Bound to the event loop that first uses it."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        timeout: float,
        max_bytes: int,
        user_agent: str,
        environ: Mapping[str, str],
    ) -> None:
        self._policy = policy
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._user_agent = user_agent
        self._proxies = Proxies(environ)
        self._transports: dict[str, httpx.AsyncHTTPTransport] = {}
        self._opening = asyncio.Lock()
        self._closed = False

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        conditions: tuple[str, Mapping[str, str]] | None = None,
        trusted: str = "",
        max_bytes: int = 0,
        caps: Mapping[str, int] | None = None,
        body: bytes | None = None,
        before: Callable[[str], Awaitable[None]] | None = None,
    ) -> Fetched:
        """Return the answer of a URL, after all redirects, within the time limit; beyond its cap it is cut.

        `headers` go to the first host only, those of `conditions` to its address only. `trusted` is a URL of the
        settings, whose host may be private. `caps` are those of media types that differ. A `body` is posted, and
        nowhere else: a redirect of it is refused. `before` is asked about each address on the way, and may raise.
        Raise WebError, AddressRefused.
        """
        target = await asyncio.to_thread(_parse, url)  # a thread, as it imports httpx
        private = frozenset({origin_of(_parse(trusted))} if trusted else ())
        try:
            async with asyncio.timeout(self._timeout):
                sent = (dict(headers or {}), conditions or ("", {}))
                cap = _Cap(max_bytes or self._max_bytes, caps or {})
                return await self._follow(target, *sent, private, cap, body, before)
        except TimeoutError as error:
            raise WebError(
                f"{one_line(target.host, 80)} did not answer within {self._timeout:g} s.",
                hint="Try again, or raise web.timeout in the settings.",
            ) from error

    async def _follow(
        self,
        url: httpx.URL,
        headers: dict[str, str],
        conditions: tuple[str, Mapping[str, str]],
        trusted: frozenset[Origin],
        cap: _Cap,
        posted: bytes | None,
        before: Callable[[str], Awaitable[None]] | None,
    ) -> Fetched:
        first_origin = origin_of(url)
        for _ in range(_MAX_REDIRECTS + 1):
            sent = dict(headers) if origin_of(url) == first_origin else {}
            if _without_fragment(url) == conditions[0]:
                sent |= conditions[1]
            if before:
                await before(_without_fragment(url))
            response = await self._send(url, sent, trusted, posted)
            try:
                location = response.headers.get("location", "")
                if response.status_code in _REDIRECTS and location:
                    if posted is not None:
                        raise WebError(
                            f"{one_line(first_origin[0], 80)} wants what was sent to it sent elsewhere.",
                            hint="Check its base URL.",
                        )
                    url = _parse(location, url)
                    continue
                body, cut = await _unpacked_body(response, cap.of(response))
                return Fetched(
                    url=_without_fragment(url),
                    status=response.status_code,
                    headers={name.lower(): value for name, value in response.headers.items()},
                    body=body,
                    truncated=cut,
                )
            except Exception as error:
                raise _explain(error, url.host) from error
            finally:
                await response.aclose()
        raise WebError(
            f"{one_line(first_origin[0], 80)} redirected more than {_MAX_REDIRECTS} times.",
            hint="Try another page.",
        )

    async def _send(
        self, url: httpx.URL, headers: dict[str, str], trusted: frozenset[Origin], posted: bytes | None
    ) -> httpx.Response:
        import httpx

        host, port = origin_of(url)
        proxy = self._proxies.of(url.scheme, host)
        addresses = await self._policy.check(host, port, trusted=trusted, proxied=bool(proxy))
        transport = await self._transport(proxy)
        extensions: dict[str, object] = {"timeout": httpx.Timeout(self._timeout).as_dict()}
        if not proxy and host not in addresses:
            extensions["sni_hostname"] = host
        tries = [url] if proxy else [url.copy_with(host=address) for address in addresses[:_TRIES]]
        for retries, target in zip(range(len(tries) - 1, -1, -1), tries, strict=True):
            request = httpx.Request(
                "GET" if posted is None else "POST",
                target,
                content=posted,
                headers={
                    "Host": url.netloc.decode("ascii"),
                    "User-Agent": self._user_agent,
                    "Accept-Encoding": "gzip",
                    **headers,
                },
                extensions=extensions,
            )
            try:
                return await transport.handle_async_request(request)
            except Exception as error:
                if retries and isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                    continue
                raise _explain(error, host) from error
        raise AssertionError("the guard returns at least one address")

    async def _transport(self, proxy: str) -> httpx.AsyncHTTPTransport:
        async with self._opening:
            if self._closed:
                raise WebError("The connections of this session are closed.")
            if proxy not in self._transports:
                self._transports[proxy] = await asyncio.to_thread(_open, proxy)
            return self._transports[proxy]

    async def close(self) -> None:
        """Close what is open; later requests raise WebError."""
        self._closed = True
        while self._transports:
            await self._transports.popitem()[1].aclose()


def origin_of(url: httpx.URL) -> Origin:
    """Return the host in the form for comparison, and the port."""
    return host_key(url.raw_host.decode("ascii")), url.port or (443 if url.scheme == "https" else 80)


def _without_fragment(url: httpx.URL) -> str:
    return str(url.copy_with(fragment=None))


def _open(proxy: str) -> httpx.AsyncHTTPTransport:
    import httpx

    limits = httpx.Limits(max_connections=8, max_keepalive_connections=0)
    try:
        return httpx.AsyncHTTPTransport(limits=limits, proxy=proxy or None)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        raise WebError(
            "The proxy named in the environment cannot be used.",
            hint="HTTP_PROXY and HTTPS_PROXY take an http:// or https:// address; unset them to go direct.",
        ) from error


def _parse(url: str, base: httpx.URL | None = None) -> httpx.URL:
    import httpx

    try:
        parsed = base.join(url) if base is not None else httpx.URL(url.strip())
        ok = parsed.scheme in ("http", "https") and bool(parsed.host) and (parsed.port or 1) < 65536
        origin_of(parsed)
    except (httpx.InvalidURL, ValueError) as error:
        raise WebError(
            f"{one_line(url, 120)!r} is not a web address.", hint="Give a whole http:// or https:// address."
        ) from error
    if not ok:
        raise WebError(
            f"{one_line(url, 120)!r} is not a web page's address.",
            hint="Give a whole http:// or https:// address; no other kind is opened.",
        )
    if parsed.userinfo:
        raise WebError(
            f"An address of {one_line(parsed.host, 80)} has a user name in it and was not opened.",
            hint="Leave out the part before the @.",
        )
    return parsed


async def _unpacked_body(response: httpx.Response, cap: int) -> tuple[bytes, bool]:
    """Return the unpacked body and whether it was cut; it never grows past the cap in memory."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise WebError(f"The answer is packed as {one_line(encoding, 40)!r}, which is not read.")
    packed = encoding not in ("", "identity")
    unpacker = zlib.decompressobj(wbits=47)  # 47: gzip or zlib, told apart by their headers
    body = bytearray()
    async for chunk in response.aiter_raw():
        room = cap + 1 - len(body)
        body += unpacker.decompress(chunk, room) if packed else chunk[:room]
        if len(body) > cap:
            return bytes(body[:cap]), True
    return bytes(body), packed and bool(response.status_code == 200 and body) and not unpacker.eof


def _explain(error: Exception, host: str) -> WebError:
    """Return what went wrong below HTTP as an error for people."""
    import httpx

    host = one_line(host, 80)
    if isinstance(error, WebError):
        return error
    if isinstance(error, httpx.TimeoutException):
        return WebError(
            f"{host} did not answer in time.", hint="Try again, or raise web.timeout in the settings."
        )
    if isinstance(error, httpx.ProxyError):
        return WebError(f"The proxy refused the way to {host}.", hint="Check HTTP_PROXY and HTTPS_PROXY.")
    if _tls(error):
        return WebError(
            f"{host} has no certificate that can be trusted: {one_line(str(error), 120)}.",
            hint="A private authority's certificate goes into the file that SSL_CERT_FILE names.",
        )
    if isinstance(error, httpx.ConnectError):
        return WebError(f"{host} could not be reached.", hint="Check the network connection.")
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL | zlib.error):
        return WebError(f"{host} sent a broken answer: {one_line(str(error), 120) or 'connection lost'}.")
    raise error


def _tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
