"""`alita batch`: whole tasks from a file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.output import Json, json_document
from alita_tui.cli.progress import ProgressLine, pace
from alita_tui.cli.tasks import ModelOption
from alita_tui.config.invocation import command_line
from alita_tui.spine.text import counted, one_line, reveal

if TYPE_CHECKING:
    from alita_tui.app.batch import Batch, Tasks
    from alita_tui.mapping.coordinator import Progress

_SHOWN = 10
"""Maximum number of waiting tasks that are listed."""


def batch(
    context: typer.Context,
    tasks: Annotated[
        Path,
        typer.Argument(
            metavar="TASKS",
            help="JSON Lines, CSV, TSV or Parquet: task, and if you like id and files.",
            dir_okay=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", metavar="FOLDER", help="Where the results go; give the same folder again to continue."
        ),
    ],
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=32, help="Tasks side by side.")] = 2,
    budget: Annotated[
        float | None,
        typer.Option("--budget-usd", min=0.0, help="What the whole batch may cost in US dollars."),
    ] = None,
    model: ModelOption = None,
    json: Json = False,
) -> None:
    """Do many tasks without a screen, each in a session of its own.

    A task that needs a verdict or an answer waits: decide with `alita builds` or `alita answer`, then give the same
    command again. It also goes on after a stop or a kill. Exits with 1 if a task failed, 3 if the budget ended, 4 if
    one waits.
    """
    from alita_tui.app.batch import run_batch

    app = AppContext.open(context.obj, {"model": model})
    line = ProgressLine(quiet=json)
    words = ["batch", str(tasks), "--output", str(output), *(("--jobs", str(jobs)) if jobs != 2 else ())]
    words += ["--budget-usd", f"{budget:.12g}"] if budget is not None else []
    words += ["--model", model] if model else []
    again = command_line(app.paths, *words)

    def tell(progress: Progress, tasks: Tasks, usd: float) -> None:
        line.show(_progress_words(progress, tasks, usd))

    try:
        done = asyncio.run(run_batch(app, tasks, output, jobs=jobs, usd=budget, tell=tell))
    except KeyboardInterrupt:
        line.end()
        typer.echo(f"Stopped. Continue with the same command: {again}", err=True)
        raise typer.Exit(130) from None
    finally:
        line.end()
    if json:
        json_document(done)
    else:
        _print(done, again)
    raise typer.Exit(1 if done.failed else 3 if done.unpaid else 4 if done.waiting else 0)


def _print(done: Batch, again: str) -> None:
    where = reveal(done.output)
    typer.echo(
        f"{counted(done.answered, 'task')} answered, ${done.usd:.4f}; the answers are in {where}/results.jsonl"
    )
    if done.failed:
        typer.echo(
            f"{counted(done.failed, 'task')} failed; the reasons are in {where}/failed.jsonl", err=True
        )
    if done.unpaid:
        typer.echo(
            reveal(f"{counted(done.unpaid, 'task')} not done within the budget: {done.unpaid_reason}"),
            err=True,
        )
        typer.echo(
            reveal(f"With more (--budget-usd, or the settings `budget`) they go on: {again}"), err=True
        )
    for task in done.waiting[:_SHOWN]:
        typer.echo(
            reveal(f"waits: row {task.row}, session {task.session}: {one_line(task.what, 160)}"), err=True
        )
    if len(done.waiting) > _SHOWN:
        typer.echo(f"… and {len(done.waiting) - _SHOWN:,} more", err=True)
    if done.waiting:
        typer.echo(reveal(f"Decide (alita builds list, alita answer), then: {again}"), err=True)


def _progress_words(progress: Progress, tasks: Tasks, usd: float) -> str:
    done = progress.done + progress.failed
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    waits = f", {len(tasks.waiting):,} waiting" if tasks.waiting else ""
    left = tasks.total - done - len(tasks.waiting)
    speed = pace(left, progress.per_second)
    return f"{done:,} of about {tasks.total:,} tasks{failed}{waits}, ${usd:.4f}, {speed}"
