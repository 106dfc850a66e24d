"""`alita tasks`: the tasks of a session, and its queue, from any shell."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.tasks import TaskEntry, change, found, tasks_of
from alita_tui.cli.given_files import check_file
from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.commands import CancelTask, EditTask, MoveTask, Retry, SubmitTask, SwitchQueue
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line, reveal

if TYPE_CHECKING:
    from alita_tui.store.task_inbox import QueueCommand

commands = typer.Typer(
    help="The tasks of a session and the queue of them.", no_args_is_help=True, rich_markup_mode=None
)

Session = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="A session's id or its beginning; by default the newest."),
]
Task = Annotated[str, typer.Argument(help="Its place in the queue, its id or the beginning of that.")]


@commands.command()
def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to do.")],
    session: Session = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", metavar="PATH", help="Give this file with the task; repeatable."),
    ] = None,
    json: Json = False,
) -> None:
    """Queue a task. It begins when its turn comes in the console, or with `alita resume`."""
    if not text.strip():
        raise UsageError("There is no task.", hint='Give one: alita tasks add "TASK"')
    app = AppContext.open(context.obj)
    for path in file or ():
        check_file(path, app.loaded.settings.artefacts.file_mb)
    attach = tuple(str(path.resolve()) for path in file or ())
    _change(app, session, SubmitTask(text=text.strip(), attach=attach), json=json)


@commands.command("list")
def list_tasks(context: typer.Context, session: Session = None, json: Json = False) -> None:
    """List the tasks of a session: those that began, then the queue in its order."""
    tasks = tasks_of(AppContext.open(context.obj), session)
    if json:
        json_document(tasks)
        return
    typer.echo(f"session {tasks.session_id}{'  (the queue is paused)' if tasks.paused else ''}")
    if not tasks.tasks:
        typer.echo("No task was asked for yet.")
        return
    rows = (
        (f"{one.place}" if one.place else "", one.id, one.outcome.replace("_", " ") or one.standing, one.text)
        for one in tasks.tasks
    )
    table(("PLACE", "TASK", "STATE", "WHAT"), rows)


@commands.command()
def show(context: typer.Context, task: Task, session: Session = None, json: Json = False) -> None:
    """Print one task: what it asks for, where it stands and what came of it."""
    entry = found(tasks_of(AppContext.open(context.obj), session), task)
    if json:
        json_document(entry)
        return
    typer.echo(f"{entry.id}  {entry.outcome.replace('_', ' ') or entry.standing}  {entry.at}")
    for said in (entry.text, entry.reason, entry.hint, entry.answer):
        if said:
            typer.echo(reveal(said))


@commands.command()
def cancel(context: typer.Context, task: Task, session: Session = None, json: Json = False) -> None:
    """Take a task out of the queue, or stop the one that runs."""
    app, entry = _one(context, session, task)
    if entry.standing in ("done", "failed", "cancelled"):
        raise UsageError(f"{one_line(entry.text, 60)} ended already.")
    _change(app, session, CancelTask(task_id=entry.id), json=json)


@commands.command()
def retry(context: typer.Context, task: Task, session: Session = None, json: Json = False) -> None:
    """Queue a task again that failed or stopped at a limit."""
    app, entry = _one(context, session, task)
    if entry.place:
        raise UsageError(f"{one_line(entry.text, 60)} has not begun yet.")
    _change(app, session, Retry(task_id=entry.id), json=json)


@commands.command()
def move(
    context: typer.Context,
    task: Task,
    place: Annotated[int, typer.Argument(min=1, help="Its new place; 1 is next.")],
    session: Session = None,
    json: Json = False,
) -> None:
    """Give a queued task another place."""
    app, entry = _one(context, session, task, queued=True)
    others = [one for one in tasks_of(app, session).tasks if one.place and one.id != entry.id]
    before = others[place - 1].id if place <= len(others) else ""
    _change(app, session, MoveTask(queue_id=entry.id, before=before), json=json)


@commands.command()
def edit(
    context: typer.Context,
    task: Task,
    text: Annotated[str, typer.Argument(help="What it is to ask for.")],
    session: Session = None,
    json: Json = False,
) -> None:
    """Change what a queued task asks for."""
    app, entry = _one(context, session, task, queued=True)
    if not text.strip():
        raise UsageError("A task needs words.", hint=f"To drop it: alita tasks cancel {entry.id}")
    if entry.again:
        raise UsageError("A task that is tried again keeps its words.", hint="Cancel it and add a new one.")
    _change(app, session, EditTask(queue_id=entry.id, text=text), json=json)


@commands.command()
def pause(context: typer.Context, session: Session = None, json: Json = False) -> None:
    """Begin no further task of a session; the running one goes on."""
    _change(AppContext.open(context.obj), session, SwitchQueue(paused=True), json=json)


@commands.command()
def resume(context: typer.Context, session: Session = None, json: Json = False) -> None:
    """Let a paused queue go on."""
    _change(AppContext.open(context.obj), session, SwitchQueue(paused=False), json=json)


def _one(
    context: typer.Context, session: str | None, task: str, *, queued: bool = False
) -> tuple[AppContext, TaskEntry]:
    app = AppContext.open(context.obj)
    return app, found(tasks_of(app, session), task, queued=queued)


def _change(app: AppContext, session: str | None, command: QueueCommand, *, json: bool) -> None:
    session_id, done = asyncio.run(change(app, session, command))
    if not json:
        left = "" if done else "  (that session is open; the process that has it takes it up)"
        typer.echo(f"noted: session {session_id}{left}")
    elif done:
        json_document(tasks_of(app, session_id))
    else:
        json_document({"session_id": session_id, "left_for_the_process_that_has_it_open": True})
