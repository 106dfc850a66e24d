"""`alita backup`: copies of the library, its tools, the memory and the sessions' labels."""

from __future__ import annotations

from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.crosscheck import library_problems
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, print_list, print_result
from alita_tui.spine.text import counted, reveal

commands = group()


@commands.command()
def create(context: typer.Context, json: Json = False) -> None:
    """Make a backup. Backups made by hand are kept until you remove them."""
    backup = AppContext.open(context.obj, strict=False).backups.create()
    print_result(
        backup, f"{backup.backup_id} holds {counted(len(backup.files), 'file')}: {backup.path}", json=json
    )


@commands.command("list")
def list_backups(context: typer.Context, json: Json = False) -> None:
    """List the backups, newest first."""
    backups = AppContext.open(context.obj, strict=False).backups.list()
    rows = [
        (backup.backup_id, backup.reason, str(len(backup.files)), f"{backup.size / 1024:.0f} KiB")
        for backup in backups
    ]
    print_list(backups, ("ID", "WHY", "FILES", "SIZE"), rows, empty="There is no backup yet.", json=json)


@commands.command()
def restore(
    context: typer.Context,
    backup: Annotated[str, typer.Argument(help="A backup's id or its beginning.")],
    json: Json = False,
) -> None:
    """Restore a backup. The current state is backed up first, so this can be undone."""
    app = AppContext.open(context.obj, strict=False)
    restored, before = app.backups.restore(backup)
    differences = library_problems(app)
    problem = app.library.standing().problem
    app.lineages("cli")  # applies the changes that the log has and the backup lacks
    if json:
        json_document({"restored": restored, "before": before, "held": differences, "problem": problem})
        return
    typer.echo(f"Restored {restored.backup_id}. To undo it: alita backup restore {before.backup_id}")
    typer.echo("The audit log was not changed: its verdicts count, not the backup's.")
    for line in differences:
        typer.echo(reveal(line))
    if problem:
        typer.echo(reveal(f"No tool runs: {problem}. Look into it: alita audit verify"))
