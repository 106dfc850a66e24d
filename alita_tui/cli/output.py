"""What commands print: the stream as JSON lines or plain lines, JSON documents, tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.app.damage import damaged_files
from alita_tui.events import TaskFinished, as_json
from alita_tui.spine.envelope import Envelope, encode
from alita_tui.spine.hidden_characters import hostile
from alita_tui.spine.text import one_line, reveal
from alita_tui.view.trace import rows_for

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_GLYPHS = {
    "task": ">", "plan": "=", "thought": "~", "action": "*", "observation": "<", "build": "+", "approval": "?",
    "run": "*", "question": "?", "memory": ".", "notice": "!", "error": "!", "answer": "#", "unknown": ".",
    "session": ".", "file": "@",
}  # fmt: skip


def json_line(envelope: Envelope) -> None:
    """Print one envelope as a line of JSON and flush it."""
    sys.stdout.buffer.write(encode(envelope) + b"\n")
    sys.stdout.buffer.flush()


def plain(envelope: Envelope) -> None:
    """Print one envelope as lines for people; append-only, for pipes and screen readers."""
    event = envelope.event
    if isinstance(event, TaskFinished) and event.outcome != "answered":
        _unanswered(event)
        return
    for row in rows_for(envelope):
        meta = f"  ({row.meta})" if row.meta else ""
        if row.kind == "answer":
            typer.echo(f"{_GLYPHS[row.kind]} {row.detail or row.title}")
        else:
            typer.echo(f"{_GLYPHS[row.kind]} {one_line(row.title, 300)}{meta}", err=True)


def report_left(session_id: str, *, json: bool, added: str = "") -> None:
    """Report that a command was left for the process that has a session open; `added` is the id of a new task."""
    if json:
        document = {"session_id": session_id, "left_for_the_process_that_has_it_open": True}
        json_document({**document, "added": added} if added else document)
        return
    task = f", task {added}" if added else ""
    typer.echo(
        f"noted: session {session_id}{task}  (that session is open; the process that has it takes it up)"
    )


def _unanswered(event: TaskFinished) -> None:
    """Print why a task ended without an answer and what to do, and a partial answer if there is one."""
    why = f": {reveal(event.reason)}" if event.reason else ""
    typer.echo(f"{_GLYPHS['error']} {event.outcome.replace('_', ' ').capitalize()}{why}", err=True)
    if event.hint:
        typer.echo(f"  {reveal(event.hint)}", err=True)
    if event.answer:
        typer.echo(f"{_GLYPHS['answer']} {reveal(event.answer)}")


def json_document(value: object) -> None:
    """Print a value as indented JSON, with characters that could steer the terminal escaped."""
    text = as_json(value, indent=2)
    if not text.isascii() or "\x7f" in text:  # JSON itself escapes the other control characters
        escapes = {ord(char): json.dumps(char)[1:-1] for char in set(text) if hostile(char)}
        text = text.translate({**escapes, 0x7F: "\\u007f"})
    typer.echo(text)


def print_result(document: object, sentence: str, *, json: bool) -> None:
    """Print what a command did: the document if JSON is wanted, else the sentence."""
    if json:
        json_document(document)
    else:
        typer.echo(sentence)


def damage(note: str) -> None:
    """Print on stderr which records could not be read."""
    typer.echo(f"damaged: {reveal(note)}", err=True)


def report_damage(app: AppContext) -> None:
    """Print on stderr the damage to files that sessions share, and what to do about it."""
    for item in damaged_files(app):
        damage(f"{item.text}. {item.hint}")


def print_list(
    document: object, head: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str, json: bool
) -> None:
    """Print a list: the document if JSON is wanted, else its rows as a table, or the sentence `empty`."""
    if json:
        json_document(document)
    elif rows:
        table(head, rows)
    else:
        typer.echo(empty)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print aligned columns of neutralised text."""
    lines = [tuple(head), *(tuple(one_line(cell, 120) for cell in row) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)]
        typer.echo("  ".join([*cells, line[-1]]).rstrip())
