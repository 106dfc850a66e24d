"""`alita context`: what the next call of the model would send, and switching its blocks."""

from __future__ import annotations

from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.output import Json, damage, json_document, table
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.context import NextCall
from alita_tui.spine.text import one_line, reveal

_BLOCK = "NAME"


def context(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Argument(help="A session's id or its beginning; by default the newest.")
    ] = None,
    off: Annotated[
        list[str] | None, typer.Option("--off", metavar=_BLOCK, help="Switch a block off in the session.")
    ] = None,
    on: Annotated[
        list[str] | None, typer.Option("--on", metavar=_BLOCK, help="Switch a block on in the session.")
    ] = None,
    show: Annotated[str, typer.Option("--show", metavar="PART", help="Print the text of one part.")] = "",
    json: Json = False,
) -> None:
    """What the next model call would send, with tokens.

    The tokens are estimated: rather too many than too few. A switch holds for one session; the setting
    `context.blocks` says what is on in the others.
    """
    import asyncio

    from alita_tui.app.closed_session import switch_blocks
    from alita_tui.app.next_call import next_call
    from alita_tui.app.recordings import history

    app = AppContext.open(context.obj)
    if conflicting := {*(off or ())} & {*(on or ())}:
        raise UsageError(f"{min(conflicting)} cannot be both on and off.")
    switches = {**dict.fromkeys(off or (), False), **dict.fromkeys(on or (), True)}
    if switches:
        asyncio.run(switch_blocks(app, session, switches))
    call = next_call(app, history(app, session, damage), app.redactor())
    for problem in call.problems:
        typer.echo(f"not sent: {reveal(problem)}", err=True)
    if show:
        _show(call, show)
    elif json:
        json_document(
            {
                **{name: getattr(call, name) for name in call.__struct_fields__ if name != "parts"},
                "parts": [
                    {
                        "name": part.name,
                        "turns": part.turns,
                        "tokens": part.tokens,
                        "block": part.block,
                        "on": part.on,
                    }
                    for part in call.parts
                ],
            }
        )
    else:
        _table(call)


def _show(call: NextCall, name: str) -> None:
    for part in call.parts:
        if part.name == name:
            typer.echo(reveal(part.text))
            return
    raise UsageError(
        f"There is no part {one_line(name, 80)!r}.",
        hint=f"There are {', '.join(part.name for part in call.parts)}.",
    )


def _table(call: NextCall) -> None:
    table(
        ("PART", "STATE", "TURNS", "TOKENS", "SHARE"),
        (
            (
                part.name,
                ("on" if part.on else "off") if part.block else "always",
                str(part.turns),
                f"{part.tokens:,}",
                f"{part.tokens / max(call.tokens, 1):.0%}",
            )
            for part in call.parts
        ),
    )
    note = "" if call.known_window else ", which is assumed: no window of the model is known"
    typer.echo(f"{call.tokens:,} tokens at most; the window has {call.window:,}{note}")
    reductions = (
        (call.masked, "observations as one line"),
        (call.shortened, "shortened"),
        (call.left_out, "turns left out"),
    )
    if trimmed := ", ".join(f"{number} {label}" for number, label in reductions if number):
        typer.echo(f"{trimmed}; the agent can look back at each")
