"""`alita memory`: everything that is remembered; correcting, pinning and forgetting it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.accepting import Accept
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, report_damage, table
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.text import counted, one_line, reveal

if TYPE_CHECKING:
    from alita_tui.spine.ports.memory import Remembered

commands = group()

ItemId = Annotated[str, typer.Argument(metavar="ID", help="An id or its beginning.")]
Kind = Literal["fact", "recipe", "episode", "failure", "rejection"]
_ORIGINS = {
    "statement": "you said so", "answer": "your answer to a question", "correction": "your correction",
    "person": "your words", "result": "a tool's result", "rejection": "a build that you rejected",
    "failure": "a task that led nowhere", "task": "a task that was answered",
}  # fmt: skip


@commands.command("list")
def list_items(
    context: typer.Context,
    kind: Annotated[
        Kind | None, typer.Option("--kind", help="Only these: fact, recipe, episode, failure, rejection.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also of other projects, and facts that hold no longer.")
    ] = False,
    json: Json = False,
) -> None:
    """List what is remembered, newest first: of this project and what is shared."""
    from alita_tui.app.memory import as_json
    from alita_tui.app.project import current_project

    app = AppContext.open(context.obj)
    report_damage(app)
    listed = [
        remembered
        for remembered in reversed(app.memory.remembered())
        if (everything or (remembered.holds and remembered.project in ("", current_project(app))))
        and (kind is None or remembered.sort == kind)
    ]
    if json:
        json_document([as_json(remembered) for remembered in listed])
        return
    if not listed:
        typer.echo("Nothing is remembered yet." if not everything else "Nothing is remembered.")
        return
    _table(listed)


@commands.command()
def show(context: typer.Context, item: ItemId, json: Json = False) -> None:
    """Show an item whole: what it says, where it comes from, how far it is trusted."""
    from alita_tui.app.memory import as_json, source_of

    remembered = AppContext.open(context.obj).memory.find(item)
    if json:
        json_document(as_json(remembered))
        return
    details = remembered.item
    typer.echo(f"{reveal(details.text)}\n")
    facts = {
        "id": details.item_id,
        "kind": remembered.sort,
        "learned from": _ORIGINS[details.origin],
        "source": f"{source_of(remembered)}, of {counted(len(remembered.sources), 'event')}",
        "about": details.subject,
        "project": remembered.project or "shared by all",
        "since": remembered.at,
        "held until": remembered.until,
        "pinned": "yes" if remembered.pinned else "",
        "worked": remembered.record if remembered.sort == "recipe" else "",
        "you said": remembered.said,
        "cost": f"${details.cost_usd:.4f}" if details.cost_usd else "",
        "files": ", ".join(details.artefacts),
    }
    for name, value in facts.items():
        if value:
            typer.echo(f"{name:13} {reveal(value)}")
    from alita_tui.memory.recipes import in_words

    for number, step in enumerate(remembered.steps, 1):
        typer.echo(f"{f's{number}':13} {reveal(in_words((step,)))}")
    session, _, seq = source_of(remembered).rpartition(":")
    typer.echo(f"\nLook at its source: alita replay {session} --at {seq}", err=True)


@commands.command()
def search(
    context: typer.Context,
    text: Annotated[list[str], typer.Argument(help="Words, or a whole task.")],
    json: Json = False,
) -> None:
    """Show what a task in these words would recall, and why; then other items that contain the words.

    Exit code 1 when nothing is found.
    """
    import asyncio

    from alita_tui.app.encoding import would_recall
    from alita_tui.app.memory import as_json

    app = AppContext.open(context.obj)
    query = " ".join(text)
    recalled, problem = asyncio.run(would_recall(app, query))
    if problem is not None:
        typer.echo(reveal(f"Without the encoder: {problem.message} {problem.hint}".strip()), err=True)
    recalled_ids = {item.item_id for item in recalled}
    words = query.casefold().split()
    matching = [
        remembered
        for remembered in app.memory.remembered()
        if remembered.item.item_id not in recalled_ids
        and all(word in remembered.item.text.casefold() for word in words)
    ]
    if json:
        json_document(
            {
                "recalled": [
                    {"id": item.item_id, "text": item.text, "score": item.score, "why": item.why}
                    for item in recalled
                ],
                "others": [as_json(remembered) for remembered in matching],
            }
        )
    else:
        if recalled:
            rows = ((item.item_id, f"{item.score:.2f}", item.why, item.text) for item in recalled)
            table(("RECALLED", "SCORE", "WHY", "TEXT"), rows)
        if matching:
            typer.echo("" if recalled else "A task of these words would recall nothing.")
            _table(matching)
        if not recalled and not matching:
            typer.echo("Nothing found.", err=True)
    raise typer.Exit(0 if recalled or matching else 1)


@commands.command()
def edit(
    context: typer.Context,
    item: ItemId,
    text: Annotated[str, typer.Argument(help="What it should say; empty to leave that.")] = "",
    project: Annotated[
        str | None, typer.Option("--project", help="Let it belong to this project; `shared`: to all.")
    ] = None,
    json: Json = False,
) -> None:
    """Correct an item in your own words, or give it to another project."""
    from alita_tui.app.memory import as_json, edited, project_named

    if not text and project is None:
        raise UsageError("There is nothing to change.", hint="Give a text, or --project NAME.")
    app = AppContext.open(context.obj)
    remembered = app.memory.find(item)
    if text:
        remembered = edited(app, remembered.item.item_id, text)
    if project is not None:
        remembered = app.memory.move(remembered.item.item_id, project_named(project))
    if json:
        json_document(as_json(remembered))
    else:
        typer.echo(f"{remembered.item.item_id} says now: {reveal(remembered.item.text)}")
        if project is not None:
            typer.echo(f"It belongs to {remembered.project or 'all projects'}.")


@commands.command()
def pin(
    context: typer.Context,
    item: ItemId,
    off: Annotated[bool, typer.Option("--off", help="Pin it no longer.")] = False,
) -> None:
    """Keep an item from ageing: it is trusted wholly wherever it fits."""
    memory = AppContext.open(context.obj).memory
    remembered = memory.pin(memory.find(item).item.item_id, not off)
    typer.echo(f"{remembered.item.item_id} is {'pinned' if remembered.pinned else 'not pinned any more'}.")


@commands.command()
def forget(
    context: typer.Context,
    items: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids or their beginnings.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Forget items for good: they are removed, and do not come back however often they are learned.

    No session tells them to the model again. What was recorded stays in the record; `alita sessions delete` removes a
    session.
    """
    import asyncio

    from alita_tui.app.memory import forgotten

    app = AppContext.open(context.obj)
    chosen = [app.memory.find(item) for item in items]
    for remembered in chosen:
        typer.echo(f"{remembered.item.item_id}  {one_line(reveal(remembered.item.text), 160)}")
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("Nothing is forgotten: this needs a confirmation.", hint="Say --yes.")
        typer.confirm(f"Forget {counted(len(chosen), 'item')} for good?", abort=True)
    for remembered in chosen:
        for session in asyncio.run(forgotten(app, remembered)):
            typer.echo(
                f"Session {session} is open elsewhere, and has it in its conversation until it ends.",
                err=True,
            )
    typer.echo(f"Forgotten: {counted(len(chosen), 'item')}. Backups made before still have it.")


@commands.command()
def export(
    context: typer.Context,
    path: Annotated[str, typer.Argument(help="A new file; `-` prints it.")] = "-",
) -> None:
    """Write all that is remembered as one JSON document, without secrets."""
    import msgspec

    from alita_tui.app.memory import exported

    document = exported(AppContext.open(context.obj))
    if path == "-":
        json_document(document)
        return
    try:
        with Path(path).open("xb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(document), indent=1))
    except FileExistsError as error:
        raise UsageError(f"{path} exists already.", hint="Give the name of a new file.") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
    typer.echo(f"{path}: {counted(len(document['items']), 'item')}")


@commands.command()
def learn(
    context: typer.Context,
    session: Annotated[str, typer.Argument(help="A session's id or its beginning.")],
    json: Json = False,
) -> None:
    """Learn from a session that taught nothing by itself: a fork, or one from elsewhere."""
    from alita_tui.app.memory import learned

    new = learned(AppContext.open(context.obj), session)
    if json:
        json_document([{"id": item.item_id, "text": item.text} for item in new])
        return
    for item in new:
        typer.echo(f"{item.item_id}  {one_line(reveal(item.text), 160)}")
    typer.echo(f"Learned: {counted(len(new), 'item')}." if new else "It teaches nothing new.")


@commands.command()
def tool(
    context: typer.Context,
    recipe: ItemId,
    name: Annotated[str, typer.Option("--name", help="What the tool is called.")] = "",
    digest: Annotated[
        str,
        typer.Option("--digest", metavar="SHA256", help="Approve it: the digest that you saw, whole."),
    ] = "",
    accept: Accept = None,
    json: Json = False,
) -> None:
    """Turn a recipe that worked three times into one tool: show it, or approve it by its digest.

    It calls the tools of the recipe as they are approved now, and may do nothing else. Its tests run in the
    sandbox first.
    """
    import msgspec

    from alita_tui.app.pipelines import pipeline
    from alita_tui.cli.accepting import all_accepted, check_digest, list_risks
    from alita_tui.cli.proving import approve_if_proven
    from alita_tui.spine.grants import phrases
    from alita_tui.toolsmith.review import review
    from alita_tui.view.risk import draft_risks, names_to_accept

    app = AppContext.open(context.obj)
    recipe_item, draft = pipeline(app, recipe, name)
    risks = draft_risks(draft.capabilities, review(draft).findings)
    look = f"alita memory tool {recipe_item.item.item_id}{f' --name {name}' if name else ''}"
    if not digest:
        if json:
            json_document(
                {**msgspec.to_builtins(draft), "digest": draft.digest, "accept": names_to_accept(risks)}
            )
            return
        typer.echo(f"{draft.name}  sha256 {draft.digest}\n{reveal(draft.description)}\n")
        list_risks(risks, none="none found")
        typer.echo("\nMay use")
        for phrase in phrases(draft.capabilities):
            typer.echo(f"  {reveal(phrase)}")
        typer.echo(f"\nCode\n{reveal(draft.code)}\nTests\n{reveal(draft.tests)}")
        options = "".join(f" --accept {risk}" for risk in names_to_accept(risks))
        typer.echo(f"Approve with: {look} --digest {draft.digest}{options}")
        return
    check_digest(digest, draft.digest, what=f"{draft.name} as its tools are now", show=look)
    all_accepted(risks, accept or [], what="It", show=look)
    approve_if_proven(app, draft, "recipe")


def _table(items: Iterable[Remembered]) -> None:
    table(
        ("ID", "KIND", "SINCE", "PROJECT", "TEXT"),
        (
            (
                remembered.item.item_id,
                remembered.sort
                + (" *" if remembered.pinned else "")
                + (" (old)" if remembered.until else ""),
                f"{datetime.fromisoformat(remembered.at):%Y-%m-%d}" if remembered.at else "",
                remembered.project or "shared",
                remembered.item.text,
            )
            for remembered in items
        ),
    )
