"""`alita tools recover`: restore approved tools that the library lost."""

from __future__ import annotations

from typing import Annotated

import typer

from alita_tui.app import recovery
from alita_tui.app.context import AppContext
from alita_tui.cli.output import Json, json_document
from alita_tui.spine.text import reveal


def recover(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Only this tool.")] = "",
    json: Json = False,
) -> None:
    """Restore approved tools that are missing from the library, from their files or sessions.

    Exit code 1 if one could not be restored.
    """
    recovered = recovery.recover(AppContext.open(context.obj), name)
    if json:
        json_document(recovered)
    elif not recovered:
        typer.echo("No approved tool is missing from the library.")
    else:
        for version in recovered:
            typer.echo(reveal(version.line))
    raise typer.Exit(0 if all(version.source for version in recovered) else 1)
