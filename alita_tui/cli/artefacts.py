"""`alita artefacts`: the files of a session, listed, shown, saved and opened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alita_tui.app.artefacts import FileOfSession, files_of, look_at, opened, saved
from alita_tui.app.context import AppContext
from alita_tui.artefacts.slices import Part
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, damage, json_document
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line, reveal

commands = group()

Name = Annotated[str, typer.Argument(metavar="FILE", help="A file's handle (art_…) or name.")]
Session = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="The session; by default the newest.")
]


@commands.command("list")
def list_(context: typer.Context, session: Session = None, json: Json = False) -> None:
    """List the files of a session, the newest last."""
    files = _files(context, session)
    if json:
        json_document([file.row for file in files])
        return
    if not files:
        typer.echo("The session has no files.", err=True)
    for file in files:
        artefact = file.artefact
        missing = "" if file.path else "  (bytes missing)"
        typer.echo(
            f"{artefact.handle}  {_size(artefact.size):>10}  {file.origin:6}  {artefact.media_type:24.40}  "
            f"{one_line(artefact.name, 120)}{missing}"
        )


@commands.command()
def show(
    context: typer.Context,
    name: Name,
    session: Session = None,
    lines: Annotated[str, typer.Option("--lines", metavar="A-B", help="These lines.")] = "",
    rows: Annotated[str, typer.Option("--rows", metavar="A-B", help="These rows of a CSV file.")] = "",
    pointer: Annotated[str, typer.Option("--pointer", metavar="/A/0", help="A JSON pointer into JSON.")] = "",
    search: Annotated[str, typer.Option("--search", metavar="TEXT", help="Lines that contain this.")] = "",
) -> None:
    """Show a part of a file: its beginning by default. Invisible characters are made visible."""
    file = _file(context, session, name)
    text = look_at(file, Part(lines=lines, rows=rows, pointer=pointer, search=search))
    typer.echo(reveal(text))


@commands.command()
def save(
    context: typer.Context,
    name: Name,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to save in.")] = Path(),
    session: Session = None,
) -> None:
    """Save a file under its name; an existing file is never replaced."""
    file = _file(context, session, name)
    typer.echo(reveal(str(saved(file.bytes_at(), out, file.artefact.name))))


@commands.command("open")
def open_(context: typer.Context, name: Name, session: Session = None) -> None:
    """Open a copy of a file with the system's program for its kind."""
    file = _file(context, session, name)
    typer.echo(reveal(opened(AppContext.open(context.obj), file.bytes_at(), file.artefact.name)))


def _files(context: typer.Context, session: str | None) -> tuple[FileOfSession, ...]:
    return files_of(AppContext.open(context.obj, strict=False), session, damage)


def _file(context: typer.Context, session: str | None, name: str) -> FileOfSession:
    """Return the newest file with this handle or name. Raises UsageError."""
    files = _files(context, session)
    for file in reversed(files):
        if name in (file.artefact.handle, file.artefact.name):
            return file
    listing = ", ".join(f"{one_line(file.artefact.name, 40)} ({file.artefact.handle})" for file in files[-8:])
    raise UsageError(
        f"There is no file {one_line(name, 80)!r} in this session.",
        hint=f"There is: {listing}." if listing else "It has no files; another session: --session ID.",
    )


def _size(size: int) -> str:
    return f"{size} B" if size < 1000 else f"{size / 1e3:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
