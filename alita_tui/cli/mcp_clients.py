"""`alita mcp install` and `alita mcp config`: configure other programs to use alita's tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from alita_tui.cli.output import Json, json_document
from alita_tui.mcp_box.clients import ClientName
from alita_tui.spine.text import neutralise, reveal

Client = Annotated[ClientName, typer.Argument(metavar="CLIENT", help="The program.")]


def install(
    context: typer.Context,
    client: Client,
    write: Annotated[bool, typer.Option("--write", help="Make the change; by default it is shown.")] = False,
) -> None:
    """Show the change to a program's settings by which it gets alita's tools, and make it with --write.

    A backup is kept beside the file, and nothing else in it is touched.
    """
    from alita_tui.app.serving.install import apply, planned

    plan = planned(client, _command(context), os.environ)
    if not plan.changes:
        typer.echo(f"{reveal(str(plan.path))} has it already.")
        return
    typer.echo(f"In {reveal(str(plan.path))}:")
    typer.echo(_difference(plan.before, plan.after))
    if not write:
        typer.echo(f"Nothing was changed. Make the change with: alita mcp install {client} --write")
        return
    backup = apply(plan)
    typer.echo(f"Changed {reveal(str(plan.path))}." + (f" Before it was: {backup}" if backup else ""))
    typer.echo("Restart the program, or have it read its settings again.")


def config(
    context: typer.Context,
    client: Client,
    http: Annotated[
        str, typer.Option("--http", metavar="URL", help="For `alita mcp serve --http` at this address.")
    ] = "",
    json: Json = False,
) -> None:
    """Print what a program's settings need to hold, to put in by hand."""
    from alita_tui.app.context import AppContext
    from alita_tui.mcp_box.clients import client_file

    place = client_file(client, os.environ)
    entry = place.remote(http) if http else place.entry(_command(context))
    if json:
        json_document({"file": str(place.path), "under": place.under, "entry": entry})
        return
    typer.echo(f"In {reveal(str(place.path))}:\n")
    typer.echo(neutralise(place.shown(entry)))
    if http:
        token = AppContext.open(context.obj).paths.mcp_token
        typer.echo(f"TOKEN is the text in {reveal(str(token))} (codex reads it from ALITA_MCP_TOKEN).")


def _command(context: typer.Context) -> tuple[str, ...]:
    """Return how a program starts this very alita, with this very home.

    Programs start it in the folder that is open in them: with `-P` Python imports nothing from there.
    """
    called = Path(sys.argv[0])
    alone = called.name == "alita" and called.exists()
    program = (str(called.absolute()),) if alone else (sys.executable, "-P", "-m", "alita_tui")
    home = context.obj or os.environ.get("ALITA_HOME")
    return (*program, *(("--home", str(Path(home).absolute())) if home else ()), "mcp", "serve")


def _difference(before: str, after: str) -> str:
    """Return only the removed and added lines: the rest of such files may be private."""
    begin = len(os.path.commonprefix((before, after)))
    rest = len(os.path.commonprefix((before[begin:][::-1], after[begin:][::-1])))
    gone, new = before[begin : len(before) - rest], after[begin : len(after) - rest]
    lines = [
        f"{sign} {line}"
        for sign, text in (("-", gone), ("+", new))
        for line in text.splitlines()
        if line.strip()
    ]
    return "\n".join(str(reveal(line)) for line in lines)
