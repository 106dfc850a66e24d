"""`alita tools search`: what the agent would find for a need."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.app.encoding import searched
from alita_tui.app.forbidden import forbidden
from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import reveal

_VERDICTS = {
    "fits": "A tool that fits is there",
    "perhaps": "Perhaps one of these fits",
    "none": "No tool fits",
}


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What is needed, in words.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=50, help="The most tools to list.")] = 5,
    json: Json = False,
) -> None:
    """Find tools for a need, as the agent does.

    Tools that your settings or bans keep from running are not offered to it; they are listed apart, with the reason.
    """
    if not query.strip():
        raise UsageError(
            "There is nothing to search for.", hint="Say what is needed: alita tools search WORDS"
        )
    app = AppContext.open(context.obj)
    result, problem = asyncio.run(searched(app, query, limit))
    if problem is not None:
        typer.echo(reveal(f"Without the encoder: {problem.message} {problem.hint}".strip()), err=True)
    withheld = _withheld(app, query, limit)
    if json:
        json_document({**msgspec.to_builtins(result), "forbidden": withheld})
        return
    typer.echo(reveal(f"{_VERDICTS[result.band]} ({result.chance:.0%}): {result.evidence}."))
    rows = [
        (f"{hit.score:.2f}", str(hit.card.name), f"v{hit.card.version}", hit.card.description)
        for hit in result.hits
    ]
    rows += [
        (f"{miss.score:.2f}", f"({miss.name})", f"v{miss.version}", miss.description)
        for miss in result.near_misses
    ]
    if rows:
        table(("CHANCE", "NAME", "VERSION", "DESCRIPTION"), rows[:limit])
    else:
        typer.echo(
            "The library has nothing like it." if not withheld else "The agent is offered nothing like it."
        )
    for tool in withheld:
        typer.echo(reveal(f"Not offered: {tool['name']} v{tool['version']}. {tool['reason']}"))


def _withheld(app: AppContext, query: str, limit: int) -> list[dict[str, Any]]:
    """Return the tools that would be among the results if they were allowed to run: name, version and reason."""
    reasons = forbidden(app)
    if not reasons:
        return []
    result = app.library.search(query, limit=limit)
    tools = [(str(hit.card.name), hit.card.version) for hit in result.hits]
    tools += [(str(miss.name), miss.version) for miss in result.near_misses]
    return [
        {"name": name, "version": version, "reason": reasons[name]}
        for name, version in tools
        if name in reasons
    ]
