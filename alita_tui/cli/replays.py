"""`alita replay`: on the screen, without one, or done again in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.cli.output import Json, damage, json_document
from alita_tui.cli.sessions import Which
from alita_tui.spine.text import counted, one_line

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

    With --headless or --rerun the exit code is 1 where something differs from the recording, a tool that
    is gone included. What is not done again, because it was granted something, is no difference; it is
    counted. Without a sandbox to run in the exit code is 6.
    """
    if not headless and not rerun:
        from alita_tui.cli.console import open_replay

        open_replay(context.obj, session, at)
        return
    home: Path | None = context.obj
    from alita_tui.wiring.house import House
    from alita_tui.wiring.records import recording

    house = House.open(home, strict=False)
    envelopes = recording(house, session, damage)
    found = _fold(envelopes, tell=not json) if headless else {}
    if rerun:
        found |= asyncio.run(_rerun(house, envelopes, tell=not json))
    if json:
        json_document(found)
    raise typer.Exit(1 if not found.get("same", True) or found.get("differ") else 0)


def _fold(envelopes: Sequence[Envelope], *, tell: bool) -> dict[str, object]:
    from alita_tui.replay.headless import play_through

    folded = play_through(envelopes)
    found: dict[str, object] = {"folded": folded, "same": folded.same}
    if not tell:
        return found
    typer.echo(folded.state)
    if not folded.closings:
        typer.echo(f"{counted(folded.events, 'event')}; no state was recorded to hold it against.", err=True)
    for closing in folded.closings:
        said = f"recorded as {closing.recorded}, folded as {closing.folded}"
        if closing.foreign:
            by = one_line(closing.version, 20)
            said = f"recorded by alita {by}, which may say the same in other words: not compared"
        elif closing.same:
            said = "as recorded"
        typer.echo(f"closed at event {closing.seq}: {said}", err=True)
    return found


async def _rerun(house: House, envelopes: Sequence[Envelope], *, tell: bool) -> dict[str, object]:
    from alita_tui.wiring.records import rerun

    done: list[Rerun] = []
    async with aclosing(rerun(house, envelopes)) as results:
        async for one in results:
            done.append(one)
            if tell:
                _say(one)
    differ = sum(one.outcome == "differs" for one in done)
    skipped = sum(one.outcome == "skipped" for one in done)
    if tell:
        typer.echo(f"{len(done) - differ - skipped} the same, {differ} different, {skipped} not done again.")
    return {"reruns": done, "differ": differ, "skipped": skipped}


def _say(one: Rerun) -> None:
    signs = {"same": "=", "differs": "≠", "skipped": "-"}
    why = f": {one_line(one.reason)}" if one.reason else ""
    typer.echo(f"{signs[one.outcome]} event {one.seq}, {one.what} of {one_line(one.name, 80)}{why}")
    for difference in one.differences:
        typer.echo(f"    {one_line(difference, 400)}")
