"""`alita tools starters`: tools that come with alita, approved one by one like any other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.cli.accepting import all_accepted
from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import reveal

if TYPE_CHECKING:
    from alita_tui.spine.envelope import Envelope
    from alita_tui.spine.values import ToolDraft
    from alita_tui.view.risk import Risk
    from alita_tui.wiring.house import House

app = typer.Typer(help="Tools that come with alita; each waits for your approval.", rich_markup_mode=None)
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--host", metavar="NAME:PORT", help="A host that it may reach; `GET,HEAD NAME:PORT` limits it."
    ),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", metavar="NAME[@HOST:PORT]", help="A secret for one of the hosts."),
]
Accept = Annotated[
    list[str] | None,
    typer.Option("--accept", metavar="RISK", help="A risk that you accept, by its name; one for each."),
]
_DIGITS = 12
"""Of a digest that a person has to give at least."""


@app.callback(invoke_without_command=True)
def starters(context: typer.Context, json: Json = False) -> None:
    """List the starters: what each may use, and whether it is approved."""
    if context.invoked_subcommand is not None:
        return
    from alita_tui.spine.grants import phrases
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    rows = []
    for name in house.starters.names():
        draft = house.starters.draft(name)
        granted = (
            "hosts that you name"
            if house.starters.takes_hosts(name)
            else "; ".join(phrases(draft.capabilities))
        )
        may_use = granted or "nothing but its arguments"
        rows.append((name, _state(house, draft), draft.digest, may_use, draft.description))
    if json:
        keys = ("name", "state", "digest", "may_use", "description")
        json_document([dict(zip(keys, row, strict=True)) for row in rows])
        return
    table(
        ("NAME", "STATE", "SHA256", "MAY USE", "DESCRIPTION"),
        [(n, s, d[:16], g, t) for n, s, d, g, t in rows],
    )
    typer.echo("\nRead one whole with `alita tools starters show NAME`, then approve exactly what you saw.")


@app.command()
def show(
    context: typer.Context, name: str, host: Hosts = None, secret: Secrets = None, json: Json = False
) -> None:
    """Show a starter whole: what it may use, its code, its tests, its digest."""
    import msgspec

    from alita_tui.view.risk import names_of
    from alita_tui.wiring.house import House

    draft = House.open(context.obj).starters.draft(name, host or (), secret or ())
    if json:
        names = names_of(_risks(draft))
        json_document({**msgspec.to_builtins(draft), "digest": draft.digest, "accept": names})
        return
    typer.echo(f"{draft.name}  sha256 {draft.digest}\n{draft.description}\n")
    found = _risks(draft)
    typer.echo("Risks, each with the name by which it is accepted")
    for one in found:
        typer.echo(f"  {'▲' if one.serious else '△'} {one.name}  {reveal(one.text)}")
    typer.echo("" if found else "  none found\n")
    _may_use(draft)
    typer.echo(f"\nArguments\n{_schema(draft.input_schema)}\nReturns\n{_schema(draft.output_schema)}")
    typer.echo(f"\nCode\n{reveal(draft.code)}\nTests\n{reveal(draft.tests)}")
    chosen = "".join(f" --host '{one}'" for one in host or ()) + "".join(
        f" --secret {one}" for one in secret or ()
    )
    chosen += "".join(f" --accept {one}" for one in names_of(found))
    typer.echo(f"Approve with: alita tools starters approve {name} --digest {draft.digest[:16]}{chosen}")


@app.command()
def approve(
    context: typer.Context,
    name: str,
    digest: Annotated[
        str, typer.Option("--digest", metavar="SHA256", help="At least 12 digits of the digest that you saw.")
    ],
    host: Hosts = None,
    secret: Secrets = None,
    accept: Accept = None,
) -> None:
    """Approve exactly the bytes and grants with this digest; its tests run in the sandbox first.

    Each of its risks is accepted by name: `alita tools starters show` tells them.
    """
    from alita_tui.wiring.house import House
    from alita_tui.wiring.tools import approve_starter, prove

    house = House.open(context.obj)
    draft = house.starters.draft(name, host or (), secret or ())
    given = digest.lower().removeprefix("sha256:")
    if len(given) < _DIGITS or not draft.digest.startswith(given):
        raise UsageError(
            f"{name} with these grants is {draft.digest[:16]}…, not {reveal(digest[:70])!r}.",
            hint=f"Look at it first: alita tools starters show {name}",
        )
    if _state(house, draft) != "not approved":
        typer.echo(f"{name} is in the library already.")
        return
    all_accepted(_risks(draft), accept or [], what="It", show=f"alita tools starters show {draft.name}")
    proof, seen = asyncio.run(prove(house, draft, lambda *_: None))
    evidence(seen)
    if proof.problem:
        typer.echo(reveal(f"{name} was not approved: {proof.problem}"), err=True)
        raise typer.Exit(1)
    record = approve_starter(house, draft, proof.lock)
    typer.echo(f"approved: {name} v{record.version}, sha256 {record.digest[:16]}…")
    _may_use(draft)


def _risks(draft: ToolDraft) -> tuple[Risk, ...]:
    """What it asks for, and what its static review found."""
    from alita_tui.toolsmith.review import review
    from alita_tui.view.risk import draft_risks

    return draft_risks(draft.capabilities, review(draft).findings)


def _state(house: House, draft: ToolDraft) -> str:
    """Whether a version of it is in the library, with whatever hosts where those are chosen."""
    doubts = house.shelf.doubts()
    versions = [
        one for one in house.shelf.versions(draft.name) if (draft.name, one.version) not in doubts
    ]  # those without an approval that this home can prove
    same = [one for one in versions if one.digest == draft.digest]
    if not same and house.starters.takes_hosts(draft.name) and draft.capabilities.none:
        same = [one for one in versions if one.origin == "starter"]
    return same[-1].state if same else "not approved"


def _may_use(draft: ToolDraft) -> None:
    from alita_tui.spine.grants import phrases

    said: Iterable[str] = phrases(draft.capabilities) or ("nothing but its arguments",)
    typer.echo("May use")
    for one in said:
        typer.echo(f"  {reveal(one)}")


def evidence(seen: tuple[Envelope, ...]) -> None:
    """What the review and the tests found, as it was observed."""
    from alita_tui.spine import events as e

    for envelope in seen:
        match envelope.event:
            case e.BuildReviewed(findings=findings):
                for one in findings:
                    if one.blocking or one.severity in ("high", "medium"):
                        typer.echo(f"  {one.severity:6} {one.rule} line {one.line}: {reveal(one.text)}")
            case e.BuildTested(reports=reports):
                cases = reports[-1].cases if reports else ()
                for case in cases:
                    typer.echo(f"  {'pass' if case.passed else 'FAIL'}  {reveal(case.name)}")
                typer.echo(f"  {len(reports)} runs in the sandbox, with nothing granted")
            case _:
                pass


def _schema(schema: object) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
