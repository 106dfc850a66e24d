"""`alita tools`: the library from the shell."""

from __future__ import annotations

import asyncio
import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.cli import starters
from alita_tui.cli.files import read_arguments
from alita_tui.cli.output import Json, damaged, json_document, table
from alita_tui.cli.recover import recover
from alita_tui.spine.errors import UsageError
from alita_tui.spine.events import BrokerAnswered
from alita_tui.spine.text import neutralise, reveal

if TYPE_CHECKING:
    from alita_tui.registry.shelf import Shelf
    from alita_tui.spine.values import Lineage, MoveKind

_DIGITS = 12
"""Of a digest that a person has to give at least."""

app = typer.Typer(help="The library of approved tools.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(starters.app, name="starters")
app.command()(recover)
Version = Annotated[
    int | None, typer.Option("--version", metavar="N", help="The version; the one that runs now.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit log.")]


@app.command("list")
def list_tools(context: typer.Context, json: Json = False) -> None:
    """List the tools."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    cards = house.shelf.cards()
    _say_what_does_not_run(house.shelf)
    damaged(house)
    if json:
        json_document(cards)
    elif not cards:
        typer.echo(
            "The library is empty: give alita a task that needs a tool, or see `alita tools starters`."
        )
    else:
        rows = ((c.name, f"v{c.version}", c.state, f"{c.runs}/{c.failures}", c.description) for c in cards)
        table(("NAME", "VERSION", "STATE", "RUNS/FAILED", "DESCRIPTION"), rows)


def _say_what_does_not_run(shelf: Shelf) -> None:
    """Where the library and the audit log differ, which versions cannot prove their approval, and what to do."""
    if problem := shelf.standing().problem:
        typer.echo(reveal(f"No tool runs: {problem}. Look into it: alita audit verify"), err=True)
        return
    for one in shelf.overridden():
        typer.echo(reveal(one.text), err=True)
    for (name, version), why in shelf.doubts().items():
        typer.echo(
            reveal(f"{name} v{version} does not run: {why}. To look at it and approve it anew: ")
            + f"alita tools approve {name} --version {version}",
            err=True,
        )


@app.command()
def approve(
    context: typer.Context,
    name: str,
    version: Version = None,
    digest: Annotated[
        str, typer.Option("--digest", metavar="SHA256", help="At least 12 digits of the digest that you saw.")
    ] = "",
) -> None:
    """Approve anew what no approval of this home proves: a copied tool, or one whose log was lost.

    Without --digest it is shown whole. With it, it is reviewed and its tests run in the sandbox first; it
    joins the library as a version of its own, and the one that proves nothing is put away.
    """
    from alita_tui.spine.grants import phrases
    from alita_tui.wiring.house import House
    from alita_tui.wiring.identity import me
    from alita_tui.wiring.tools import approve_anew, prove

    house = House.open(context.obj)
    record = house.shelf.unproven(name, version)
    draft = record.draft
    given = digest.lower().removeprefix("sha256:")
    if not given:
        typer.echo(f"{draft.name} v{record.version}  sha256 {draft.digest}\n{reveal(draft.description)}")
        typer.echo(f"does not run: {reveal(house.shelf.doubts()[name, record.version])}")
        typer.echo(f"may use {reveal('; '.join(phrases(draft.capabilities))) or 'nothing but its arguments'}")
        for package in record.lock.packages:
            typer.echo(f"needs {reveal(package.name)} {reveal(package.version)}")
        typer.echo(f"\nCode\n{reveal(draft.code)}\nTests\n{reveal(draft.tests)}")
        typer.echo(
            f"Approve with: alita tools approve {name} --version {record.version} --digest {draft.digest[:16]}"
        )
        return
    if len(given) < _DIGITS or not draft.digest.startswith(given):
        raise UsageError(
            f"{name} v{record.version} is {draft.digest[:16]}…, not {reveal(digest[:70])!r}.",
            hint=f"Look at it first: alita tools approve {name} --version {record.version}",
        )
    proof, seen = asyncio.run(prove(house, draft, lambda *_: None))
    starters.evidence(seen)
    if proof.problem:
        typer.echo(reveal(f"{name} was not approved: {proof.problem}"), err=True)
        raise typer.Exit(1)
    made = approve_anew(house, draft, proof.lock, origin="imported")
    because = f"approved anew as v{made.version}"
    house.lineages("cli").move(draft.name, "archive", record.version, by=me(), reason=because)
    typer.echo(f"approved: {name} v{made.version}, sha256 {made.digest[:16]}…")


@app.command()
def show(context: typer.Context, name: str, json: Json = False) -> None:
    """Show a tool whole."""
    from alita_tui.spine.grants import phrases
    from alita_tui.wiring.house import House

    record = House.open(context.obj).shelf.get(name)
    if json:
        json_document(record)
        return
    typer.echo(f"{record.draft.name} v{record.version}  {record.state}  sha256 {record.digest}")
    typer.echo(reveal(record.draft.description))
    typer.echo(f"approved as {record.approval_id} on {record.created_at}")
    typer.echo(f"may use {reveal('; '.join(phrases(record.granted))) or 'nothing but its arguments'}\n")
    typer.echo(reveal(record.draft.code))


@app.command()
def history(context: typer.Context, name: str, json: Json = False) -> None:
    """Show every version of a tool, what became of it, and what was done with it."""
    from alita_tui.wiring.house import House
    from alita_tui.wiring.records import lineage

    found = lineage(House.open(context.obj), name)
    if json:
        json_document(found)
        return
    rows = (
        (
            f"v{one.version}" + ("*" if one.version == found.current else ""),
            one.state + (" pinned" if one.version == found.pinned else ""),
            one.digest[:12],
            f"v{one.parent_version}" if one.parent_version else "",
            f"{one.runs}/{one.failures}",
            f"${found.spent_usd[one.version]:.4f}" if one.version in found.spent_usd else "",
            one.created_at[:19],
        )
        for one in found.versions
    )
    table(("VERSION", "STATE", "SHA256", "FROM", "RUNS/FAILED", "BUILT FOR", "REGISTERED"), rows)
    if found.spent_usd:
        spent = sum(found.spent_usd.values())
        typer.echo(f"Built for ${spent:.4f}; building it anew for each run: ${found.saved_usd:.4f} more.")
    if found.aliases:
        typer.echo(f"Also called {', '.join(found.aliases)}.")
    for move in found.moves:
        back = ", taken back" if move.undone else ""
        what = f"{move.kind} {move.before or move.after}" if "alias" in move.kind else move.kind
        because = f": {move.reason}" if move.reason else ""
        typer.echo(reveal(f"{move.at[:19]}  {what} v{move.version} by {move.by}{because}{back}"))


@app.command()
def rollback(context: typer.Context, name: str, reason: Reason = "") -> None:
    """Go back to the version before; the one that ran is archived."""
    _move(context, name, "rollback", None, reason)


@app.command()
def revoke(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Take the approval of a version back: it does not run any more."""
    _move(context, name, "revoke", version, reason)


@app.command()
def quarantine(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Keep a version from running until you restore it."""
    _move(context, name, "quarantine", version, reason)


@app.command()
def archive(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Put a version away that is not needed."""
    _move(context, name, "archive", version, reason)


@app.command()
def restore(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Let a version run again that was put away, as it was approved."""
    _move(context, name, "restore", version, reason)


@app.command()
def pin(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Let this version run whatever newer ones there are."""
    _move(context, name, "pin", version, reason)


@app.command()
def unpin(context: typer.Context, name: str, reason: Reason = "") -> None:
    """Let the newest version run again."""
    _move(context, name, "unpin", None, reason)


@app.command()
def undo(context: typer.Context, name: str) -> None:
    """Take back what was last done with a tool."""
    from alita_tui.wiring.house import House
    from alita_tui.wiring.identity import me

    _tell(House.open(context.obj).lineages("cli").undo(name, by=me()))


def _move(context: typer.Context, name: str, kind: MoveKind, version: int | None, reason: str) -> None:
    from alita_tui.wiring.house import House
    from alita_tui.wiring.identity import me

    lineages = House.open(context.obj).lineages("cli")
    _tell(lineages.move(name, kind, version, by=me(), reason=reason))
    typer.echo(f"Take it back with: alita tools undo {name}")


def _tell(found: Lineage) -> None:
    pinned = f", v{found.pinned} is pinned" if found.pinned else ""
    runs = f"v{found.current} runs" if found.current else "no version runs"
    states = ", ".join(f"v{one.version} {one.state}" for one in found.versions)
    typer.echo(f"{found.name}: {runs}{pinned} ({states})")


@app.command()
def aliases(context: typer.Context, json: Json = False) -> None:
    """List the other names of tools."""
    from alita_tui.wiring.house import House

    shelf = House.open(context.obj).shelf
    found = shelf.aliases.all()
    if json:
        json_document(found)
    elif not found:
        typer.echo("No tool has another name.")
    else:
        own = {card.name for card in shelf.cards()}
        runs = (
            "the tool of that name" if a.name in own else a.target.name if a.target.name in own else "nothing"
            for a in found
        )
        rows = (
            (a.name, a.target.label, does, a.at[:19], a.description)
            for a, does in zip(found, runs, strict=True)
        )
        table(("NAME", "STANDS FOR", "RUNS", "SINCE", "DESCRIPTION"), rows)


@app.command()
def unalias(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The other name.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept.")] = "",
) -> None:
    """Take another name of a tool away."""
    from alita_tui.wiring.house import House
    from alita_tui.wiring.identity import me

    found = House.open(context.obj).lineages("cli").unalias(name, by=me(), reason=reason)
    typer.echo(f"{name} is no name of {found.name} any more.")
    typer.echo(f"Take it back with: alita tools undo {found.name}")


@app.command()
def bans(context: typer.Context, json: Json = False) -> None:
    """List what you never want to be asked about again."""
    from alita_tui.wiring.house import House

    found = House.open(context.obj).shelf.bans.all()
    if json:
        json_document(found)
    elif not found:
        typer.echo("Nothing is banned.")
    else:
        rows = ((b.ban_id, b.name, b.digest[:16], ", ".join(b.capabilities), b.by, b.reason) for b in found)
        table(("ID", "NAME", "SHA256", "CAPABILITIES", "BY", "REASON"), rows)


@app.command()
def unban(context: typer.Context, ban: Annotated[str, typer.Argument(help="Its id.")]) -> None:
    """Take a ban back. The library is backed up before, since the ban leaves it."""
    from alita_tui.wiring.house import House
    from alita_tui.wiring.identity import me

    house = House.open(context.obj)
    known = [one for one in house.shelf.bans.all() if one.ban_id == ban]
    if not known:
        raise UsageError(f"There is no ban {ban[:60]!r}.", hint="`alita tools bans` lists them.")
    house.backups.create("clean-up")
    house.shelf.bans.lift(ban)
    for one in known:
        house.audit.append(
            who=me(), verdict="unbanned", digest=one.digest, name=one.name, version=0,
            session_id="", approval_id=one.ban_id, banned=one.capabilities, via="cli",
        )  # fmt: skip
    typer.echo(f"Taken back: {ban}")


@app.command()
def run(
    context: typer.Context,
    name: str,
    input_json: Annotated[
        str,
        typer.Option("--input", metavar="JSON", help="Arguments as a JSON object; `-` reads standard input."),
    ] = "{}",
    json: Annotated[bool, typer.Option("--json", help="The whole report as JSON.")] = False,
) -> None:
    """Run an approved tool in the sandbox.

    A run of a tool that is granted something is recorded, with all that it asked for.
    """
    from alita_tui.wiring.house import House
    from alita_tui.wiring.tools import run_tool

    arguments = read_arguments(input_json)
    house = House.open(context.obj)
    record = house.shelf.get(name)
    if record.draft.name != name and not json:
        typer.echo(f"{name} is another name of {record.draft.name} v{record.version}, which runs.", err=True)

    def tell(_: str, said: str) -> None:
        if not json:
            sys.stderr.write(neutralise(said))

    async def told(answered: BrokerAnswered) -> None:
        if not json:
            why = f": {answered.reason}" if answered.reason else ""
            typer.echo(reveal(f"{answered.request} → {answered.outcome}{why}"), err=True)

    report, recorded = asyncio.run(run_tool(house, record, arguments, tell, told))
    ok = report.status == "ok"
    house.shelf.record_run(record.draft.name, record.version, ok=ok, query="")
    if json:
        json_document(report)
    elif ok:
        json_document(report.result)
    else:
        typer.echo(reveal(f"{name} failed ({report.status}): {report.error}".strip()), err=True)
    if recorded is not None and not json:
        typer.echo(f"what it asked for is recorded: alita replay {shlex.quote(str(recorded))}", err=True)
    raise typer.Exit(0 if ok else 1)
