"""`alita sessions` and `alita replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from alita_tui.cli.output import Json, damage, free, json_document, json_line, plain, table, write_text
from alita_tui.spine.text import counted

app = typer.Typer(help="Recorded sessions.", no_args_is_help=True, rich_markup_mode=None)
Format = Literal["html", "markdown", "asciicast", "jsonl"]
Which = Annotated[str | None, typer.Argument(help="An id, its beginning, or a file; the newest session.")]


@app.command("list")
def list_sessions(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="The archived ones, too.")] = False,
    tag: Annotated[str, typer.Option("--tag", help="Only those with this tag.", metavar="TAG")] = "",
    json: Json = False,
) -> None:
    """List the sessions, newest first."""
    from msgspec import to_builtins

    from alita_tui.store.labels import Label
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    labels = house.labels.all()
    listed = [
        (one, labels.get(one.session_id, Label(session_id=one.session_id))) for one in house.sessions.list()
    ]
    found = [
        (one, label)
        for one, label in listed
        if (everything or not label.archived) and (not tag or tag.lstrip("#").lower() in label.tags)
    ]
    for one, _ in found:
        if one.discarded:
            damage(f"{one.session_id}: {counted(one.discarded, 'record')} cannot be read")
    if json:
        json_document([{**to_builtins(one), "label": label} for one, label in found])
    elif not found:
        typer.echo("There is no session yet." if not listed else "No session fits.")
    else:
        rows = (
            (
                s.session_id,
                "archived" if label.archived else s.state,
                s.outcome or "-",
                str(s.events),
                str(s.tools_built),
                f"${s.cost_usd:.2f}",
                " ".join((label.title or s.title, *(f"#{one}" for one in label.tags))),
            )
            for s, label in found
        )
        table(("ID", "STATE", "LAST TASK", "EVENTS", "BUILT", "COST", "TITLE"), rows)


@app.command()
def show(context: typer.Context, session: Which = None, json: Json = False) -> None:
    """Print a session's trace, or its events as JSON lines."""
    from alita_tui.wiring.house import House
    from alita_tui.wiring.records import recording

    def told(text: str) -> None:
        typer.echo(text, err=True)

    for envelope in recording(House.open(context.obj), session, damage, told):
        (json_line if json else plain)(envelope)


@app.command()
def verify(
    context: typer.Context,
    session: Which = None,
    everything: Annotated[bool, typer.Option("--all", help="Every session.")] = False,
    json: Json = False,
) -> None:
    """Check a session's laws and file, its tools' digests and the audit log. Exit code 1 when one is broken."""
    from alita_tui.cli.verifying import verified, verified_or_why
    from alita_tui.wiring.house import House
    from alita_tui.wiring.records import path_of

    house = House.open(context.obj, strict=False)
    if everything:
        found = [verified_or_why(house, path) for path in sorted(house.sessions.paths(), reverse=True)]
    else:
        found = [verified(house, path_of(house, session))]
    audit = house.audit.verify()
    sound = not audit and not any(one.problems for one in found)
    if json:
        json_document({"ok": sound, "sessions": found, "audit": audit})
    else:
        for one in found:
            for problem in one.problems:
                typer.echo(f"{one.session_id}: {problem}")
            for line in one.proves:
                typer.echo(f"{one.session_id}: {line}")
        for problem in audit:
            typer.echo(f"audit: {problem}")
        if sound:
            events = sum(one.events for one in found)
            typer.echo(f"All laws hold over {events} events, and the audit chain is whole.")
    raise typer.Exit(0 if sound else 1)


@app.command()
def fork(
    context: typer.Context,
    session: Annotated[str, typer.Argument(help="An id, its beginning, or a file.")],
    at: Annotated[
        int | None, typer.Option("--at", help="The last event to take over; the newest.", metavar="SEQ")
    ] = None,
    json: Json = False,
) -> None:
    """Begin a session that shares another one's events up to SEQ and goes its own way from there."""
    from alita_tui.wiring.house import House

    made = House.open(context.obj).sessions.fork(session, at)
    if json:
        json_document({"session_id": made})
    else:
        typer.echo(f"{made} begins here. Go on with: alita --session {made}")


@app.command()
def export(
    context: typer.Context,
    session: Which = None,
    form: Annotated[Format, typer.Option("--format", help="html plays itself, without a network.")] = "html",
    out: Annotated[
        Path | None, typer.Option("--out", help="A file; - prints it.", metavar="FILE", dir_okay=False)
    ] = None,
    json: Json = False,
) -> None:
    """Hand a session on: secrets are taken out, and the file says so."""
    from alita_tui.replay.export import ENDINGS
    from alita_tui.replay.export import export as written
    from alita_tui.wiring.house import House
    from alita_tui.wiring.records import recording

    house = House.open(context.obj, strict=False)
    envelopes = recording(house, session, damage)
    text = written(envelopes, form, house.redactor().value)
    if out == Path("-"):
        typer.echo(text, nl=False)
        return
    name = envelopes[0].session_id if envelopes else "session"
    path = out or free(Path(f"{name}.{ENDINGS[form]}"))
    write_text(path, text)
    if json:
        json_document({"path": str(path), "format": form, "characters": len(text)})
    else:
        typer.echo(f"Wrote {path}. Secrets that are known here are taken out.")


@app.command("import")
def import_session(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="What `sessions export --format jsonl` wrote.", dir_okay=False)
    ],
    json: Json = False,
) -> None:
    """Put a session on the shelf that was exported as JSON lines."""
    from alita_tui.replay.export_jsonl import read_jsonl
    from alita_tui.spine.laws import check
    from alita_tui.wiring.house import House
    from alita_tui.wiring.records import FROM_ELSEWHERE

    house = House.open(context.obj, strict=False)
    made = house.sessions.new_id()
    envelopes = list(map(house.redactor().value, read_jsonl(file, made)))
    house.sessions.add(made, envelopes, imported=True)
    breaches = check(envelopes)
    if json:
        json_document({"session_id": made, "events": len(envelopes), "breaches": breaches})
    else:
        typer.echo(f"{made} holds {len(envelopes)} events. Look at it with: alita replay {made}")
        typer.echo(FROM_ELSEWHERE)
        for breach in breaches:
            typer.echo(f"event {breach.seq}: {breach.law}: {breach.text}", err=True)
