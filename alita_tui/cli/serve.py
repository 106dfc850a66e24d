"""`alita serve`: the console for a browser of this machine."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Annotated

import typer

from alita_tui.spine.errors import UsageError


def serve(
    context: typer.Context,
    web: Annotated[
        bool, typer.Option("--web", help="The console in a browser, on this machine only.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="0: any that is free.")
    ] = 0,
) -> None:
    """The console in a browser of this machine.

    It runs until Ctrl+C and prints the address, which holds a token: whoever has it can do what you can do in the
    console.
    """
    if not web:
        raise UsageError("Nothing is said to be served.", hint="The console in a browser: alita serve --web")
    try:
        from alita_tui.app.browser import ConsoleServer, console_command
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The console in a browser needs the package {error.name}.",
            hint="Install it: pip install 'alita-tui[web]'",
        ) from error
    server = ConsoleServer(console_command(str(context.obj) if context.obj else None), os.environ, port)
    with suppress(KeyboardInterrupt):
        asyncio.run(server.run(_tell))


def _tell(link: str) -> None:
    typer.echo(f"Open this address in a browser of this machine. It is a key: do not pass it on.\n{link}")
    typer.echo("Ctrl+C ends it, and with it the consoles that are open; sessions are kept.", err=True)
