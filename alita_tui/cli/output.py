"""What commands print: the stream as JSON lines or as plain lines, tables, bytes for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from alita_tui.spine.envelope import Envelope, encode
from alita_tui.spine.errors import UsageError
from alita_tui.spine.events import TaskFinished
from alita_tui.spine.text import one_line, reveal
from alita_tui.spine.unseen import hostile
from alita_tui.view.trace import rows_for

if TYPE_CHECKING:
    from alita_tui.wiring.house import House

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
"""The option of every command that can print a document instead of lines."""

_GLYPHS = {
    "task": ">", "plan": "=", "thought": "~", "action": "*", "observation": "<", "build": "+", "approval": "?",
    "run": "*", "question": "?", "memory": ".", "notice": "!", "error": "!", "answer": "#", "unknown": ".",
    "session": ".",
}  # fmt: skip


def json_line(envelope: Envelope) -> None:
    """One envelope as a line of JSON, at once."""
    sys.stdout.buffer.write(encode(envelope) + b"\n")
    sys.stdout.buffer.flush()


def plain(envelope: Envelope) -> None:
    """One envelope as the lines a person reads; append-only, for pipes and screen readers."""
    ended = envelope.event
    if isinstance(ended, TaskFinished) and ended.outcome != "answered":
        _unanswered(ended)
        return
    for row in rows_for(envelope):
        meta = f"  ({row.meta})" if row.meta else ""
        if row.kind == "answer":
            typer.echo(f"{_GLYPHS[row.kind]} {row.detail or row.title}")
        else:
            typer.echo(f"{_GLYPHS[row.kind]} {one_line(row.title, 300)}{meta}", err=True)


def _unanswered(ended: TaskFinished) -> None:
    """Why a task ended without an answer, and what to do; what there is of an answer is printed as one."""
    why = f": {reveal(ended.reason)}" if ended.reason else ""
    typer.echo(f"{_GLYPHS['error']} {ended.outcome.replace('_', ' ').capitalize()}{why}", err=True)
    if ended.hint:
        typer.echo(f"  {reveal(ended.hint)}", err=True)
    if ended.answer:
        typer.echo(f"{_GLYPHS['answer']} {reveal(ended.answer)}")


def json_document(value: object) -> None:
    """A value as indented JSON; what would steer the terminal is escaped, which is the same JSON."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    if not text.isascii() or "\x7f" in text:  # JSON itself escapes what comes before the space
        escapes = {ord(char): json.dumps(char)[1:-1] for char in set(text) if hostile(char)}
        text = text.translate({**escapes, 0x7F: "\\u007f"})
    typer.echo(text)


def damage(note: str) -> None:
    """Say what of a session could not be read, beside what is printed of it."""
    typer.echo(f"damaged: {reveal(note)}", err=True)


def damaged(house: House) -> None:
    """Say what is damaged of the files that sessions share, and what to do."""
    from alita_tui.wiring.damage import found

    for one in found(house):
        damage(f"{one.text}. {one.hint}")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns of neutralised text; the last one takes what is left."""
    lines = [tuple(head), *(tuple(one_line(cell, 120) for cell in row) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)]
        typer.echo("  ".join([*cells, line[-1]]).rstrip())


def free(path: Path) -> Path:
    """A path, or the same with a number, that no file has."""
    number, made = 1, path
    while made.exists():
        number += 1
        made = path.with_stem(f"{path.stem}-{number}")
    return made


def write_text(path: Path, text: str) -> None:
    """Write a file for this user only, whole or not at all. Raises UsageError."""
    draft = path.with_name(f".{path.name}.tmp")
    try:
        if path.exists() and not path.is_file():  # a pipe or a device
            path.write_text(text, "utf-8", "replace")
            return
        try:
            draft.touch(mode=0o600)
            draft.write_text(text, "utf-8", "replace")
            draft.replace(path.resolve())
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
