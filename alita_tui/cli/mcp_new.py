"""`alita mcp new`: a server of one's own out of approved tools, asked for step by step."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
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

    What is not given is asked for. It is what `alita tools export --as mcp-server --pack NAME` writes.
    """
    from alita_tui.app.handing import export_servers
    from alita_tui.mcp_box.handing.server import server_name

    app = AppContext.open(context.obj)
    called = server_name(name or _asked("What is the server called?", "NAME"))
    chosen = list(tools or ()) or _chosen(app)
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
    cards = app.library.cards()
    if not cards:
        raise UsageError(
            "The library is empty, and a server has tools.",
            hint='Have one built first: alita run "Build a tool that …"',
        )
    table(("TOOL", "DESCRIPTION"), [(str(card.name), one_line(card.description, 100)) for card in cards])
    known = {str(card.name) for card in cards}
    named = _asked("Which of them (with spaces between; one that is not there yet is built first)?", "--tool")
    wanted = list(dict.fromkeys(named.replace(",", " ").split()))
    if missing := [one for one in wanted if one not in known]:
        raise UsageError(
            f"There is no tool {one_line(missing[0], 60)}.",
            hint='Have it built first: alita run "Build a tool that …"',
        )
    return wanted


def _asked(question: str, option: str) -> str:
    """Return the person's answer. Raise UsageError where nobody is there to ask."""
    if not sys.stdin.isatty():
        raise UsageError(f"Nobody is there to ask: {question}", hint=f"Say it with {option}.")
    return str(typer.prompt(question)).strip()
