"""`alita context`: what the next call of the model would send."""

from __future__ import annotations

from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.output import Json, damage, json_document, table


def context(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Argument(help="A session's id or its beginning; by default the newest.")
    ] = None,
    json: Json = False,
) -> None:
    """What the next model call would send, with tokens.

    The tokens are estimated: rather too many than too few.
    """
    from alita_tui.agent.preview import preview
    from alita_tui.app.recordings import history
    from alita_tui.app.surroundings import surroundings

    app = AppContext.open(context.obj)
    shown = preview(
        history(app, session, damage),
        surroundings(app),
        app.models().router.window("orchestrator"),
        app.loaded.settings.budget.reply_tokens,
    )
    if json:
        return json_document(shown)
    table(
        ("PART", "TURNS", "TOKENS", "SHARE"),
        (
            (part.name, str(part.turns), f"{part.tokens:,}", f"{part.tokens / max(shown.tokens, 1):.0%}")
            for part in shown.parts
        ),
    )
    guessed = "" if shown.known_window else ", which is assumed: no window of the model is known"
    typer.echo(f"{shown.tokens:,} tokens at most; the window has {shown.window:,}{guessed}")
    left = (
        (shown.masked, "observations as one line"),
        (shown.shortened, "shortened"),
        (shown.left_out, "turns left out"),
    )
    if said := ", ".join(f"{number} {what}" for number, what in left if number):
        typer.echo(f"{said}; the agent can look back at each")
