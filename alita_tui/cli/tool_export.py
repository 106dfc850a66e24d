"""`alita tools export`: tools for another alita, or for programs that do not know it."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import counted, reveal


class Form(StrEnum):
    """The formats that tools are exported in."""

    PACK = "pack"
    SKILL = "skill"
    SCRIPT = "script"
    SERVER = "mcp-server"
    WHEEL = "wheel"


def export(
    context: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(metavar="[PACK] NAME...", help="For a pack its file first; then tools that run here."),
    ],
    form: Annotated[
        Form, typer.Option("--as", metavar="FORM", help="pack, skill, script, mcp-server or wheel.")
    ] = Form.PACK,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FOLDER", help="Where it is written; by default here.")
    ] = None,
    pack: Annotated[
        str, typer.Option("--pack", metavar="NAME", help="One server of all these tools, by this name.")
    ] = "",
) -> None:
    """Hand tools on: code, tests, locks and evidence in one signed file for another alita, or for other programs.

    A pack also contains the tools that these call; the same tools always give the same bytes. `--as skill` writes a
    folder that other agents load, for each tool or for a recipe by its id; `--as script` writes the code alone.
    `--as mcp-server` writes a package for each tool, which runs with uvx and without alita; `--as wheel` builds that
    package. These two ask the package index for the lock.
    """
    if pack and form not in (Form.SERVER, Form.WHEEL):
        raise UsageError(
            "--pack names a server.", hint="alita tools export NAME... --as mcp-server --pack NAME"
        )
    app = AppContext.open(context.obj)
    into = to or Path()
    if form is Form.PACK:
        _export_pack(app, names, to)
    elif form is Form.SKILL:
        from alita_tui.app.tool_export import export_skills

        for folder, needs in export_skills(app, names, into):
            typer.echo(reveal(f"{folder}"))
            if needs:
                warning = f"It tells {counted(needs, 'need')} of your own tasks as when to use it: read"
                typer.echo(reveal(f"  {warning} {folder / 'SKILL.md'} before you hand it on."))
    elif form in (Form.SERVER, Form.WHEEL):
        from alita_tui.app.tool_export import export_servers

        exporting = export_servers(app, names, into, pack=pack, wheel=form is Form.WHEEL)
        for path in asyncio.run(exporting):
            typer.echo(reveal(f"{path}"))
            if form is Form.SERVER:
                typer.echo(reveal(f"  uvx --from {path} {path.name}"))
    else:
        from alita_tui.app.tool_export import export_scripts

        for path in export_scripts(app, names, into):
            typer.echo(reveal(f"{path}"))


def _export_pack(app: AppContext, names: list[str], to: Path | None) -> None:
    from alita_tui.app.packs import export_pack

    if len(names) < 2 or to is not None:
        raise UsageError(
            "A pack is written into a file, which comes first.", hint="alita tools export FILE NAME..."
        )
    pack, *tools = names
    exported = export_pack(app, Path(pack), tools)
    typer.echo(reveal(f"{pack}: {', '.join(exported)}"))
    if added := sorted(set(exported) - set(tools)):
        typer.echo(f"{', '.join(added)} went along: the others call {'it' if len(added) == 1 else 'them'}.")
