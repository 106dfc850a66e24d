"""The command tree and the options that all commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from alita_tui import __version__

app = typer.Typer(
    name="alita",
    help="An agent that builds its own tools, and runs none that you did not approve.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"alita {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    home: Annotated[
        Path | None, typer.Option("--home", help="Keep all data and settings in this folder.", metavar="DIR")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Open this session in the console.", metavar="ID")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Use this model.", metavar="PROVIDER:NAME")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Open the console, or run one of the commands below."""
    context.obj = home
    if context.invoked_subcommand is None:
        from alita_tui.cli.console import open_console

        open_console(home, session, model)


def _commands() -> None:
    """Hang the commands on the tree; each module imports what it needs when it is called."""
    from alita_tui.cli import (
        audit,
        backups,
        builds,
        machine,
        models,
        policy,
        replays,
        sandbox,
        sessions,
        shelf,
        tasks,
        tools,
    )

    app.command("run")(tasks.run)
    app.command("resume")(tasks.resume)
    app.command("demo")(tasks.demo)
    app.command("replay")(replays.replay)
    app.command("doctor")(machine.doctor)
    app.command("setup")(machine.setup)
    app.add_typer(builds.app, name="builds")
    app.add_typer(audit.app, name="audit")
    app.add_typer(policy.app, name="policy")
    app.add_typer(tools.app, name="tools")
    for tends in (
        shelf.search,
        shelf.rename,
        shelf.tag,
        shelf.archive,
        shelf.delete,
        shelf.restore,
        shelf.compare,
    ):
        sessions.app.command(tends.__name__)(tends)
    app.add_typer(sessions.app, name="sessions")
    app.add_typer(backups.app, name="backup")
    app.add_typer(sandbox.app, name="sandbox")
    app.add_typer(models.app, name="models")
    app.add_typer(machine.config_app, name="config")


if "--version" not in sys.argv[1:2]:
    _commands()
