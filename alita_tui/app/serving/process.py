"""A process that serves tools: over stdin and stdout to the program that started it, or over HTTP to several."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from alita_tui import __version__
from alita_tui.app.context import AppContext
from alita_tui.app.serving.library import Serving
from alita_tui.mcp_box.serve.server import ToolServer
from alita_tui.spine.errors import StoreError, UsageError

_SOON = 1.0
"""Seconds until builds that clients requested earlier are looked at, so that the first answer is not delayed."""
_SHORTEST_TOKEN = 32


async def serve_stdio(app: AppContext) -> None:
    """Serve until the client closes stdin, or the process is asked to end."""
    from alita_tui.mcp_box.serve import stdio

    await _until_ended(app, stdio.serve_stdio)


async def serve_http(
    app: AppContext, address: str, *, open_to_all: bool, names: tuple[str, ...], ready: Callable[[str], None]
) -> None:
    """Serve on an address until the process is asked to end; `ready` is called with the address.

    With `open_to_all` no token is asked for. Raise UsageError, StoreError.
    """
    from alita_tui.mcp_box.serve import http

    host, _, port = address.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(
            f"{address!r} is not an address.", hint="Write HOST:PORT, for example 127.0.0.1:8765."
        )
    if open_to_all and host not in http.LOOPBACK:
        raise UsageError(
            f"{host} can be reached from other machines, so it is not served without a token.",
            hint="Leave --no-token out.",
        )
    token = "" if open_to_all else await asyncio.to_thread(token_of, app.paths.mcp_token)
    listening = http.listening_socket(host, int(port))
    await _until_ended(
        app, lambda tools: http.serve_http(tools, listening, token=token, names=names, ready=ready)
    )


def token_of(path: Path) -> str:
    """Return the token that clients have to send; create it on first use. Raise StoreError, UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            created = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(created, "w") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(opened) as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o077 or status.st_uid != os.getuid():
                raise UsageError(
                    f"Others can read or change {path}.",
                    hint=f"Remove it, and a new one is made: rm {path}",
                )
            token = file.read().strip()
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read or made: {error.strerror}.", hint="Check the folder."
        ) from error
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise UsageError(f"{path} holds no token.", hint=f"Remove it, and a new one is made: rm {path}")
    return token


async def _until_ended(app: AppContext, serve: Callable[[ToolServer], Coroutine[Any, Any, None]]) -> None:
    """Serve; however it ends, stop the runs and close the sessions."""
    serving = Serving(app)
    server = ToolServer(serving, __version__, listed=app.loaded.settings.mcp.listed)
    work = asyncio.create_task(serve(server))
    soon = asyncio.get_running_loop().call_later(_SOON, serving.watch_builds)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await work
    finally:
        soon.cancel()
        await serving.close()
