"""`alita tools`: the library from the shell."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from alita_tui.cli import starters
from alita_tui.cli.output import json_document, table
from alita_tui.spine.errors import UsageError
from alita_tui.spine.events import BrokerAnswered
from alita_tui.spine.text import neutralise, reveal

app = typer.Typer(help="The library of approved tools.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(starters.app, name="starters")
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command("list")
def list_tools(context: typer.Context, json: Json = False) -> None:
    """List the tools."""
    from alita_tui.wiring import House

    cards = House.open(context.obj).shelf.cards()
    if json:
        json_document(cards)
    elif not cards:
        typer.echo(
            "The library is empty: give alita a task that needs a tool, or see `alita tools starters`."
        )
    else:
        rows = ((c.name, f"v{c.version}", c.state, f"{c.runs}/{c.failures}", c.description) for c in cards)
        table(("NAME", "VERSION", "STATE", "RUNS/FAILED", "DESCRIPTION"), rows)


@app.command()
def show(context: typer.Context, name: str, json: Json = False) -> None:
    """Show a tool whole."""
    from alita_tui.wiring import House

    record = House.open(context.obj).shelf.get(name)
    if json:
        json_document(record)
        return
    typer.echo(f"{record.draft.name} v{record.version}  {record.state}  sha256 {record.digest}")
    typer.echo(reveal(record.draft.description))
    typer.echo(f"approved as {record.approval_id} on {record.created_at}\n")
    typer.echo(reveal(record.draft.code))


@app.command()
def bans(context: typer.Context, json: Json = False) -> None:
    """List what you never want to be asked about again."""
    from alita_tui.wiring import House

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
    """Take a ban back."""
    from alita_tui.wiring import House

    if not House.open(context.obj).shelf.bans.lift(ban):
        raise UsageError(f"There is no ban {ban[:60]!r}.", hint="`alita tools bans` lists them.")
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
    """Run an approved tool in the sandbox."""
    import msgspec

    from alita_tui.wiring import House, run_tool

    text = sys.stdin.read() if input_json == "-" else input_json
    try:
        arguments = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise UsageError(f"--input is not valid JSON: {error}.") from error
    if not isinstance(arguments, dict):
        raise UsageError("--input has to be a JSON object with the tool's arguments.")
    house = House.open(context.obj)
    record = house.shelf.get(name)

    def tell(_: str, said: str) -> None:
        if not json:
            sys.stderr.write(neutralise(said))

    async def told(answered: BrokerAnswered) -> None:
        if not json:
            why = f": {answered.reason}" if answered.reason else ""
            typer.echo(reveal(f"{answered.request} → {answered.outcome}{why}"), err=True)

    report = asyncio.run(run_tool(house, record, arguments, tell, told))
    ok = report.status == "ok"
    house.shelf.record_run(name, record.version, ok=ok, query="")
    if json:
        json_document(report)
    elif ok:
        json_document(report.result)
    else:
        typer.echo(reveal(f"{name} failed ({report.status}): {report.error}".strip()), err=True)
    raise typer.Exit(0 if ok else 1)
