"""`alita keys`: every key of the console, and what is wrong with the person's keymap."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.text import counted, reveal


def keys(
    context: typer.Context,
    find: Annotated[str, typer.Argument(help="Only actions whose name, key or words have this.")] = "",
    json: Json = False,
) -> None:
    """List the console's keys, say where they are remapped, and check that for conflicts.

    Exit code 1 if the keymap has an unknown action, no key, or a key that two actions would have.
    """
    from alita_tui.console.action_table import ACTIONS, GROUPS
    from alita_tui.console.actions import shown
    from alita_tui.console.keymap import read_keymap

    path = AppContext.open(context.obj, strict=False).paths.keymap
    remapped, problems = read_keymap(path)
    rows: list[dict[str, Any]] = [
        {
            "action": action.id,
            "keys": [key.strip() for key in (remapped.get(action.id) or action.key).split(",")],
            "default": action.key,
            "remapped": action.id in remapped,
            "where": GROUPS.get(action.owner, action.owner),
            "does": action.tooltip,
        }
        for action in ACTIONS
    ]
    needle = find.lower()
    rows = [
        row
        for row in rows
        if not needle or needle in f"{row['action']} {row['keys']} {row['where']} {row['does']}".lower()
    ]
    if json:
        json_document({"keymap": str(path), "there": path.exists(), "problems": problems, "actions": rows})
        raise typer.Exit(1 if problems else 0)
    lines = []
    for row in rows:
        names = " ".join(dict.fromkeys(shown(key) for key in row["keys"]))
        changed = f"  (default {shown(str(row['default']))})" if row["remapped"] else ""
        lines.append((f"{names}{changed}", str(row["action"]), str(row["where"]), str(row["does"])))
    table(("KEY", "ACTION", "WHERE", "WHAT"), lines)
    if path.exists():
        typer.echo(f"\n{counted(len(remapped), 'action')} remapped in {reveal(str(path))}")
    else:
        typer.echo(f'\nTo remap one, write {reveal(str(path))}:\n[keys]\n"session.find" = "ctrl+f,f6"')
    for problem in problems:
        typer.echo(f"wrong: {reveal(problem)}", err=True)
    raise typer.Exit(1 if problems else 0)
