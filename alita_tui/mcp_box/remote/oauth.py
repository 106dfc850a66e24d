"""OAuth 2.1 with PKCE for a remote server: the SDK's flow, with the storage that the SDK leaves to its user.

The SDK does not store when a token expires and which authorization server issued it, so after a restart it would open
the browser again, or send the refresh token to the MCP server. The redirect has to keep its registered port. Two
processes that refresh one rotating token at once both lose it. So this module stores all of that, under a lock.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from pydantic import BaseModel

from alita_tui.events import ready
from alita_tui.mcp_box.remote.guard import LOGIN, Guard
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.errors import UsageError

_LOGIN_SECONDS = 300.0
_EARLY_SECONDS = 10.0
"""Seconds before its expiry from which a token is refreshed first."""
_PAGE = b"<!doctype html><title>alita</title><p>That was all. You can close this page."


class Vault(Protocol):
    """Stores the tokens of one server. Its methods block."""

    def read(self) -> str:
        """Return the stored text; empty if there is none."""

    def write(self, text: str) -> None:
        """Store a text. Raises StoreError."""


Learn = Callable[[str, str], None]
"""Gets the name and value of each secret before it is used, so that it is never shown or recorded."""


class _Credentials(msgspec.Struct, omit_defaults=True):
    """The stored login of one server."""

    tokens: dict[str, Any] | None = None
    expires: float = 0.0
    client: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    port: int = 0


class _Store:
    """Implements the SDK's `TokenStorage`."""

    def __init__(self, vault: Vault, learn: Learn) -> None:
        self._vault = vault
        self._learn = learn
        self.metadata: Callable[[], OAuthMetadata | None] = lambda: None

    async def load(self) -> _Credentials:
        text = await asyncio.to_thread(self._vault.read)
        try:
            credentials = (
                msgspec.json.decode(text.encode(), type=ready(_Credentials)) if text else _Credentials()
            )
        except msgspec.MsgspecError:
            return _Credentials()
        self._register(credentials)
        return credentials

    def _register(self, credentials: _Credentials) -> None:
        """Register the secrets with the redactor before they are used."""
        for name in ("access_token", "refresh_token", "client_secret"):
            if value := ((credentials.tokens or {}) | (credentials.client or {})).get(name):
                self._learn(name.replace("_", " "), str(value))

    async def save(self, credentials: _Credentials) -> None:
        self._register(credentials)
        await asyncio.to_thread(self._vault.write, msgspec.json.encode(credentials).decode())

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens; if they have expired, with an empty access token, so that the SDK refreshes them."""
        credentials = await self.load()
        if credentials.tokens is None:
            return None
        token = OAuthToken.model_validate(credentials.tokens)
        if credentials.expires and time.time() > credentials.expires - _EARLY_SECONDS:
            token.access_token = ""
        return token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        credentials = await self.load()
        credentials.tokens = _plain(tokens)
        credentials.expires = time.time() + tokens.expires_in if tokens.expires_in else 0.0
        if (metadata := self.metadata()) is not None:
            credentials.metadata = _plain(metadata)
        await self.save(credentials)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        credentials = await self.load()
        return OAuthClientInformationFull.model_validate(credentials.client) if credentials.client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        credentials = await self.load()
        credentials.client = _plain(client_info)
        await self.save(credentials)


class Login(OAuthClientProvider):
    """The SDK's provider; before a request it reloads the stored tokens, and refreshes them under a shared lock."""

    def __init__(
        self,
        url: str,
        store: _Store,
        redirect: str,
        lock: Path,
        browse: Callable[[str], Awaitable[None]],
        answer: Callable[[], Awaitable[AuthorizationCodeResult]],
        *,
        quiet: bool = False,
    ) -> None:
        """With `quiet` the authorization server gets no request until the person has logged in once."""
        metadata = OAuthClientMetadata.model_validate(
            {
                "client_name": "alita",
                "redirect_uris": [redirect],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
            }
        )
        super().__init__(url, metadata, store, browse, answer)
        self._store = store
        self._lock_file = lock
        self._quiet = quiet
        store.metadata = lambda: self.context.oauth_metadata

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Yield the requests of the flow; those before `request` itself are sent under the lock."""
        if self._quiet and (await self._store.load()).tokens is None:
            if (yield request).status_code == 401:
                await self.context.redirect_handler("")  # type: ignore[misc]  # it raises
            return
        async with aclosing(super().async_auth_flow(request)) as flow:
            async with _alone(self._lock_file):
                await self._reload()
                outgoing = await anext(flow)
                while outgoing is not request:
                    outgoing = await flow.asend((yield _marked(outgoing)))
            response = yield outgoing
            while True:
                try:
                    outgoing = await flow.asend(response)
                except StopAsyncIteration:
                    return
                response = yield outgoing if outgoing is request else _marked(outgoing)

    async def _reload(self) -> None:
        credentials = await self._store.load()
        if credentials.metadata is not None:
            self.context.oauth_metadata = OAuthMetadata.model_validate(credentials.metadata)
        self.context.current_tokens = await self._store.get_tokens()
        self.context.client_info = await self._store.get_client_info()
        self.context.token_expiry_time = credentials.expires or None
        self._initialized = True


def _marked(request: httpx2.Request) -> httpx2.Request:
    """Return a request marked as part of the login, so that its answer is limited in size."""
    request.extensions[LOGIN] = True
    return request


@asynccontextmanager
async def _alone(file: Path) -> AsyncIterator[None]:
    """Hold a lock that all processes of this home share."""
    fd = await asyncio.to_thread(os.open, file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        await asyncio.to_thread(fcntl.flock, fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


async def quiet_login(url: str, vault: Vault, lock: Path, name: str, learn: Learn) -> Login:
    """Return a login with the stored tokens. A request that would need a browser raises UsageError."""
    store = _Store(vault, learn)
    port = (await store.load()).port

    async def refused(*_: object) -> Any:
        raise UsageError(f"The server {name} asks for a login.", hint=f"alita mcp login {name}")

    return Login(url, store, f"http://127.0.0.1:{port or 1}/callback", lock, refused, refused, quiet=True)


@asynccontextmanager
async def login(
    url: str,
    vault: Vault,
    lock: Path,
    show: Callable[[str], Awaitable[None]],
    policy: AddressPolicy,
    learn: Learn,
) -> AsyncIterator[Login]:
    """Yield an interactive login: `show` gets the URL that the person opens in a browser."""
    guard = Guard(url, policy)
    answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def checked(page: str) -> None:
        nonlocal answer
        await guard.check(page)
        # A server may ask again within one login: for more scopes, or after it moved to another authorization server.
        answer = asyncio.get_running_loop().create_future()
        await show(page)

    store = _Store(vault, learn)
    credentials = await store.load()

    async def redirected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request_line = (await reader.readline()).decode("latin-1").split()
        target = urlsplit(request_line[1]) if len(request_line) > 1 else urlsplit("/")
        parameters = {key: values[0] for key, values in parse_qs(target.query).items()}
        is_callback = target.path == "/callback" and ("code" in parameters or "error" in parameters)
        status = b"200 OK" if is_callback else b"404 Not Found"
        writer.write(b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" % status)
        writer.write(_PAGE if is_callback else b"")
        await writer.drain()
        writer.close()
        if is_callback and not answer.done():
            answer.set_result(parameters)

    async def answered() -> AuthorizationCodeResult:
        try:
            async with asyncio.timeout(_LOGIN_SECONDS):
                parameters = await answer
        except TimeoutError:
            raise UsageError(f"Nobody logged in within {_LOGIN_SECONDS:.0f} s.") from None
        learn("code", parameters.get("code", ""))
        return AuthorizationCodeResult(
            code=parameters.get("code", ""), state=parameters.get("state"), iss=parameters.get("iss")
        )

    try:
        listener = await asyncio.start_server(redirected, "127.0.0.1", credentials.port)
    except OSError:  # another program uses the registered port, so another one is registered
        credentials.client, credentials.tokens = None, None
        listener = await asyncio.start_server(redirected, "127.0.0.1", 0)
    credentials.port = listener.sockets[0].getsockname()[1]
    await store.save(credentials)
    async with listener:
        yield Login(url, store, f"http://127.0.0.1:{credentials.port}/callback", lock, checked, answered)


def _plain(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)
