"""The console in a browser of this machine: textual-serve's page and its terminal, behind a guard.

textual-serve alone lets any web page press keys here: it asks for no token, answers to every Host and takes a WebSocket
from any Origin. In front of it stand:

- loopback only, and the requested Host has to be this address, so that no other site's name leads here (DNS
  rebinding);
- a token in the address of the page, new with every start. There is no cookie, which a browser would send to every
  other server of this machine, too;
- a ticket in the address of the WebSocket, which only the page holds and which opens one console, once, in a minute;
- an Origin that has to be this page's, and headers that forbid frames, scripts and requests of elsewhere;
- a limit on connections and on their time, so that no other account keeps the person out with idle ones.

The console runs on a pseudo-terminal with its ordinary driver, so the checks that a key passes before it approves a
build apply here as well. The browser's terminal answers the same queries as any other.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hmac
import html
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from secrets import token_urlsafe
from typing import Any, cast

from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.server import Server, to_int

from alita_tui.spine.errors import UsageError

HOST = "127.0.0.1"
_MOST_CONSOLES = 4
_MOST_CONNECTIONS = 64
_CONNECTION_SECONDS = 10.0
"""How long a connection without a console may last; a page and its files take milliseconds."""
_TICKET_SECONDS = 60.0
_LARGEST_MESSAGE = 1 << 20
_LARGEST_SIZE = 1000
_CHUNK = 1 << 16
_CLOSING_SECONDS = 10.0
_OTHER_TERMINAL = (
    "COLUMNS",
    "LINES",
    "ROWS",
    "TMUX",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "STY",
    "KITTY_WINDOW_ID",
)
"""Variables that describe the terminal in which the server was started, not the console's."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>alita</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/css/xterm.css">
<script src="/static/js/textual.js"></script>
<style>
html, body {{ height: 100%; margin: 0; color-scheme: dark; font-family: monospace; }}
#terminal {{ width: 100vw; height: 100vh; }}
#closed {{ display: none; position: absolute; inset: 0; background: Canvas; }}
#closed p {{ margin: auto; }}
body.-closed #closed {{ display: flex; }}
</style>
</head>
<body>
<div id="terminal" class="textual-terminal" data-session-websocket-url="{socket}" data-font-size="{size}"></div>
<div id="closed"><p>The console has ended. Reload this page to open another one; sessions are kept.</p></div>
</body>
</html>
"""


class ConsoleServer(Server):
    """Serves one page, and a console for each WebSocket that it opens."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], port: int) -> None:
        super().__init__(" ".join(command), host=HOST, port=port, title="alita")
        self._program = list(command)
        self._environment = {
            name: value for name, value in environment.items() if name not in _OTHER_TERMINAL
        }
        self._token = token_urlsafe(32)
        self._tickets: dict[str, float] = {}
        """Unused ticket -> when it expires (monotonic seconds)."""
        self._consoles: set[_Console] = set()
        self._of_consoles: set[asyncio.BaseProtocol] = set()
        """Their connections."""

    @property
    def link(self) -> str:
        """The address of the page, with its token."""
        return f"http://{HOST}:{self.port}/?token={self._token}"

    async def run(self, ready: Callable[[str], None]) -> None:
        """Serve until cancelled; `ready` is called with the address. Raises UsageError if the port is not free."""
        runner = web.AppRunner(await self._make_app(), access_log=None)
        await runner.setup()
        accept = partial(self._accept, cast(web.Server, runner.server))
        listening = None
        try:
            try:
                listening = await asyncio.get_running_loop().create_server(
                    accept, HOST, self.port, reuse_address=True
                )
            except OSError as error:
                raise UsageError(
                    f"Port {self.port} of {HOST} cannot be had: {error.strerror or error}.",
                    hint="Name another one with --port, or 0 for any.",
                ) from error
            if not self.port:
                self.port = listening.sockets[0].getsockname()[1]
            ready(self.link)
            await asyncio.Event().wait()
        finally:
            if listening is not None:
                listening.close()
            await asyncio.gather(*(console.close() for console in [*self._consoles]))
            await runner.cleanup()

    def _accept(self, server: web.Server) -> asyncio.BaseProtocol:
        """Return what handles a new connection; it is closed at once where there are too many."""
        if len(server.connections) >= _MOST_CONNECTIONS:
            return _Refused()
        connection = server()

        def close() -> None:
            if connection not in self._of_consoles:
                connection.force_close()

        asyncio.get_running_loop().call_later(_CONNECTION_SECONDS, close)
        return connection

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guarded], client_max_size=1 << 16)
        app.add_routes([
            web.get("/", self.handle_index),
            web.get("/ws/{ticket}", self.handle_websocket),
            web.static("/static", self.statics_path),
        ])  # fmt: skip
        return app

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse requests that do not come from this page, and forbid the browser to load anything from elsewhere."""
        address = f"{HOST}:{self.port}"
        origins = request.headers.getall("Origin", [])
        if request.headers.getall("Host", []) != [address] or any(
            origin != f"http://{address}" for origin in origins
        ):
            raise web.HTTPForbidden(text="This address is not that of the console.\n")
        if request.path.startswith("/ws/") and len(origins) != 1:
            raise web.HTTPForbidden(text="A console is opened by its page only.\n")
        answer = await handler(request)
        if not answer.prepared:
            answer.headers.update(self._headers(address))
        return answer

    @staticmethod
    def _headers(address: str) -> dict[str, str]:
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
            f" font-src 'self'; connect-src ws://{address}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        return {
            "Content-Security-Policy": policy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cache-Control": "no-store",
        }

    async def handle_index(self, request: web.Request) -> web.Response:
        """Return the page with a fresh ticket, if the token is right."""
        tokens = request.query.getall("token", [])
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0].encode(), self._token.encode()):
            raise web.HTTPForbidden(text="Open the address that `alita serve --web` printed.\n")
        now = time.monotonic()
        self._tickets = {ticket: until for ticket, until in self._tickets.items() if until > now}
        ticket = token_urlsafe(32)
        self._tickets[ticket] = now + _TICKET_SECONDS
        size = min(max(to_int(request.query.get("fontsize", ""), 15), 6), 60)
        page = _PAGE.format(socket=html.escape(f"ws://{HOST}:{self.port}/ws/{ticket}"), size=size)
        return web.Response(text=page, content_type="text/html")

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run a console for as long as the page is open."""
        if self._tickets.pop(request.match_info["ticket"], 0.0) < time.monotonic():
            raise web.HTTPForbidden(text="Reload the page: each opens one console, once.\n")
        if len(self._consoles) >= _MOST_CONSOLES:
            raise web.HTTPServiceUnavailable(text=f"{_MOST_CONSOLES} consoles are open. Close one first.\n")
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=_LARGEST_MESSAGE)
        console = _Console(self._program, self._environment, socket)
        self._consoles.add(console)  # before anything is awaited, so that the limit holds
        self._of_consoles.add(request.protocol)
        try:
            await socket.prepare(request)
            console.start(
                to_int(request.query.get("width", ""), 80), to_int(request.query.get("height", ""), 24)
            )
            async for message in socket:
                if message.type is not WSMsgType.TEXT or not await console.take(message.data):
                    break
        finally:
            try:
                await console.close()
            finally:
                self._consoles.discard(console)
                self._of_consoles.discard(request.protocol)
        return socket


class _Refused(asyncio.Protocol):
    """Closes its connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it."""
        cast(asyncio.Transport, transport).abort()


class _Console:
    """One console on a pseudo-terminal, joined to a WebSocket."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], socket: web.WebSocketResponse
    ) -> None:
        self._command = command
        self._environment = {**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self._socket = socket
        self._terminal = -1
        self._process: subprocess.Popen[bytes] | None = None
        self._sending: asyncio.Task[None] | None = None

    def start(self, width: int, height: int) -> None:
        """Start it on a terminal of this size, in cells."""
        self._terminal, side = pty.openpty()
        try:
            os.set_blocking(self._terminal, False)
            self._resize(width, height)
            self._process = subprocess.Popen(
                self._command, stdin=side, stdout=side, stderr=side, env=self._environment,
                start_new_session=True, preexec_fn=_own_terminal,
            )  # fmt: skip
        finally:
            os.close(side)
        self._sending = asyncio.create_task(self._send())

    async def take(self, text: str) -> bool:
        """Handle a message of the page; return False for one that the page never sends."""
        try:
            message: Any = json.loads(text)
        except (ValueError, RecursionError):
            return False
        match message:
            case ["stdin", str(keys)]:
                await self._type(keys.encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                self._resize(width, height)
            case ["ping", str(number)]:
                await self._socket.send_json(["pong", number[:40]])
            case ["focus" | "blur", *_]:
                pass
            case _:
                return False
        return True

    async def close(self) -> None:
        """Send SIGHUP, as a closed terminal window does; kill the program if it does not end."""
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                process.send_signal(signal.SIGHUP)
            try:
                await asyncio.to_thread(process.wait, _CLOSING_SECONDS)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await asyncio.to_thread(process.wait)
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1
        if self._socket.prepared:
            await self._socket.close(code=WSCloseCode.GOING_AWAY)

    async def _send(self) -> None:
        """Send what the program draws until it ends, then close the socket."""
        loop = asyncio.get_running_loop()
        while True:
            await self._ready(loop.add_reader, loop.remove_reader)
            try:
                data = os.read(self._terminal, _CHUNK)
            except BlockingIOError:
                continue
            except OSError:  # the other side is closed
                break
            if not data:
                break
            await self._socket.send_bytes(data)
        await self._socket.close()

    async def _type(self, keys: bytes) -> None:
        """Write all keys to the terminal; wait while the program does not read."""
        loop = asyncio.get_running_loop()
        while keys and self._process is not None and self._process.poll() is None:
            try:
                keys = keys[os.write(self._terminal, keys) :]
            except BlockingIOError:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ready(loop.add_writer, loop.remove_writer), 1)
            except OSError:
                return

    async def _ready(self, add: Callable[..., None], remove: Callable[..., Any]) -> None:
        ready = asyncio.Event()
        add(self._terminal, ready.set)
        try:
            await ready.wait()
        finally:
            remove(self._terminal)

    def _resize(self, width: int, height: int) -> None:
        cells = [min(max(cells, 1), _LARGEST_SIZE) for cells in (height, width)]
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *cells, 0, 0))


def _own_terminal() -> None:
    """Make the pseudo-terminal the program's controlling one, so that it gets hang-ups and changes of size."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def console_command(home: str | None, *options: str) -> list[str]:
    """Return the command that opens a console of a home (None: the usual one)."""
    return [sys.executable, "-m", "alita_tui", *(("--home", home) if home else ()), *options]
