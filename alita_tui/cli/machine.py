"""`alita doctor`, `alita setup` and `alita config`."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.output import Json, json_document, table
from alita_tui.config import catalogue
from alita_tui.spine.errors import RequirementsError, UsageError
from alita_tui.spine.text import neutralise

config = typer.Typer(rich_markup_mode=None)

_OWN_CHECKS = ("settings", "access", "records", "model")
"""Checks that are not about the sandbox."""


class _ProgressLine:
    """Progress on stderr: one line that is rewritten on a terminal, a line per piece of work elsewhere."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, work: str, done: float, total: float, detail: str) -> None:
        if sys.stderr.isatty():
            share = f" {100 * done / total:3.0f} %" if total else ""
            line = f"{work} {detail}".strip()
            sys.stderr.write(f"\r\x1b[K{neutralise(line)[:100]}{share}")
        elif work != self._last:
            sys.stderr.write(f"{neutralise(work)}\n")
        self._last = work
        sys.stderr.flush()

    def end(self) -> None:
        """Finish the line on a terminal."""
        if self._last and sys.stderr.isatty():
            sys.stderr.write("\n")


def doctor(
    context: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Install and build what is missing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="With --fix: print only what is done.")] = False,
    also: Annotated[
        str,
        typer.Option(
            "--with",
            help="With --fix: also prepare these, separated by commas: languages, `node`, `browser`.",
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Check settings, models and sandbox.

    Every problem comes with what to do about it. Exit code 2 for a problem of alita's own, 6 for one of the
    sandbox.
    """
    from alita_tui.app.doctor import diagnose, fetchable

    names = fetchable(also)
    if names and not fix:
        raise UsageError("--with goes with --fix.", hint=f"alita doctor --fix --with {','.join(names)}")
    app = AppContext.open(context.obj, strict=False)
    if fix:
        app = _repair(context, app, names)
        if quiet:
            return
    checks = asyncio.run(diagnose(app))
    if json:
        json_document(checks)
    else:
        table(("CHECK", "STATE", "DETAIL"), ((check.name, check.state, check.detail) for check in checks))
        for check in checks:
            if check.hint and check.state != "ok":
                fixable = " (`alita doctor --fix` can do it)" if check.fixable else ""
                typer.echo(f"\n{check.name}: {neutralise(check.hint)}{fixable}")
    problems = [check for check in checks if check.state == "problem"]
    sandbox = any(check.name not in _OWN_CHECKS for check in problems)
    raise typer.Exit(6 if sandbox else 2 if problems else 0)


def _repair(context: typer.Context, app: AppContext, also: tuple[str, ...] = ()) -> AppContext:
    """Repair records and sandbox, and fetch the demo's packages; return the reopened context."""
    from alita_tui.app.doctor import fetch_also, repair_records, warm_up
    from alita_tui.sandbox.setup import repair

    for line in repair_records(app):
        typer.echo(neutralise(line), err=True)
    app = AppContext.open(context.obj, strict=False)
    progress = _ProgressLine()
    try:
        asyncio.run(repair(app.sandbox_settings(), progress))
        asyncio.run(warm_up(app, progress))
        asyncio.run(fetch_also(app, also, progress))
    except RequirementsError as error:
        typer.echo(f"The demo's first tool will need the network: {neutralise(error.message)}", err=True)
    finally:
        progress.end()
    return app


def setup(context: typer.Context) -> None:
    """Choose provider, model and key in a short wizard."""
    from alita_tui.app.console import open_setup

    if open_setup(context.obj):
        typer.echo("Some tools come with alita and wait for your approval: alita tools starters")


@config.callback(invoke_without_command=True)
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
    loaded = AppContext.open(context.obj, strict=False).loaded
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


@config.command("set")
def set_key(context: typer.Context, key: str, value: str) -> None:
    """Write one setting to the settings file."""
    from alita_tui.config.write import set_value

    paths = AppContext.open(context.obj, strict=False).paths
    stored = set_value(paths, key, value)
    printable = list(stored) if isinstance(stored, tuple) else stored
    typer.echo(f"{key} = {neutralise(str(printable))}  ({paths.config_file})")


@config.command("unset")
def unset_key(context: typer.Context, key: str) -> None:
    """Remove one setting from the settings file; its default applies again."""
    from alita_tui.config.write import unset_value

    paths = AppContext.open(context.obj, strict=False).paths
    typer.echo("removed" if unset_value(paths, key) else "it was not set")


@config.command("path")
def show_paths(context: typer.Context) -> None:
    """Show the folders that alita uses."""
    paths = AppContext.open(context.obj, strict=False).paths
    names = ("config_file", "data", "cache", "runtime")
    table(("WHAT", "WHERE"), ((name, str(getattr(paths, name))) for name in names))
