"""`alita tools map`: one tool over many inputs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.output import Json, json_document
from alita_tui.cli.progress import ProgressLine, pace
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


def map_rows(
    context: typer.Context,
    name: str,
    given: Annotated[
        Path,
        typer.Option("--input", metavar="FILE", help="Arguments: JSON Lines, CSV, TSV or Parquet.", dir_okay=False),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", metavar="FOLDER", help="Where the results go; give the same folder again to continue."
        ),
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
    line = ProgressLine(quiet=json)
    where = engine_of(app, record, file, engines or (), lanes, output)

    def tell(progress: Progress) -> None:
        line.show(_progress_words(progress, file.lines))

    try:
        done = asyncio.run(map_tool(app, record, file, output, where, tell, unsure_again=again))
    except KeyboardInterrupt:
        line.end()
        typer.echo(
            "Stopped. Continue with the same command: "
            + _command(app, record, file, output, engines or (), lanes, json=json),
            err=True,
        )
        raise typer.Exit(130) from None
    finally:
        line.end()
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


def _progress_words(progress: Progress, total: int) -> str:
    done = progress.done + progress.failed
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    return f"{done:,} of about {total:,} rows{failed}, {pace(total - done, progress.per_second)}"
