"""The server over streamable HTTP, protected by a bearer token and by checks of Host and Origin against web pages.

A page in a browser can reach loopback, also by another name (DNS rebinding); the SDK alone accepts any local origin.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from alita_tui.mcp_box.serve.server import ToolServer
from alita_tui.spine.errors import UsageError

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_MOST_SESSIONS = 64
_IDLE_SECONDS = 300.0
_LARGEST_REQUEST = 16 << 20
_MOST_CONNECTIONS = 256
_HEAD_SECONDS = 10


class Bearer:
    """Refuses every request without the token before the protocol handles it."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = b"Bearer " + token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that carries exactly one header with exactly the token."""
        if scope["type"] == "http":
            authorizations = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(authorizations) != 1 or not hmac.compare_digest(authorizations[0], self._expected):
                headers = [(b"www-authenticate", b'Bearer realm="alita"'), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


def application(
    tools: ToolServer, token: str, host: str, port: int, extra_names: tuple[str, ...] = ()
) -> ASGIApp:
    """Return the ASGI application; without a `token` anyone who reaches the port may call."""
    own_hosts = (
        ("127.0.0.1", "localhost", "[::1]") if host in LOOPBACK else (f"[{host}]" if ":" in host else host,)
    )
    # Behind a TLS proxy the Host header has the typed name, without this port.
    hosts = [*(f"{name}:{port}" for name in (*extra_names, *own_hosts)), *extra_names]
    origins = [*(f"http://{authority}" for authority in hosts), *(f"https://{name}" for name in extra_names)]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    app = tools.server.streamable_http_app(
        streamable_http_path=PATH, max_request_body_size=_LARGEST_REQUEST, session_idle_timeout=_IDLE_SECONDS,
        max_sessions=_MOST_SESSIONS, transport_security=security, host=host,
    )  # fmt: skip
    return Bearer(app, token) if token else app


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises UsageError if the address cannot be served."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"{host}:{port} cannot be served: {error.strerror or error}.",
            hint="Choose another: --http HOST:PORT",
        ) from error
    return listener


async def serve_http(
    tools: ToolServer,
    listener: socket.socket,
    *,
    token: str,
    names: tuple[str, ...],
    ready: Callable[[str], None],
) -> None:
    """Serve until cancelled; `ready` gets the address once requests are accepted."""
    host, port = listener.getsockname()[:2]
    config = uvicorn.Config(
        application(tools, token, host, port, names), log_config=None, access_log=False, server_header=False,
        http=_TimedProtocol, limit_concurrency=_MOST_CONNECTIONS, timeout_keep_alive=_HEAD_SECONDS, lifespan="on",
        ws="none", timeout_graceful_shutdown=2,
    )  # fmt: skip
    server = _Server(config)
    ready(f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}")
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await asyncio.wait((serving,))
        raise


class _TimedProtocol(H11Protocol):
    """Closes a connection whose first request does not arrive in time, so that none of them uses up the slots."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start the clock."""
        super().connection_made(transport)
        self.loop.call_later(_HEAD_SECONDS, self._close_silent)

    def _close_silent(self) -> None:
        cycle: object = self.cycle  # None before the first request, despite its declared type
        if cycle is None and not self.transport.is_closing():
            self.transport.close()


class _Server(uvicorn.Server):
    """Leaves signal handling to the process."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture none."""
        yield
