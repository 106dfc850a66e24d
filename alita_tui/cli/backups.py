"""`alita backup`: copies of the library, its tools and the memory."""

from __future__ import annotations

from typing import Annotated

import typer

from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.text import counted, reveal

app = typer.Typer(
    help="Backups of the library, the memory and the sessions' labels.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def create(context: typer.Context, json: Json = False) -> None:
    """Take a backup. Those taken by hand are kept until you remove them."""
    from alita_tui.wiring.house import House

    made = House.open(context.obj, strict=False).backups.create()
    if json:
        json_document(made)
    else:
        typer.echo(f"{made.backup_id} holds {counted(len(made.files), 'file')}: {made.path}")


@app.command("list")
def list_backups(context: typer.Context, json: Json = False) -> None:
    """List the backups, newest first."""
    from alita_tui.wiring.house import House

    found = House.open(context.obj, strict=False).backups.list()
    if json:
        json_document(found)
    elif not found:
        typer.echo("There is no backup yet.")
    else:
        rows = (
            (one.backup_id, one.reason, str(len(one.files)), f"{one.size / 1024:.0f} KiB") for one in found
        )
        table(("ID", "WHY", "FILES", "SIZE"), rows)


@app.command()
def restore(
    context: typer.Context,
    backup: Annotated[str, typer.Argument(help="A backup's id or its beginning.")],
    json: Json = False,
) -> None:
    """Bring a backup back. What is there now is backed up first, so this can be undone."""
    from alita_tui.wiring.house import House
    from alita_tui.wiring.standing import library_problems

    house = House.open(context.obj, strict=False)
    restored, before = house.backups.restore(backup)
    said = library_problems(house)
    problem = house.shelf.standing().problem
    house.lineages("cli")  # what the log has and the backup had not is made in the library again
    if json:
        json_document({"restored": restored, "before": before, "held": said, "problem": problem})
        return
    typer.echo(f"Restored {restored.backup_id}. To undo it: alita backup restore {before.backup_id}")
    typer.echo("The audit log stayed as it is: what it says of each tool holds, whatever the backup says.")
    for line in said:
        typer.echo(reveal(line))
    if problem:
        typer.echo(reveal(f"No tool runs: {problem}. Look into it: alita audit verify"))
