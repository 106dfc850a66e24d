"""`alita sessions search|rename|tag|archive|delete|restore|compare`: keeping the sessions in order."""

from __future__ import annotations

from typing import Annotated

import typer

from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.text import one_line

One = Annotated[str, typer.Argument(help="An id or its beginning.")]


def search(
    context: typer.Context,
    text: Annotated[list[str], typer.Argument(help="Words, or their beginnings.")],
    limit: Annotated[int, typer.Option("--limit", help="Hits at most.", min=1)] = 40,
    json: Json = False,
) -> None:
    """Search the text of all sessions. Exit code 1 when nothing is found."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    found = house.session_search.find(" ".join(text), limit=limit)
    if json:
        json_document(found)
    else:
        rows = ((hit.session_id, str(hit.seq), hit.kind, "".join(hit.pieces)) for hit in found)
        if found:
            table(("SESSION", "EVENT", "KIND", "TEXT"), rows)
            typer.echo(f"Look at one with: alita replay {found[0].session_id} --at {found[0].seq}", err=True)
        else:
            typer.echo("Nothing found.", err=True)
    raise typer.Exit(0 if found else 1)


def rename(
    context: typer.Context,
    session: One,
    title: Annotated[str, typer.Argument(help="The new title; empty for its own.")],
    json: Json = False,
) -> None:
    """Give a session another title."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    label = house.labels.rename(house.sessions.find(session).stem, title)
    if json:
        json_document(label)
    else:
        typer.echo(
            f"{label.session_id} is now called {label.title!r}." if label.title else "It has its own title."
        )


def tag(
    context: typer.Context,
    session: One,
    tags: Annotated[list[str], typer.Argument(help="Tags to add; -NAME after -- takes one away.")],
    json: Json = False,
) -> None:
    """Add tags to a session, or take them away: `alita sessions tag ID -- work -old`."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    label = house.labels.tag(
        house.sessions.find(session).stem,
        add=[one for one in tags if not one.startswith("-")],
        remove=[one[1:] for one in tags if one.startswith("-")],
    )
    if json:
        json_document(label)
    else:
        typer.echo(" ".join(f"#{one}" for one in label.tags) or "It has no tags.")


def archive(
    context: typer.Context,
    session: One,
    undo: Annotated[bool, typer.Option("--undo", help="Put it back into the list.")] = False,
    json: Json = False,
) -> None:
    """Take a session out of the list; `list --all` and the search still have it."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    label = house.labels.archive(house.sessions.find(session).stem, not undo)
    if json:
        json_document(label)
    else:
        typer.echo(f"{label.session_id} is {'archived' if label.archived else 'in the list'}.")


def delete(context: typer.Context, session: One, json: Json = False) -> None:
    """Delete a session. For 30 days `restore` brings it back."""
    from alita_tui.wiring.house import House

    gone = House.open(context.obj).sessions.delete(session)
    if json:
        json_document({"session_id": gone})
    else:
        typer.echo(f"{gone} is deleted. Bring it back with: alita sessions restore {gone}")


def restore(
    context: typer.Context,
    session: Annotated[str | None, typer.Argument(help="Its id; the one deleted last.")] = None,
    json: Json = False,
) -> None:
    """Bring a deleted session back."""
    from alita_tui.spine.errors import UsageError
    from alita_tui.wiring.house import House

    sessions = House.open(context.obj).sessions
    wanted = session or next(iter(sessions.trash.ids()), None)
    if wanted is None:
        raise UsageError("No session was deleted.")
    back = sessions.restore(wanted).stem
    if json:
        json_document({"session_id": back})
    else:
        typer.echo(f"{back} is back.")


def compare(
    context: typer.Context,
    left: Annotated[str, typer.Argument(help="An id, its beginning, or a file.")],
    right: Annotated[str, typer.Argument(help="Another one.")],
    json: Json = False,
) -> None:
    """Put two sessions side by side: steps, tools, cost, answer."""
    from alita_tui.view.compare import Side
    from alita_tui.view.compare import compare as put
    from alita_tui.wiring.house import House
    from alita_tui.wiring.records import recording

    house = House.open(context.obj)
    found = put(recording(house, left), recording(house, right))
    if json:
        json_document(found)
        return

    def facts(side: Side) -> tuple[str, ...]:
        used = ", ".join(f"{name} {times}×" for name, times in side.used)
        return (
            side.session_id,
            side.title,
            f"{side.seconds:.0f} s",
            str(side.steps),
            f"{side.calls}, {side.tokens:,} tokens",
            f"${side.cost_usd:.4f}",
            ", ".join(side.built) or "-",
            used or "-",
            str(side.errors),
            side.outcome or "-",
            one_line(side.answer, 50) or "-",
        )

    names = ("session", "title", "time", "steps", "model calls", "cost", "built", "ran", "errors", "outcome")
    rows = zip((*names, "answer"), facts(found.left), facts(found.right), strict=True)
    typer.echo(f"The first {found.common} events are the same.")
    table(("", "LEFT", "RIGHT"), ((name, one_line(a, 50), b) for name, a, b in rows))
    signs = {"same": "=", "differs": "≠", "left": "<", "right": ">"}
    typer.echo("")
    table(
        ("", "LEFT", "RIGHT"),
        ((signs[one.kind], one_line(one.left, 50), one_line(one.right, 50)) for one in found.moves),
    )
