"""`alita sessions search|rename|tag|archive|delete|restore|compare`: keeping sessions in order."""

from __future__ import annotations

from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.cli.output import Json, json_document, print_result, table
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

SessionId = Annotated[str, typer.Argument(help="An id or its beginning.")]


def search(
    context: typer.Context,
    text: Annotated[list[str], typer.Argument(help="Words, or their beginnings.")],
    limit: Annotated[int, typer.Option("--limit", help="Show at most this many hits.", min=1)] = 40,
    json: Json = False,
) -> None:
    """Search the text of all sessions. Exit code 1 when nothing is found."""
    hits = AppContext.open(context.obj).session_search.find(" ".join(text), limit=limit)
    if json:
        json_document(hits)
    elif hits:
        rows = ((hit.session_id, str(hit.seq), hit.kind, "".join(hit.pieces)) for hit in hits)
        table(("SESSION", "EVENT", "KIND", "TEXT"), rows)
        typer.echo(f"Look at one with: alita replay {hits[0].session_id} --at {hits[0].seq}", err=True)
    else:
        typer.echo("Nothing found.", err=True)
    raise typer.Exit(0 if hits else 1)


def rename(
    context: typer.Context,
    session: SessionId,
    title: Annotated[str, typer.Argument(help="The new title; empty to use its own again.")],
    json: Json = False,
) -> None:
    """Give a session another title."""
    app = AppContext.open(context.obj)
    label = app.labels.rename(app.sessions.find(session).stem, title)
    named = f"{label.session_id} is now called {label.title!r}." if label.title else "It has its own title."
    print_result(label, named, json=json)


def tag(
    context: typer.Context,
    session: SessionId,
    tags: Annotated[list[str], typer.Argument(help="Tags to add; -NAME after -- removes one.")],
    json: Json = False,
) -> None:
    """Add or remove tags of a session: `alita sessions tag ID -- work -old`."""
    app = AppContext.open(context.obj)
    label = app.labels.tag(
        app.sessions.find(session).stem,
        add=[name for name in tags if not name.startswith("-")],
        remove=[name[1:] for name in tags if name.startswith("-")],
    )
    print_result(label, " ".join(f"#{name}" for name in label.tags) or "It has no tags.", json=json)


def archive(
    context: typer.Context,
    session: SessionId,
    undo: Annotated[bool, typer.Option("--undo", help="Put it back into the list.")] = False,
    json: Json = False,
) -> None:
    """Remove a session from the list; `list --all` and search still show it."""
    app = AppContext.open(context.obj)
    label = app.labels.archive(app.sessions.find(session).stem, not undo)
    place = "archived" if label.archived else "in the list"
    print_result(label, f"{label.session_id} is {place}.", json=json)


def delete(context: typer.Context, session: SessionId, json: Json = False) -> None:
    """Delete a session. For 30 days `restore` brings it back."""
    session_id = AppContext.open(context.obj).sessions.delete(session)
    sentence = f"{session_id} is deleted. Bring it back with: alita sessions restore {session_id}"
    print_result({"session_id": session_id}, sentence, json=json)


def restore(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Argument(help="Its id; by default the session that was deleted last.")
    ] = None,
    json: Json = False,
) -> None:
    """Bring a deleted session back."""
    sessions = AppContext.open(context.obj).sessions
    target = session or next(iter(sessions.trash.ids()), None)
    if target is None:
        raise UsageError("No session was deleted.")
    session_id = sessions.restore(target).stem
    print_result({"session_id": session_id}, f"{session_id} is back.", json=json)


def compare(
    context: typer.Context,
    left: Annotated[str, typer.Argument(help="An id, its beginning, or a file.")],
    right: Annotated[str, typer.Argument(help="Another one.")],
    json: Json = False,
) -> None:
    """Compare two sessions: steps, tools, cost, answer."""
    from alita_tui.view.compare import Side, cost_of
    from alita_tui.view.compare import compare as compared
    from alita_tui.view.spend import ESTIMATED, tokens_of

    app = AppContext.open(context.obj)
    comparison = compared(recording(app, left), recording(app, right))
    if json:
        json_document(comparison)
        return

    def facts(side: Side) -> tuple[str, ...]:
        used = ", ".join(f"{name} {times}×" for name, times in side.used)
        return (
            side.session_id,
            side.title,
            f"{side.seconds:.0f} s",
            str(side.steps),
            f"{side.calls}, {tokens_of(side)} tokens",
            cost_of(side),
            ", ".join(side.built) or "-",
            used or "-",
            str(side.errors),
            side.outcome or "-",
            one_line(side.answer, 50) or "-",
        )

    names = ("session", "title", "time", "steps", "model calls", "cost", "built", "ran", "errors", "outcome")
    rows = zip((*names, "answer"), facts(comparison.left), facts(comparison.right), strict=True)
    typer.echo(f"The first {comparison.common} events are the same.")
    table(("", "LEFT", "RIGHT"), ((name, one_line(a, 50), b) for name, a, b in rows))
    if comparison.left.estimated_tokens or comparison.right.estimated_tokens:
        typer.echo(ESTIMATED)
    signs = {"same": "=", "differs": "≠", "left": "<", "right": ">"}
    typer.echo("")
    table(
        ("", "LEFT", "RIGHT"),
        ((signs[move.kind], one_line(move.left, 50), one_line(move.right, 50)) for move in comparison.moves),
    )


COMMANDS = (search, rename, tag, archive, delete, restore, compare)
