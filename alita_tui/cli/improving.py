"""`alita tools improve`: proposes improvements of the library; each is built and waits for a verdict."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.app.headless import EXIT_CODES
from alita_tui.cli.output import Json, json_document
from alita_tui.spine.text import counted, reveal

if TYPE_CHECKING:
    from alita_tui.config.settings import Settings
    from alita_tui.registry.proposals import Proposal


def improve(
    context: typer.Context,
    tools: Annotated[list[str] | None, typer.Argument(metavar="[TOOL]...", help="Only these tools.")] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="Only list what is proposed; nothing is built.")
    ] = False,
    most: Annotated[
        int | None, typer.Option("--most", metavar="N", min=1, help="Build at most so many.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not look up known vulnerabilities of packages.")
    ] = False,
    json: Json = False,
) -> None:
    """Propose repairs, upgrades, better descriptions, narrower grants, merges and retirements of tools.

    Each is built in a session of its own and waits for your decision; what a command does is only listed. A day's cap
    and each build's budget are settings (`improve.per_day`, `improve.build_usd`; a lower one under `budget` holds).
    Exit code 4 if a build waits.
    """
    from alita_tui.app.improving import build, left_today, proposed

    app = AppContext.open(context.obj)
    app = AppContext.open(context.obj, _caps(app.loaded.settings))
    proposals = asyncio.run(proposed(app, tools or (), faults=not offline))
    builds = [
        proposal
        for proposal in proposals
        if proposal.order is not None and (proposal.order.draft is not None or not app.demo)
    ]
    room = 0 if only_list else min(left_today(app), len(builds) if most is None else most)
    some_left = room < len(builds) and not only_list
    ended = {}
    for proposal in builds[:room]:
        if not json:
            typer.echo(reveal(f"{_line(proposal)} …"), err=True)
        result = asyncio.run(build(app, proposal))
        if result is None:
            some_left = True
            continue
        ended[proposal.proposal_id] = result
        if result[1] == "interrupted":
            break
    if json:
        json_document([_document(proposal, ended.get(proposal.proposal_id)) for proposal in proposals])
    else:
        _print(proposals, ended, left=some_left, modelless=app.demo)
    parked = any(outcome == "parked" for _, outcome, _ in ended.values())
    raise typer.Exit(EXIT_CODES["parked"] if parked else 0)


def _caps(settings: Settings) -> dict[str, str]:
    """Return the settings that cap a build and its task in money: the lower one if two caps apply."""
    own, budget = settings.improve.build_usd, settings.budget
    caps = {"budget.task_usd": (own, budget.task_usd), "budget.build_usd": (own, budget.build_usd)}
    return {name: str(min(filter(None, usd))) for name, usd in caps.items() if any(usd)}


def _document(proposal: Proposal, ended: tuple[str, str, str] | None) -> dict[str, object]:
    document = {
        "id": proposal.proposal_id,
        "kind": proposal.kind,
        "name": proposal.name,
        "version": proposal.version,
        "reason": proposal.reason,
        "command": proposal.command,
        "goal": proposal.order.goal if proposal.order else "",
    }
    if ended is not None:
        document |= dict(zip(("session", "outcome", "why"), ended, strict=True))
    return {key: msgspec.to_builtins(value) for key, value in document.items() if value != ""}


def _print(
    proposals: tuple[Proposal, ...], ended: dict[str, tuple[str, str, str]], *, left: bool, modelless: bool
) -> None:
    if not proposals:
        typer.echo("Nothing is proposed.")
    for proposal in proposals:
        typer.echo(reveal(_line(proposal)))
        if proposal.command:
            typer.echo(f"  do it with: {proposal.command}")
        elif proposal.proposal_id in ended:
            session, outcome, why = ended[proposal.proposal_id]
            typer.echo(reveal(f"  {outcome}: {why}" if outcome != "parked" else f"  {why}"))
            typer.echo(
                "  look at it with: alita builds list" if outcome == "parked" else f"  session {session}"
            )
    waiting = [
        proposal for proposal in proposals if proposal.order is not None and proposal.proposal_id not in ended
    ]
    if waiting and modelless:
        typer.echo("Most of them need a model to be built: alita setup")
    elif waiting and left:
        typer.echo(
            f"{counted(len(waiting), 'proposal')} not built: the cap of the day is reached, or --most, or another "
            "console builds it. The setting is improve.per_day."
        )
    elif waiting:
        typer.echo("Build them with: alita tools improve [TOOL]...")


def _line(proposal: Proposal) -> str:
    return f"{proposal.kind:10} {proposal.name} v{proposal.version}: {proposal.reason}"
