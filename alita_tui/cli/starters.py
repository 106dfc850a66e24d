"""`alita tools starters`: tools that come with alita, approved one by one like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.accepting import Accept, Digest, all_accepted, check_digest, list_risks
from alita_tui.cli.output import Json, json_document, table
from alita_tui.cli.proving import approve_if_proven
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import reveal
from alita_tui.view.risk import draft_risks, names_to_accept

if TYPE_CHECKING:
    from alita_tui.events import ToolDraft
    from alita_tui.view.risk import Risk

commands = typer.Typer(
    help="Tools that come with alita; each waits for your approval.", rich_markup_mode=None
)
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--host",
        metavar="NAME:PORT",
        help="A host that it may reach; `GET,HEAD NAME:PORT` limits the methods.",
    ),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", metavar="NAME[@HOST:PORT]", help="A secret for one of the hosts."),
]


@commands.callback(invoke_without_command=True)
def starters(context: typer.Context, json: Json = False) -> None:
    """List the starters: what each may use, and whether it is approved."""
    if context.invoked_subcommand is not None:
        return
    app = AppContext.open(context.obj)
    rows = []
    for name in app.starters.names():
        draft = app.starters.draft(name)
        takes_hosts = app.starters.takes_hosts(name)
        may_use = "hosts that you name" if takes_hosts else "; ".join(phrases(draft.capabilities))
        rows.append(
            (
                name,
                _state(app, draft),
                draft.digest,
                may_use or "nothing but its arguments",
                draft.description,
            )
        )
    if json:
        keys = ("name", "state", "digest", "may_use", "description")
        json_document([dict(zip(keys, row, strict=True)) for row in rows])
        return
    table(
        ("NAME", "STATE", "SHA256", "MAY USE", "DESCRIPTION"),
        [(name, state, digest[:16], may_use, text) for name, state, digest, may_use, text in rows],
    )
    typer.echo("\nRead one whole with `alita tools starters show NAME`, then approve exactly what you saw.")


@commands.command()
def show(
    context: typer.Context, name: str, host: Hosts = None, secret: Secrets = None, json: Json = False
) -> None:
    """Show a starter whole: what it may use, its code, its tests, its digest."""
    draft = AppContext.open(context.obj).starters.draft(name, host or (), secret or ())
    risks = _risks(draft)
    if json:
        json_document(
            {**msgspec.to_builtins(draft), "digest": draft.digest, "accept": names_to_accept(risks)}
        )
        return
    typer.echo(f"{draft.name}  sha256 {draft.digest}\n{draft.description}\n")
    list_risks(risks, none="none found")
    typer.echo("")
    _print_may_use(draft)
    typer.echo(f"\nArguments\n{_schema(draft.input_schema)}\nReturns\n{_schema(draft.output_schema)}")
    typer.echo(f"\nCode\n{reveal(draft.code)}\nTests\n{reveal(draft.tests)}")
    options = [f" --host '{value}'" for value in host or ()]
    options += [f" --secret {value}" for value in secret or ()]
    options += [f" --accept {risk}" for risk in names_to_accept(risks)]
    command = f"alita tools starters approve {name} --digest {draft.digest}{''.join(options)}"
    typer.echo(f"Approve with: {command}")


@commands.command()
def approve(
    context: typer.Context,
    name: str,
    digest: Digest,
    host: Hosts = None,
    secret: Secrets = None,
    accept: Accept = None,
) -> None:
    """Approve exactly the bytes and grants with this digest; its tests run in the sandbox first.

    Each of its risks is accepted by name; `alita tools starters show` lists them.
    """
    app = AppContext.open(context.obj)
    draft = app.starters.draft(name, host or (), secret or ())
    look = f"alita tools starters show {name}"
    check_digest(digest, draft.digest, what=f"{name} with these grants", show=look)
    if _state(app, draft) != "not approved":
        typer.echo(f"{name} is in the library already.")
        return
    all_accepted(_risks(draft), accept or [], what="It", show=look)
    approve_if_proven(app, draft, "starter")
    _print_may_use(draft)


def _risks(draft: ToolDraft) -> tuple[Risk, ...]:
    """Return the risks of what it asks for and of what its static review found."""
    from alita_tui.toolsmith.review import review

    return draft_risks(draft.capabilities, review(draft).findings)


def _state(app: AppContext, draft: ToolDraft) -> str:
    """Return the state of its version in the library; without chosen hosts, of any version of a starter that needs
    them.
    """
    doubts = app.library.doubts()
    proven = [
        record for record in app.library.versions(draft.name) if (draft.name, record.version) not in doubts
    ]
    same = [record for record in proven if record.draft.digest == draft.digest]
    if not same and app.starters.takes_hosts(draft.name) and not draft.capabilities.network:
        same = [record for record in proven if record.origin == "starter"]
    return same[-1].state if same else "not approved"


def _print_may_use(draft: ToolDraft) -> None:
    typer.echo("May use")
    for phrase in phrases(draft.capabilities) or ("nothing but its arguments",):
        typer.echo(f"  {reveal(phrase)}")


def _schema(schema: object) -> str:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
