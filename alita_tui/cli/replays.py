"""`alita replay`: plays a recording in the console, folds it without one, or runs it again in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording, rerun
from alita_tui.app.terminal import wants_lines
from alita_tui.cli.output import Json, damage, json_document, plain
from alita_tui.cli.sessions import Which
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.text import counted, one_line

if TYPE_CHECKING:
    from alita_tui.agent.rerun import Rerun


def replay(
    context: typer.Context,
    session: Which = None,
    at: Annotated[
        int | None, typer.Option("--at", help="Begin after this event.", metavar="SEQ", min=0)
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Show nothing, and print the hash of its final state.")
    ] = False,
    rerun: Annotated[
        bool,
        typer.Option("--rerun", help="Run its tool calls and self-tests again, with its recorded replies."),
    ] = False,
    json: Json = False,
) -> None:
    """Play a session back.

    It plays in the console, and nothing runs unless --rerun is given. With --headless or
    --rerun the exit code is 1 if anything differs from the recording; calls with granted capabilities are
    skipped and counted. Without a sandbox for --rerun the exit code is 6.
    """
    if not headless and not rerun and wants_lines():
        for envelope in recording(AppContext.open(context.obj, strict=False), session, damage):
            if (envelope.seq or 0) > (at or 0):
                plain(envelope)
        return
    if not headless and not rerun:
        from alita_tui.app.console import open_replay

        open_replay(context.obj, session, at)
        return
    app = AppContext.open(context.obj, strict=False)
    envelopes = recording(app, session, damage)
    results = _fold(envelopes, quiet=json) if headless else {}
    if rerun:
        results |= asyncio.run(_rerun(app, envelopes, quiet=json))
    if json:
        json_document(results)
    raise typer.Exit(1 if not results.get("same", True) or results.get("differ") else 0)


def _fold(envelopes: Sequence[Envelope], *, quiet: bool) -> dict[str, object]:
    from alita_tui.replay.headless import play_through

    folded = play_through(envelopes)
    results: dict[str, object] = {"folded": folded, "same": folded.same}
    if quiet:
        return results
    typer.echo(folded.state)
    if not folded.closings and not folded.unrecorded:
        typer.echo(f"{counted(folded.events, 'event')}; no state was recorded to compare with.", err=True)
    for closing in folded.closings:
        outcome = f"recorded as {closing.recorded}, folded as {closing.folded}"
        if closing.foreign:
            version = one_line(closing.version, 20)
            outcome = f"recorded by alita {version}, whose states may be hashed differently: not compared"
        elif closing.same:
            outcome = "as recorded"
        typer.echo(f"closed at event {closing.seq}: {outcome}", err=True)
    for seq in folded.unrecorded:
        typer.echo(f"closed at event {seq}: no state was recorded to compare with", err=True)
    return results


async def _rerun(app: AppContext, envelopes: Sequence[Envelope], *, quiet: bool) -> dict[str, object]:
    reruns: list[Rerun] = []
    async with aclosing(rerun(app, envelopes)) as results:
        async for result in results:
            reruns.append(result)
            if not quiet:
                _print_rerun(result)
    differ = sum(result.outcome == "differs" for result in reruns)
    skipped = sum(result.outcome == "skipped" for result in reruns)
    if not quiet:
        typer.echo(f"{len(reruns) - differ - skipped} the same, {differ} different, {skipped} skipped.")
    return {"reruns": reruns, "differ": differ, "skipped": skipped}


def _print_rerun(result: Rerun) -> None:
    signs = {"same": "=", "differs": "≠", "skipped": "-"}
    why = f": {one_line(result.reason)}" if result.reason else ""
    typer.echo(
        f"{signs[result.outcome]} event {result.seq}, {result.what} of {one_line(result.name, 80)}{why}"
    )
    for difference in result.differences:
        typer.echo(f"    {one_line(difference, 400)}")
