"""`alita mcp new`: a server of one's own out of approved tools, asked for step by step."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.headless import EXIT_CODES
from alita_tui.cli.output import table
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line, reveal


def new(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="What the server is called.")] = "",
    tools: Annotated[
        list[str] | None, typer.Option("--tool", metavar="NAME", help="A tool that it has; repeatable.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FOLDER", help="Where its folder is made; by default here.")
    ] = None,
) -> None:
    """Make a server of your own out of approved tools: a package with tests, a README and a Containerfile.

    What is not given is asked for. A tool that is missing is built first and waits for your decision: exit code 4.
    It is what `alita tools export --as mcp-server --pack NAME` writes.
    """
    from alita_tui.app.tool_export import export_servers
    from alita_tui.mcp_box.export.server import server_name

    app = AppContext.open(context.obj)
    called = server_name(name or _asked("What is the server called?", "NAME"))
    chosen = list(dict.fromkeys(tools or ())) or _chosen(app)
    known = {str(card.name) for card in app.library.cards()}
    if missing := [tool for tool in chosen if tool not in known]:
        _build(app, missing)
        again = " ".join(["alita mcp new", called, *(f"--tool {tool}" for tool in chosen)])
        typer.echo(f"Decide on each, then make the server: {again}")
        raise typer.Exit(EXIT_CODES["parked"])
    into = to or Path()
    (folder,) = asyncio.run(export_servers(app, chosen, into, pack=called))
    for line in (
        f"Made {folder} with {', '.join(chosen)}.",
        f"  run it          uvx --from {folder} {called}",
        f"  test it         uv run --frozen --project {folder} --directory {folder} pytest",
        f"  as a client     {folder}/tests/test_server.py starts it and calls each tool",
        f"  in a program    {folder}/README.md has the settings, the limits and the container",
        "It is yours: change it, and approve nothing that you did not read.",
    ):
        typer.echo(reveal(line))


def _chosen(app: AppContext) -> list[str]:
    """Return the tools that the person names, out of a list of all. Raise UsageError."""
    if cards := app.library.cards():
        table(("TOOL", "DESCRIPTION"), [(str(card.name), one_line(card.description, 100)) for card in cards])
    else:
        typer.echo("The library is empty: what you name is built first.")
    named = _asked("Which tools (with spaces between; one that is not there yet is built first)?", "--tool")
    return list(dict.fromkeys(named.replace(",", " ").split()))


def _build(app: AppContext, names: list[str]) -> None:
    """Have tools built that are not there yet; each waits for the person's verdict. Raise UsageError."""
    from alita_tui.app.serving.builds import build_now

    needs = {
        name: _asked(f"There is no tool {one_line(name, 60)} yet. What shall it do?", "--tool")
        for name in names
    }
    for name, need in needs.items():
        typer.echo(reveal(f"Building {name} …"), err=True)
        built = asyncio.run(build_now(app, name, need))
        if built.state != "waiting":
            raise UsageError(
                f"{name} was not built: {built.text or 'its task was interrupted.'}",
                hint=f"alita sessions show {built.session_id} shows what happened.",
            )
        typer.echo(f"{name} waits for your decision: alita builds show {built.approval_id}")


def _asked(question: str, option: str) -> str:
    """Return the person's answer. Raise UsageError if the input is not a terminal."""
    if not sys.stdin.isatty():
        raise UsageError(f"Nobody is there to ask: {question}", hint=f"Say it with {option}.")
    return str(typer.prompt(question)).strip()
