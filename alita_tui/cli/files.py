"""Files and arguments given on the command line, and printing a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from alita_tui.cli.output import json_document
from alita_tui.spine.errors import UsageError
from alita_tui.spine.levels import shallow_json
from alita_tui.spine.text import reveal


def show_row(row: dict[str, Any]) -> None:
    """Print one run: its output, its result or error, its outcome."""
    typer.echo(reveal(row["stdout"]), nl=False)
    typer.echo(reveal(row["stderr"]), nl=False, err=True)
    if row["outcome"] == "ok" and row["result"] is not None:
        json_document(row["result"])
    if row["error"]:
        typer.echo(reveal(row["error"].rstrip()), err=True)
    reason = f" ({row['reason']})" if row["reason"] else ""
    typer.echo(
        f"{row['outcome']}{reason}  {row['wall_ms']:.0f} ms, {row['cpu_ms']:.0f} ms cpu, {row['peak_mb']:.0f} MB",
        err=True,
    )


def read_text(file: Path) -> str:
    """Return a file's text. Raises UsageError."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not text in UTF-8.") from error


def read_arguments(text: str) -> dict[str, Any]:
    """Return the value of `--input`; `-` reads standard input. Raises UsageError."""
    try:
        arguments = shallow_json(sys.stdin.read() if text == "-" else text)
    except ValueError as error:
        raise UsageError(f"--input is not valid JSON: {error}.") from error
    if not isinstance(arguments, dict):
        raise UsageError("--input has to be a JSON object.")
    return arguments
