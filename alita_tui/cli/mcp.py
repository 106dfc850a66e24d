"""`alita mcp`: the library for other programs, and the tools of other servers, over the Model Context Protocol."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.lazy import group
from alita_tui.cli.mcp_adding import register
from alita_tui.cli.mcp_clients import config, install
from alita_tui.cli.mcp_new import new
from alita_tui.spine.errors import UsageError

commands = group()
commands.command()(install)
commands.command()(config)
commands.command()(new)
register(commands)
_ADDRESS = "127.0.0.1:8765"


@commands.command()
def serve(
    context: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP, to several clients, on loopback by default.")
    ] = False,
    address: Annotated[
        str, typer.Argument(metavar="[HOST:PORT]", help=f"With --http: where, by default {_ADDRESS}.")
    ] = "",
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every program of this machine call; on loopback only.")
    ] = False,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Another host name that clients call this one by; repeatable."),
    ] = None,
) -> None:
    """Serve approved tools: over stdin and stdout to the program that started this one, or over HTTP.

    Which tools is a setting (`mcp.serve`). Over HTTP a client shows the token of the file `mcp.token` beside the
    settings, which is made when it is missing.
    """
    from alita_tui.app.serving import process

    app = AppContext.open(context.obj)
    if not http:
        if address or no_token or name:
            raise UsageError(
                "An address, --no-token and --name go with --http.", hint="alita mcp serve --http"
            )
        asyncio.run(process.serve_stdio(app))
        return

    def ready(url: str) -> None:
        typer.echo(f"Serving {url}", err=True)
        if not no_token:
            typer.echo(f"Clients send: Authorization: Bearer (the text in {app.paths.mcp_token})", err=True)

    asyncio.run(
        process.serve_http(
            app, address or _ADDRESS, open_to_all=no_token, names=tuple(name or ()), ready=ready
        )
    )
