"""`alita tasks`: the tasks of a session, and its queue, from any shell."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import to_builtins

from alita_tui.agent.agent_messages import without_team
from alita_tui.app.background.schedule import Rhythm, rhythm
from alita_tui.app.context import AppContext
from alita_tui.app.identity import new_id
from alita_tui.app.project import current_project
from alita_tui.app.tasks import (
    AgentEntry,
    TaskEntry,
    Tasks,
    change,
    change_schedule,
    find_task,
    repeat,
    scheduled,
    tasks_of,
)
from alita_tui.cli.given_files import check_file
from alita_tui.cli.output import Json, json_document, print_result, report_damage, report_left, table
from alita_tui.events import TaskId
from alita_tui.spine.commands import CancelTask, EditTask, MoveTask, Retry, SubmitTask, SwitchQueue
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import counted, one_line, reveal

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
    every: Annotated[
        str,
        typer.Option("--every", metavar="INTERVAL", help="Repeat it: 15m, 2h, 1d, 1w; see `alita serve`."),
    ] = "",
    at: Annotated[
        str, typer.Option("--at", metavar="HH:MM", help="With --every in days: at this time.")
    ] = "",
    model: Annotated[
        str | None, typer.Option("--model", metavar="PROVIDER:NAME", help="With --every: use this model.")
    ] = None,
    json: Json = False,
) -> None:
    """Queue a task. It begins when its turn comes in the console, or with `alita resume`.

    With --every it is done again and again by `alita serve`, each time in a session of its own.
    """
    if not without_team(text).strip():
        raise UsageError("There is no task.", hint='Give one: alita tasks add "TASK"')
    app = AppContext.open(context.obj)
    for path in file or ():
        check_file(path, app.loaded.settings.artefacts.file_mb)
    attach = tuple(str(path.resolve()) for path in file or ())
    if every:
        if session is not None:
            raise UsageError("Each run has a session of its own.", hint="Leave --session out.")
        _repeat(app, SubmitTask(text=text.strip(), attach=attach), rhythm(every, at), model, json=json)
        return
    if at or model:
        raise UsageError("--at and --model go with --every.", hint="For example: --every 1d --at 07:00")
    task = SubmitTask(text=text.strip(), attach=attach, queue_id=new_id())
    _change(app, session, task, json=json, added=task.queue_id)


@commands.command("list")
def list_tasks(context: typer.Context, session: Session = None, json: Json = False) -> None:
    """List the tasks of a session: those that began or were cancelled, then the queue. Then what is repeated."""
    app = AppContext.open(context.obj)
    report_damage(app)
    if session is None and app.sessions.latest() is None and (schedules := scheduled(app)):
        tasks = Tasks(session_id="", paused=False, tasks=(), schedules=schedules)
    else:
        tasks = tasks_of(app, session)
    if json:
        json_document(tasks)
        return
    if tasks.session_id:
        _print_tasks(tasks)
    if tasks.schedules:
        rows = (
            (
                schedule.id,
                schedule.rhythm,
                "paused" if schedule.paused else schedule.next,
                schedule.session_id,
                schedule.text,
            )
            for schedule in tasks.schedules
        )
        table(("SCHEDULE", "RHYTHM", "NEXT", "LAST SESSION", "WHAT"), rows)


def _print_tasks(tasks: Tasks) -> None:
    typer.echo(f"session {tasks.session_id}{'  (the queue is paused)' if tasks.paused else ''}")
    if not tasks.tasks:
        typer.echo("No task was asked for yet.")
        return
    rows: list[tuple[str, ...]] = []
    for task in tasks.tasks:
        place = f"{task.place}" if task.place else ""
        rows.append((place, task.id, task.outcome.replace("_", " ") or task.standing, task.text))
        rows += [
            ("", f"└{'─' * (agent.depth - 1)} {agent.id}", _standing(agent), agent.goal)
            for agent in task.agents
        ]
    table(("PLACE", "TASK", "STATE", "WHAT"), rows)


def _standing(agent: AgentEntry) -> str:
    return agent.outcome.replace("_", " ") or "working"


@commands.command()
def show(context: typer.Context, task: Task, session: Session = None, json: Json = False) -> None:
    """Print one task: what it asks for, where it stands, what came of it, and the agents that worked on it."""
    _no_schedule(task)
    entry = find_task(tasks_of(AppContext.open(context.obj), session), task)
    if json:
        json_document(entry)
        return
    typer.echo(f"{entry.id}  {entry.outcome.replace('_', ' ') or entry.standing}  {entry.at}")
    for text in (entry.text, entry.reason, entry.hint, entry.answer):
        if text:
            typer.echo(reveal(text))
    for agent in entry.agents:
        indent = "  " * agent.depth
        attempt = ", second attempt" if agent.attempt > 1 else ""
        took = f"{counted(agent.steps, 'step')}, {agent.tokens:,} tokens, ${agent.usd:.4f}"
        typer.echo(reveal(f"{indent}{agent.id}  {_standing(agent)}{attempt}  {took}"))
        missing = f"Could not do: {agent.missing}" if agent.missing else ""
        for text in (agent.goal, agent.said, missing):
            for line in text.splitlines():
                typer.echo(reveal(f"{indent}  {line}"))


@commands.command()
def cancel(context: typer.Context, task: Task, session: Session = None, json: Json = False) -> None:
    """Take a task out of the queue, or stop the one that runs; or end a schedule."""
    if _is_schedule(task):
        _reschedule(context, task, "cancel", json=json)
        return
    app, entry = _found_task(context, session, task)
    if entry.standing in ("done", "failed", "cancelled"):
        raise UsageError(f"{one_line(entry.text, 60)} ended already.")
    _change(app, session, CancelTask(task_id=entry.id), json=json)


@commands.command()
def retry(context: typer.Context, task: Task, session: Session = None, json: Json = False) -> None:
    """Queue a task again that failed or stopped at a limit."""
    app, entry = _found_task(context, session, task)
    if entry.place:
        raise UsageError(f"{one_line(entry.text, 60)} has not begun yet.")
    if entry.standing == "cancelled" and not entry.outcome:
        raise UsageError(
            f"{one_line(entry.text, 60)} was cancelled before it began.",
            hint='Add it again: alita tasks add "TASK"',
        )
    _change(app, session, Retry(task_id=TaskId(entry.id)), json=json)


@commands.command()
def move(
    context: typer.Context,
    task: Task,
    place: Annotated[int, typer.Argument(min=1, help="Its new place; 1 is next.")],
    session: Session = None,
    json: Json = False,
) -> None:
    """Give a queued task another place."""
    app, entry = _found_task(context, session, task, queued=True)
    others = [queued for queued in tasks_of(app, session).tasks if queued.place and queued.id != entry.id]
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
    app, entry = _found_task(context, session, task, queued=True)
    if not without_team(text).strip():
        raise UsageError("A task needs words.", hint=f"To drop it: alita tasks cancel {entry.id}")
    if entry.again:
        raise UsageError("A task that is tried again keeps its words.", hint="Cancel it and add a new one.")
    _change(app, session, EditTask(queue_id=entry.id, text=text), json=json)


Scheduled = Annotated[
    str | None, typer.Argument(metavar="[SCHEDULE]", help="One that is repeated, such as s1; else the queue.")
]


@commands.command()
def pause(
    context: typer.Context, schedule: Scheduled = None, session: Session = None, json: Json = False
) -> None:
    """Begin no further task of a session, or no further run of a schedule; what runs goes on."""
    if schedule is not None:
        _reschedule(context, schedule, "pause", json=json)
        return
    _change(AppContext.open(context.obj), session, SwitchQueue(paused=True), json=json)


@commands.command()
def resume(
    context: typer.Context, schedule: Scheduled = None, session: Session = None, json: Json = False
) -> None:
    """Let a paused queue or schedule go on."""
    if schedule is not None:
        _reschedule(context, schedule, "resume", json=json)
        return
    _change(AppContext.open(context.obj), session, SwitchQueue(paused=False), json=json)


_CHANGED = {"pause": "is paused", "resume": "goes on", "cancel": "is ended"}


def _is_schedule(wanted: str) -> bool:
    return wanted[:1] == "s" and wanted[1:].isdecimal()


def _no_schedule(wanted: str) -> None:
    """Raise UsageError where a task is asked for by the id of a schedule."""
    if _is_schedule(wanted):
        raise UsageError(
            f"{one_line(wanted, 60)} is the id of a schedule, not of a task.",
            hint="A schedule can be listed, paused, resumed and cancelled; to change it, cancel it and add another.",
        )


def _reschedule(
    context: typer.Context, wanted: str, what: Literal["pause", "resume", "cancel"], *, json: bool
) -> None:
    app = AppContext.open(context.obj)
    change_schedule(app, wanted, what)
    print_result(scheduled(app), f"schedule {one_line(wanted, 60)} {_CHANGED[what]}", json=json)


def _repeat(app: AppContext, task: SubmitTask, rhythm: Rhythm, model: str | None, *, json: bool) -> None:
    """Enter a repeated task, and warn if no background process runs."""
    from alita_tui.app.background.client import ask
    from alita_tui.app.background.wire import Look

    wanted = repeat(app, task, rhythm, model=model, project=current_project(app))
    (made,) = (schedule for schedule in scheduled(app) if schedule.id == wanted)
    if json:
        json_document(made)
        return
    typer.echo(f"noted: schedule {made.id}, {made.rhythm}, next {made.next}")
    if asyncio.run(ask(app, Look())) is None:
        typer.echo("Nothing is done while no background runs; start one: alita serve", err=True)


def _found_task(
    context: typer.Context, session: str | None, task: str, *, queued: bool = False
) -> tuple[AppContext, TaskEntry]:
    _no_schedule(task)
    app = AppContext.open(context.obj)
    return app, find_task(tasks_of(app, session), task, queued=queued)


def _change(
    app: AppContext, session: str | None, command: QueueCommand, *, json: bool, added: str = ""
) -> None:
    """Change a queue and report that, with the id of the task that was added."""
    session_id, done = asyncio.run(change(app, session, command))
    if not done:
        report_left(session_id, json=json, added=added)
    elif json:
        document = to_builtins(tasks_of(app, session_id))
        json_document({**document, "added": added} if added else document)
    else:
        task = f", task {added}" if added else ""
        typer.echo(f"noted: session {session_id}{task}")
