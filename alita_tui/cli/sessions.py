"""`alita sessions`: recorded sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from msgspec import to_builtins

from alita_tui.app.context import AppContext
from alita_tui.app.recordings import FROM_ELSEWHERE, path_of, recording
from alita_tui.cli import session_catalog
from alita_tui.cli.lazy import group
from alita_tui.cli.output import (
    Json,
    damage,
    json_document,
    json_line,
    plain,
    print_list,
    print_result,
    report_damage,
)
from alita_tui.config.invocation import command_line
from alita_tui.replay.export import Format
from alita_tui.spine.laws import check
from alita_tui.spine.text import counted
from alita_tui.store.labels import Label

commands = group()
Which = Annotated[
    str | None, typer.Argument(help="An id, its beginning, or a file; by default the newest session.")
]


@commands.command("list")
def list_sessions(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="List archived sessions as well.")] = False,
    tag: Annotated[str, typer.Option("--tag", help="Only sessions with this tag.", metavar="TAG")] = "",
    json: Json = False,
) -> None:
    """List the sessions, newest first."""
    app = AppContext.open(context.obj)
    report_damage(app)
    labels = app.labels.all()
    sessions = [
        (session, labels.get(session.session_id, Label(session_id=session.session_id)))
        for session in app.sessions.list()
    ]
    listed = [
        (session, label)
        for session, label in sessions
        if (everything or not label.archived) and (not tag or tag.lstrip("#").lower() in label.tags)
    ]
    for session, _ in listed:
        if session.discarded:
            damage(f"{session.session_id}: {counted(session.discarded, 'record')} cannot be read")
    document = [{**to_builtins(session), "label": label} for session, label in listed]
    rows = [
        (
            session.session_id,
            "archived" if label.archived else session.state,
            session.outcome or "-",
            str(session.events),
            str(session.tools_built),
            f"${session.cost_usd:.2f}",
            " ".join((label.title or session.title, *(f"#{tag}" for tag in label.tags))),
        )
        for session, label in listed
    ]
    head = ("ID", "STATE", "LAST TASK", "EVENTS", "BUILT", "COST", "TITLE")
    empty = "No session matches." if sessions else "There is no session yet."
    print_list(document, head, rows, empty=empty, json=json)


@commands.command()
def show(context: typer.Context, session: Which = None, json: Json = False) -> None:
    """Print a session's trace, or its events as JSON lines."""

    def imported(note: str) -> None:
        typer.echo(note, err=True)

    for envelope in recording(AppContext.open(context.obj), session, damage, imported):
        (json_line if json else plain)(envelope)


@commands.command()
def verify(
    context: typer.Context,
    session: Which = None,
    everything: Annotated[bool, typer.Option("--all", help="Verify every session.")] = False,
    json: Json = False,
) -> None:
    """Check a session's laws and file, its tools' digests and the audit log. Exit code 1 for any problem."""
    from alita_tui.app.verify import verified, verified_or_why

    app = AppContext.open(context.obj, strict=False)
    if everything:
        results = [verified_or_why(app, path) for path in sorted(app.sessions.paths(), reverse=True)]
    else:
        results = [verified(app, path_of(app, session))]
    audit = app.audit.verify()
    ok = not audit and not any(result.problems for result in results)
    if json:
        json_document({"ok": ok, "sessions": results, "audit": audit})
    else:
        for result in results:
            for line in (*result.problems, *result.proves):
                typer.echo(f"{result.session_id}: {line}")
        for problem in audit:
            typer.echo(f"audit: {problem}")
        if ok:
            events = sum(result.events for result in results)
            typer.echo(f"All laws hold over {events} events, and the audit chain is whole.")
    raise typer.Exit(0 if ok else 1)


@commands.command()
def fork(
    context: typer.Context,
    session: Annotated[str, typer.Argument(help="An id, its beginning, or a file.")],
    at: Annotated[
        int | None,
        typer.Option("--at", help="The last event to take over; by default the newest.", metavar="SEQ"),
    ] = None,
    json: Json = False,
) -> None:
    """Begin a session with another one's events up to SEQ, to continue differently."""
    app = AppContext.open(context.obj)
    forked = app.sessions.fork(session, at)
    continues = command_line(app.paths, "--session", forked)
    print_result({"session_id": forked}, f"{forked} begins here. Continue it with: {continues}", json=json)


@commands.command()
def export(
    context: typer.Context,
    session: Which = None,
    form: Annotated[
        Format, typer.Option("--format", help="html is a player that needs no network.")
    ] = "html",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The file to write; - prints it.", metavar="FILE", dir_okay=False),
    ] = None,
    json: Json = False,
) -> None:
    """Write a session to a file that can be handed on: secrets are removed, and the file says so."""
    from alita_tui.app.exports import export_path, redacted_export, write_text

    app = AppContext.open(context.obj, strict=False)
    envelopes = recording(app, session, damage)
    text = redacted_export(app, envelopes, form)
    if out == Path("-"):
        typer.echo(text, nl=False)
        return
    path = out or export_path(envelopes, form)
    write_text(path, text)
    document = {"path": str(path), "format": form, "characters": len(text)}
    print_result(document, f"Wrote {path}. Secrets that are known here are removed.", json=json)


@commands.command("import")
def import_session(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="A file that `sessions export --format jsonl` wrote.", dir_okay=False)
    ],
    json: Json = False,
) -> None:
    """Add a session that was exported as JSON lines."""
    from alita_tui.replay.export_jsonl import read_jsonl

    app = AppContext.open(context.obj, strict=False)
    session_id = app.sessions.new_id()
    envelopes = list(map(app.redactor().value, read_jsonl(file, session_id)))
    app.sessions.add(session_id, envelopes, imported=True)
    breaches = check(envelopes)
    if json:
        json_document({"session_id": session_id, "events": len(envelopes), "breaches": breaches})
    else:
        typer.echo(f"{session_id} holds {len(envelopes)} events. Look at it with: alita replay {session_id}")
        typer.echo(FROM_ELSEWHERE)
        for breach in breaches:
            typer.echo(f"event {breach.seq}: {breach.law}: {breach.text}", err=True)


for command in session_catalog.COMMANDS:
    commands.command(command.__name__)(command)
