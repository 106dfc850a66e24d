"""`alita tools map`: one tool over many inputs."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.output import Json, json_document
from alita_tui.config.invocation import command_line
from alita_tui.spine.text import counted, one_line, reveal

if TYPE_CHECKING:
    from alita_tui.events import ToolRecord
    from alita_tui.mapping.coordinator import Progress
    from alita_tui.mapping.rows import InputFile

CORES = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 16)
"""Of this machine, but no more than 16."""
LANES = CORES + 1
"""Containers that run side by side by default: while one is given its next row, the others fill the cores."""
_EVERY_SECONDS = 10.0
"""How often progress is printed where no terminal shows it."""


def map_rows(
    context: typer.Context,
    name: str,
    given: Annotated[
        Path,
        typer.Option("--input", metavar="FILE", help="Arguments: JSON Lines, CSV, TSV or Parquet.", dir_okay=False),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", metavar="FOLDER", help="Where the results go; the same folder goes on."),
    ],
    lanes: Annotated[
        int, typer.Option("--lanes", min=1, max=64, help="Containers side by side; by default one more than cores.")
    ] = LANES,
    engines: Annotated[
        list[str] | None,
        typer.Option(
            "--engine", metavar="WHERE",
            help="local, ssh://USER@HOST (may be repeated) or a cluster, tls://HOST:PORT; by default sandbox.engines.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run rows again that may have run when alita was killed.")
    ] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Run an approved tool on every row of a file, in the sandbox.

    Results come in parts, with a manifest; rows without one are in failed.jsonl with the reason. After a stop or a
    kill the same command goes on. A tool that may change something runs on no row twice, unless you say --again.
    Exits with 1 if a row failed.
    """
    from alita_tui.app.mapping import described, engine_of, map_tool

    app = AppContext.open(context.obj)
    record, file = described(app, name, given)
    if file.left_out:
        columns = ", ".join(one_line(column, 60) for column in file.left_out)
        typer.echo(reveal(f"{record.draft.name} does not take these columns: {columns}"), err=True)
    shown = _Shown(file, quiet=json)
    where = engine_of(app, record, file, engines or (), lanes, output)
    try:
        done = asyncio.run(map_tool(app, record, file, output, where, shown.tell, unsure_again=again))
    except KeyboardInterrupt:
        shown.end()
        typer.echo(
            "Stopped. Continue with the same command: "
            + _command(app, record, file, output, engines or (), lanes, json=json),
            err=True,
        )
        raise typer.Exit(130) from None
    finally:
        shown.end()
    if json:
        json_document(done)
    else:
        typer.echo(reveal(f"{counted(done.ok, 'row')} done, in {done.output}"))
        if done.failed:
            why = Path(done.output) / "failed.jsonl"
            typer.echo(reveal(f"{counted(done.failed, 'row')} failed; the reasons are in {why}"), err=True)
            if done.unsure:
                command = _command(app, record, file, output, engines or (), lanes, json=False)
                typer.echo(
                    reveal(f"{done.unsure} of them may have run. To run them again: {command} --again"),
                    err=True,
                )
    raise typer.Exit(1 if done.failed else 0)


def _command(
    app: AppContext,
    record: ToolRecord,
    file: InputFile,
    output: Path,
    engines: Sequence[str],
    lanes: int,
    *,
    json: bool,
) -> str:
    where = [word for engine in engines for word in ("--engine", engine)]
    where += ["--lanes", str(lanes)] if lanes != LANES else []
    where += ["--json"] if json else []
    named = ["tools", "map", record.draft.name, "--input", file.path, "--output", str(output)]
    return command_line(app.paths, *named, *where)


class _Shown:
    """Progress on stderr: one line that changes in a terminal, a line now and then elsewhere."""

    def __init__(self, file: InputFile, *, quiet: bool) -> None:
        self._total = file.lines
        self._terminal = sys.stderr.isatty()
        self._quiet = quiet
        self._last = time.monotonic()
        self._open = False

    def tell(self, progress: Progress) -> None:
        """Show how far it is."""
        if self._quiet or not (self._terminal or time.monotonic() - self._last > _EVERY_SECONDS):
            return
        self._last = time.monotonic()
        done = progress.done + progress.failed
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        text = (
            f"{done:,} of about {self._total:,} rows{failed}, {pace(self._total - done, progress.per_second)}"
        )
        sys.stderr.write(f"\r\x1b[2K{text}" if self._terminal else f"{text}\n")
        sys.stderr.flush()
        self._open = self._terminal

    def end(self) -> None:
        """Leave the line."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False


def pace(left: int, per_second: float) -> str:
    """Return how fast it goes, and how long the rest takes at that."""
    if per_second <= 0:
        return "no pace yet"
    each = 1 / per_second
    speed = f"{per_second:.3g} a second" if per_second >= 0.5 else f"one in {_time(each)}"
    return f"{speed}, {_time(max(0, left) * each)} left"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
