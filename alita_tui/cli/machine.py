"""`alita doctor`, `alita setup` and `alita config`."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.text import neutralise

config_app = typer.Typer(
    help="Settings and where each comes from.", no_args_is_help=False, rich_markup_mode=None
)

_OWN = ("settings", "access", "records", "model")
"""Checks of what is alita's own; the others are the sandbox's."""


def doctor(
    context: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Install and build what is missing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="With --fix: only say what is done.")] = False,
    json: Json = False,
) -> None:
    """Check settings, model and sandbox; say what is wrong and what to do."""
    from alita_tui.sandbox.setup import repair
    from alita_tui.spine.errors import RequirementsError
    from alita_tui.wiring.checks import diagnose, mend_records, warm_up
    from alita_tui.wiring.house import House
    from alita_tui.wiring.sandboxes import sandbox_settings

    house = House.open(context.obj, strict=False)
    if fix:
        last = ""

        def tell(work: str, done: float, total: float, detail: str) -> None:
            nonlocal last
            line = f"{work} {detail}".strip()
            share = f" {100 * done / total:3.0f} %" if total else ""
            if sys.stderr.isatty():
                sys.stderr.write(f"\r\x1b[K{neutralise(line)[:100]}{share}")
            elif work != last:
                sys.stderr.write(f"{neutralise(work)}\n")
            last = work
            sys.stderr.flush()

        for line in mend_records(house):
            typer.echo(neutralise(line), err=True)
        house = House.open(context.obj, strict=False)
        try:
            asyncio.run(repair(sandbox_settings(house.paths, house.loaded.settings.sandbox), tell))
            asyncio.run(warm_up(house, tell))
        except RequirementsError as error:
            typer.echo(f"The demo's first tool will need the network: {neutralise(error.message)}", err=True)
        finally:
            if last and sys.stderr.isatty():
                sys.stderr.write("\n")
        if quiet:
            return
    checks = asyncio.run(diagnose(house))
    if json:
        json_document(checks)
    else:
        table(("CHECK", "STATE", "DETAIL"), ((c.name, c.state, c.detail) for c in checks))
        for check in checks:
            if check.hint and check.state != "ok":
                more = " (`alita doctor --fix` can do it)" if check.fixable else ""
                typer.echo(f"\n{check.name}: {neutralise(check.hint)}{more}")
    broken = [check for check in checks if check.state == "problem"]
    sandbox = any(check.name not in _OWN for check in broken)
    raise typer.Exit(6 if sandbox else 2 if broken else 0)


def setup(context: typer.Context) -> None:
    """Choose provider, model and key in a short wizard."""
    from alita_tui.cli.console import open_setup

    open_setup(context.obj)


@config_app.callback(invoke_without_command=True)
def show(
    context: typer.Context,
    json: Json = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every place that gives a setting a value.")
    ] = False,
) -> None:
    """List all settings, their values and where each comes from."""
    if context.invoked_subcommand is not None:
        return
    from alita_tui.config import catalogue
    from alita_tui.wiring.house import House

    loaded = House.open(context.obj, strict=False).loaded
    keys = tuple(catalogue.fields())
    if json:
        json_document({key: {"value": loaded.value(key), "from": loaded.origin(key)} for key in keys})
    elif explain:
        for key in keys:
            typer.echo(f"{key}: {neutralise(loaded.explain(key))}")
    else:
        table(
            ("SETTING", "VALUE", "FROM", "MEANING"),
            ((key, str(loaded.value(key)), loaded.origin(key), catalogue.meaning(key)) for key in keys),
        )
    for problem in loaded.problems:
        typer.echo(f"problem: {problem}", err=True)


@config_app.command("set")
def set_one(context: typer.Context, key: str, value: str) -> None:
    """Write one setting to the settings file."""
    from alita_tui.config.write import set_value
    from alita_tui.wiring.house import House

    house = House.open(context.obj, strict=False)
    set_value(house.paths, key, value)
    typer.echo(f"{key} = {value}  ({house.paths.config_file})")


@config_app.command("unset")
def unset_one(context: typer.Context, key: str) -> None:
    """Remove one setting from the settings file; its default holds again."""
    from alita_tui.config.write import unset_value
    from alita_tui.wiring.house import House

    house = House.open(context.obj, strict=False)
    typer.echo("removed" if unset_value(house.paths, key) else "it was not set")


@config_app.command("path")
def path(context: typer.Context) -> None:
    """Show the folders that alita uses."""
    from alita_tui.wiring.house import House

    paths = House.open(context.obj, strict=False).paths
    table(
        ("WHAT", "WHERE"), ((n, str(getattr(paths, n))) for n in ("config_file", "data", "cache", "runtime"))
    )
