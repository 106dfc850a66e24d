"""`alita replay`: on the screen, without one, or done again in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.cli.output import json_document
from alita_tui.cli.sessions import Json, Which
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.agent.rerun import Rerun
    from alita_tui.spine.envelope import Envelope
    from alita_tui.wiring.house import House


def replay(
    context: typer.Context,
    session: Which = None,
    at: Annotated[
        int | None, typer.Option("--at", help="Begin after this event.", metavar="SEQ", min=0)
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Only fold it, and print the hash of its final state.")
    ] = False,
    rerun: Annotated[
        bool,
        typer.Option(
            "--rerun",
            help="Run its tool calls and self-tests again in the sandbox, with its recorded replies.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Play a session back on the screen that showed it; nothing runs, unless it is to be run again.

    With --headless or --rerun the exit code is 1 where something differs from the recording.
    """
    if not headless and not rerun:
        from alita_tui.cli.console import open_replay

        open_replay(context.obj, session, at)
        return
    home: Path | None = context.obj
    from alita_tui.wiring.house import House
    from alita_tui.wiring.records import recording

    house = House.open(home, strict=False)
    envelopes = recording(house, session)
    same = _fold(envelopes, json) if headless else True
    if rerun:
        same = asyncio.run(_rerun(house, envelopes, json)) and same
    raise typer.Exit(0 if same else 1)


def _fold(envelopes: Sequence[Envelope], json: bool) -> bool:
    from alita_tui.replay.headless import play_through

    found = play_through(envelopes)
    if json:
        json_document({"folded": found, "same": found.same})
        return found.same
    typer.echo(found.state)
    if not found.closings:
        typer.echo(f"{found.events} events; no state was recorded to hold it against.", err=True)
    for closing in found.closings:
        said = f"recorded as {closing.recorded}, folded as {closing.folded}"
        if closing.foreign:
            by = one_line(closing.version, 20)
            said = f"recorded by alita {by}, which may say the same in other words: not compared"
        elif closing.same:
            said = "as recorded"
        typer.echo(f"closed at event {closing.seq}: {said}", err=True)
    return found.same


async def _rerun(house: House, envelopes: Sequence[Envelope], json: bool) -> bool:
    from alita_tui.wiring.records import rerun

    done: list[Rerun] = []
    async with aclosing(rerun(house, envelopes)) as results:
        async for one in results:
            done.append(one)
            if not json:
                _say(one)
    differ = sum(one.outcome == "differs" for one in done)
    skipped = sum(one.outcome == "skipped" for one in done)
    if json:
        json_document({"reruns": done, "differ": differ, "skipped": skipped})
    else:
        typer.echo(f"{len(done) - differ - skipped} the same, {differ} different, {skipped} not done again.")
    return not differ


def _say(one: Rerun) -> None:
    signs = {"same": "=", "differs": "≠", "skipped": "-"}
    why = f": {one_line(one.reason)}" if one.reason else ""
    typer.echo(f"{signs[one.outcome]} event {one.seq}, {one.what} of {one_line(one.name, 80)}{why}")
    for difference in one.differences:
        typer.echo(f"    {one_line(difference, 400)}")
