"""A model behind a vendor's SDK: one client, one mapping of errors, and an orderly end."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from alita_tui.events import Usage
from alita_tui.llm.assembly import ReplyDraft
from alita_tui.llm.bounds import Silent, TooMuch, bounded, watch
from alita_tui.llm.faults import Endpoint, error_body
from alita_tui.llm.presets import rules_of
from alita_tui.llm.prices import OwnPrice, price
from alita_tui.llm.windows import window_of
from alita_tui.llm.words import most_in
from alita_tui.spine.errors import ModelError
from alita_tui.spine.near_names import nearest_names
from alita_tui.spine.ports.models import Ability, Delta, ModelRequest, Reply
from alita_tui.spine.text import one_line

_CONNECT = 10.0
"""Seconds within which a server has to accept a connection."""
_HURRY = 1.2
"""The same if another model could be asked instead; long enough to resend one lost packet (RFC 6298)."""
_LOOK = 3.0
"""Seconds for a request of ours beside the call: the server's list of models, its window."""
_LOOKS = 3
"""How often a local server is asked for its window: it may load the model only at the first call."""
_NAMED = 5
"""Maximum number of models named in a hint."""
_SENDABLE = re.compile(r"[\x21-\x7e]*")
_UNREACHED = "Check the network and the base URL; is the machine of the server on?"
_UNUSABLE = "Check the base URL, and HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE in the environment."


class RemoteModel(ABC):
    """A model that is asked through an SDK, whose own retries are off so that each attempt is on record."""

    sdk: str
    """The SDK's module."""
    lazy: str
    """The module that the SDK would import at the first call, on the event loop."""

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        api_key: str,
        base_url: str,
        timeout: float,
        own_price: OwnPrice | None = None,
        vision: bool = False,
    ) -> None:
        """`timeout` is the longest silence in seconds."""
        self.abilities: frozenset[Ability] = frozenset({"tools", "vision"} if vision else {"tools"})
        self._at = Endpoint(provider, model, base_url, api_key.strip())
        self._own_price = own_price
        self._timeout = timeout
        self._sdk: Any = None
        self._client: Any = None
        self._opening = asyncio.Lock()
        self._window = 0
        self._looks = 0
        self._most = 0
        """Tokens of the longest reply, once the server refused a longer one; 0: not known."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return self._at.name

    @property
    def recorded(self) -> bool:
        """Return False: a real model replies."""
        return False

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars for a usage, or None when unknown; a server of one's own costs nothing."""
        if self._own_price is None and rules_of(self._at.provider).local:
            return 0.0
        return price(self._at.provider, self._at.model, usage, self._own_price)

    @classmethod
    async def preload(cls) -> Any:
        """Import in threads what the first call needs; return the SDK's module."""
        for name in (cls.lazy, "genai_prices"):
            await asyncio.to_thread(importlib.import_module, name)
        return await asyncio.to_thread(importlib.import_module, cls.sdk)

    async def warm(self) -> None:
        """Import the SDK and make the client, in a thread; sends nothing.

        Raise ModelError when the SDK is missing, or when the key, the base URL or what the
        environment says about proxies and certificates cannot be used.
        """
        async with self._opening:
            if self._client is None:
                await self._open()

    async def _open(self) -> None:
        if not _SENDABLE.fullmatch(self._at.key):
            # Refused here: the HTTP library's own words would show the key, escaped.
            raise self._at.fault("auth", "The key has characters that no key has.")
        try:
            self._sdk = await self.preload()
        except ImportError as error:
            hint = "Install alita again, with all it needs."
            raise self._at.fault("unavailable", f"{error}.", hint=hint) from None
        import httpx2

        try:
            self._client = await asyncio.to_thread(self._connect)
        except httpx2.InvalidURL:  # whose words may show a proxy's password
            raise self._at.fault("unavailable", "A URL cannot be read.", hint=_UNUSABLE) from None
        except (ImportError, OSError, ValueError) as error:
            problem = f"No connection can be set up: {error}"
            raise self._at.fault("unavailable", problem, hint=_UNUSABLE) from None

    async def aclose(self) -> None:
        """Close the connections. The model can be asked again afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """Stream one reply: deltas, then the Reply. Raise ModelError."""
        await self.warm()
        import httpx2

        draft = ReplyDraft()
        try:
            async with aclosing(self._stream(request, draft)) as stream:
                async with aclosing(bounded(stream, self._timeout)) as pieces:
                    async for piece in pieces:
                        yield piece
            reply = draft.finish(self._at, request)
        except (self._sdk.APIError, httpx2.RequestError, TooMuch) as error:
            fault = self._transport_fault(error)
            unknown_model = fault.kind == "not_found" and fault.status in (400, 404, 410)
            raise (await self._with_names(fault) if unknown_model else fault) from None
        except (ValueError, TypeError, AttributeError, LookupError, AssertionError, RuntimeError) as error:
            # The SDKs build events without validating them, so anything may be missing.
            raise self._at.fault(
                "malformed", f"The reply is not what the protocol says ({type(error).__name__}: {error})."
            ) from None
        yield reply

    async def window(self) -> int:
        """Return the window in tokens, 0 when unknown. Only servers of one's own are asked; never raises."""
        if self._window or self._looks >= _LOOKS or not rules_of(self._at.provider).local:
            return self._window
        self._looks += 1
        try:
            await self.warm()
            async with asyncio.timeout(_LOOK):
                self._window = await window_of(self._at, self._client)
        except (ModelError, TimeoutError):
            self._looks = _LOOKS  # it does not answer: the call itself will say so
        return self._window

    async def _with_names(self, fault: ModelError) -> ModelError:
        """Return the error with a hint that names models the server has."""
        try:
            async with asyncio.timeout(_LOOK):
                names = await self.offered()
        except (ModelError, TimeoutError):
            return fault
        if not names or self._at.model in names:
            return fault
        near = nearest_names(self._at.model, names, _NAMED, alike=0.3) or names[:_NAMED]
        more = ", and more: `alita models list " + self._at.provider + "`" if len(names) > len(near) else ""
        fault.hint = f"The server has {', '.join(one_line(name, 80) for name in near)}{more}."
        return fault

    async def offered(self) -> tuple[str, ...]:
        """Return the sorted names of the models that the server lists; empty if it has no list. Raise ModelError."""
        await self.warm()
        import httpx2

        try:
            async with asyncio.timeout(self._timeout):
                listed = await self._client.models.list()
            ids = {str(model.id) for model in listed.data or () if model.id}
            return tuple(sorted(name.removeprefix("models/") for name in ids))  # Gemini's prefix
        except (self._sdk.APIError, httpx2.RequestError, TooMuch, TimeoutError) as error:
            fault = self._transport_fault(error)
            if fault.kind == "not_found":
                return ()
            raise fault from None
        except (ValueError, TypeError, AttributeError) as error:
            problem = f"The list of models is not what the protocol says ({type(error).__name__})."
            raise self._at.fault("malformed", problem) from None

    @abstractmethod
    def _connect(self) -> Any:
        """Return the SDK's client. Called in a thread: its TLS context takes a while."""

    @abstractmethod
    def _stream(self, request: ModelRequest, draft: ReplyDraft) -> AsyncGenerator[Delta, None]:
        """Send the request and fill the draft."""

    def _settings(self) -> dict[str, Any]:
        """Return the arguments of both SDKs' clients; none is left to the environment."""
        import httpx2

        host = urlsplit(self._at.base_url).hostname or ""
        return {
            "api_key": self._at.key or "none",
            "base_url": self._at.base_url,
            "max_retries": 0,
            "timeout": httpx2.Timeout(self._timeout, connect=min(_CONNECT, self._timeout)),
            "http_client": self._sdk.DefaultAsyncHttpxClient(
                event_hooks={"response": [watch]},
                headers={"accept-encoding": "identity"},
                # A redirect would carry the key to another host; a proxy cannot reach this machine.
                follow_redirects=False,
                mounts={f"all://{_bracketed(host)}": None} if _is_loopback(host) else {},
            ),
        }

    def _patience(self, request: ModelRequest) -> Any:
        """Return how long this request waits for a connection and for each piece."""
        import httpx2

        connect = _HURRY if request.hurry else _CONNECT
        return httpx2.Timeout(self._timeout, connect=min(connect, self._timeout))

    def _transport_fault(self, error: Exception) -> ModelError:
        import httpx2

        sdk, at = self._sdk, self._at
        cause = error if isinstance(error, TooMuch) else error.__cause__
        if isinstance(cause, TooMuch):
            return at.fault("timeout" if isinstance(cause, Silent) else "malformed", f"{at.host} {cause}.")
        if isinstance(error, sdk.APIStatusError) and error.status_code != 200:
            body = error_body(_body_of(error), error.response.text)
            self._most = most_in(body.text) or self._most
            return at.answered(error.status_code, body, error.response.headers)
        if isinstance(error.__cause__ or error, httpx2.ConnectTimeout):
            return at.fault("timeout", f"{at.host} took no connection in time.", hint=_UNREACHED)
        if isinstance(error, sdk.APITimeoutError | httpx2.TimeoutException | TimeoutError):
            return at.fault("timeout", f"{at.host} was silent for {self._timeout:g} seconds.")
        if isinstance(error, sdk.APIConnectionError | httpx2.RequestError):
            cause = error.__cause__ or error
            return at.fault(
                "connection", f"The connection to {at.host} failed: {str(cause) or type(cause).__name__}"
            )
        # An error event in the middle of a stream.
        content = getattr(error, "body", None)
        return at.answered(0, error_body(content, str(content or error)), {})


def _body_of(error: Any) -> object:
    """Return the whole body of an error: the SDK keeps only `error`, which is just a sentence at xAI."""
    try:
        return error.response.json()
    except (ValueError, RecursionError):
        return None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    """Return a host as a URL writes it (RFC 3986, 3.2.2)."""
    return f"[{host}]" if ":" in host else host
