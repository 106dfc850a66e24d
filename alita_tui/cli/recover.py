"""`alita tools recover`: what the audit log knows of the library, and the library lost."""

from __future__ import annotations

from typing import Annotated

import typer

from alita_tui.cli.output import Json, json_document
from alita_tui.spine.text import reveal


def recover(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Of this tool alone; else all that is missing.")] = "",
    json: Json = False,
) -> None:
    """Put back tools that were approved and are gone from the library, from their files or their sessions.

    Exit code 1 where one is kept nowhere.
    """
    from alita_tui.wiring.house import House
    from alita_tui.wiring.recovering import recover, told

    done = recover(House.open(context.obj), name)
    if json:
        json_document(done)
    elif not done:
        typer.echo("Nothing that was approved is missing from the library.")
    else:
        for one in done:
            typer.echo(reveal(told(one)))
    raise typer.Exit(0 if all(one.source for one in done) else 1)
