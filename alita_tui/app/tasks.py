"""Lists a session's tasks and changes its queue, from any shell.

A closed session is changed at once. If a process has it open, the change is left in its task inbox.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from alita_tui import __version__
from alita_tui.app.closed_session import resumed
from alita_tui.app.context import AppContext
from alita_tui.app.identity import new_id, now
from alita_tui.app.recordings import path_of, recording
from alita_tui.events import AgentEnded, AgentId, SessionOpened, TaskCancelled, TaskId, TaskSubmitted, Value
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import CancelTask, EditTask, MoveTask, Retry, SubmitTask, SwitchQueue
from alita_tui.spine.errors import StoreLocked, UsageError
from alita_tui.spine.history import of, of_kind
from alita_tui.spine.text import one_line
from alita_tui.store.journal_reader import journal_of

if TYPE_CHECKING:
    from alita_tui.app.background.schedule import Rhythm
    from alita_tui.spine.envelope import Envelope
    from alita_tui.state.session import SessionState
    from alita_tui.store.sessions import SessionFile
    from alita_tui.store.task_inbox import QueueCommand

_LONGEST_PLACE = 4
"""Digits of a place in a queue; longer ones may be the beginning of an id."""

TaskStatus = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]


class AgentEntry(Value, frozen=True, omit_defaults=False):
    """An agent that worked on part of a task, as `alita tasks` shows it."""

    id: str
    parent: str
    """The agent that it worked for; empty for the task's lead."""
    role: str
    goal: str
    attempt: int
    outcome: str
    """Empty while it works."""
    said: str
    """Its report, or why there is none."""
    missing: str
    """The part of its goal that it could not do."""
    steps: int
    usd: float
    """Known cost of its own calls."""
    tokens: int
    depth: int
    """1 for those that work for the lead."""


class TaskEntry(Value, frozen=True, omit_defaults=False):
    """A task as `alita tasks` shows it."""

    id: str
    """Its task id; the queue id of a task that did not begin."""
    standing: TaskStatus
    text: str
    at: str
    """When it was queued, began or was cancelled, ISO 8601."""
    place: int = 0
    """In the queue, from 1; 0 for one that began or was cancelled."""
    outcome: str = ""
    answer: str = ""
    reason: str = ""
    hint: str = ""
    again: str = ""
    """The task that it continues."""
    queue_id: str = ""
    """Its id in the queue, now or before it began; empty if it began at once."""
    agents: tuple[AgentEntry, ...] = ()
    """Those it handed parts to, each after the one that it worked for."""


class ScheduleEntry(Value, frozen=True, omit_defaults=False):
    """A task that is repeated, as `alita tasks` shows it."""

    id: str
    text: str
    rhythm: str
    """Such as `every 1d at 07:00`."""
    paused: bool
    next: str
    """When it is due next, or was due if that run is to be made up for: ISO 8601, local offset; empty if paused."""
    session_id: str
    """Session of its newest run; empty for none."""


class Tasks(Value, frozen=True, omit_defaults=False):
    """The tasks of one session."""

    session_id: str
    paused: bool
    tasks: tuple[TaskEntry, ...]
    """Those that began or were cancelled before, the oldest first, then the queue in its order."""
    schedules: tuple[ScheduleEntry, ...] = ()
    """All schedules of the home, of whichever session."""


def tasks_of(app: AppContext, session: str | None) -> Tasks:
    """Return the tasks of a session, by default of the newest. Raises UsageError, StoreError."""
    from alita_tui.state.reduce import reduce_all

    history = recording(app, session)
    ended = {end.agent_id: end for end in of_kind(history, AgentEnded)}
    queue_ids = {begun.task_id: begun.queue_id for begun in of_kind(history, TaskSubmitted)}
    tasks = _listed(reduce_all(history), ended, queue_ids, tuple(_cancelled(history)))
    return replace(tasks, schedules=scheduled(app))


def _cancelled(history: Iterable[Envelope]) -> Iterator[TaskEntry]:
    """Yield the tasks that were taken out of the queue before they began."""
    for envelope in of(history, TaskCancelled):
        event = envelope.event
        if isinstance(event, TaskCancelled):
            yield TaskEntry(
                id=event.queue_id, standing="cancelled", text=event.text, at=envelope.at.isoformat(),
                queue_id=event.queue_id,
            )  # fmt: skip


def _agents(
    state: SessionState, task_id: TaskId, ended: Mapping[AgentId, AgentEnded]
) -> Iterator[AgentEntry]:
    from alita_tui.view.agents import tree

    for depth, agent in tree(state, task_id):
        end = ended.get(agent.agent_id)
        yield AgentEntry(
            id=agent.agent_id,
            parent=agent.parent,
            role=agent.role,
            goal=agent.goal,
            attempt=agent.attempt,
            outcome=agent.outcome or "",
            said=(end.result or end.reason) if end else "",
            missing=end.missing if end else "",
            steps=agent.step,
            usd=round(agent.usd, 9),
            tokens=agent.tokens,
            depth=depth,
        )


def _listed(
    state: SessionState,
    ended: Mapping[AgentId, AgentEnded],
    queue_ids: Mapping[TaskId, str],
    cancelled: tuple[TaskEntry, ...],
) -> Tasks:
    from alita_tui.state.lanes import phase_of

    running = state.running
    begun = tuple(
        TaskEntry(
            id=task.task_id,
            standing=_standing(
                task.outcome, runs=task.task_id in running, phase=phase_of(state, task.task_id)
            ),
            text=task.text,
            at=task.started.isoformat(),
            outcome=task.outcome or "",
            answer=task.answer,
            reason=task.reason,
            hint=task.hint,
            again=task.again,
            queue_id=queue_ids.get(task.task_id, ""),
            agents=tuple(_agents(state, task.task_id, ended)),
        )
        for task in state.tasks
    )
    queued = tuple(
        TaskEntry(
            id=queued.queue_id,
            standing="queued",
            text=queued.text,
            at=queued.since.isoformat(),
            place=place,
            again=queued.again,
            queue_id=queued.queue_id,
        )
        for place, queued in enumerate(state.queue, 1)
    )
    passed = sorted((*begun, *cancelled), key=lambda task: datetime.fromisoformat(task.at))
    return Tasks(session_id=state.session_id, paused=state.paused, tasks=(*passed, *queued))


def _standing(outcome: str | None, *, runs: bool, phase: str) -> TaskStatus:
    match outcome:
        case None:  # a task that a crash cut off continues when the session opens
            return "waiting" if not runs or phase in ("waiting", "asking", "closed") else "running"
        case "answered":
            return "done"
        case "parked" | "budget":
            return "waiting"
        case "interrupted":
            return "cancelled"
        case _:
            return "failed"


def scheduled(app: AppContext) -> tuple[ScheduleEntry, ...]:
    """Return the tasks that are repeated, the oldest first. Raises StoreError."""
    from alita_tui.app.background.ledger import Ledger

    if not app.paths.background.exists() and not journal_of(app.paths.background).exists():
        return ()
    return tuple(
        ScheduleEntry(
            id=schedule.id,
            text=schedule.text,
            rhythm=str(schedule.rhythm),
            paused=schedule.paused,
            next=""
            if schedule.paused
            else (schedule.due(now()) or schedule.rhythm.following(schedule.made, now()))
            .astimezone()
            .isoformat(timespec="minutes"),
            session_id=schedule.session_id,
        )
        for schedule in Ledger(app).schedules()
    )


def repeat(
    app: AppContext, task: SubmitTask, rhythm: Rhythm, *, model: str | None, project: str | None
) -> str:
    """Schedule a task to be repeated; return the id of its schedule. Raises StoreError."""
    from alita_tui.app.background.ledger import Ledger, Schedule

    ledger = Ledger(app)
    with ledger.changing():
        schedule = Schedule(
            id=ledger.new_id(), text=task.text, attach=task.attach, rhythm=rhythm, made=now(), model=model,
            project=project,
        )  # fmt: skip
        ledger.put(schedule)
    return schedule.id


def change_schedule(app: AppContext, schedule_id: str, action: Literal["pause", "resume", "cancel"]) -> None:
    """Pause, cancel or resume a schedule; runs missed while paused are not made up for. Raises UsageError."""
    from alita_tui.app.background.ledger import Ledger

    ledger = Ledger(app)
    with ledger.changing():
        schedule = ledger.schedule(schedule_id)
        match action:
            case "cancel":
                ledger.remove(schedule)
            case "pause":
                ledger.put(replace(schedule, paused=True))
            case "resume":
                ledger.put(replace(schedule, paused=False, last=now() if schedule.paused else schedule.last))


def find_task(tasks: Tasks, key: str, *, queued: bool = False) -> TaskEntry:
    """Return a task by its place in the queue, its id, or the beginning of it. Raises UsageError."""
    candidates = [task for task in tasks.tasks if task.place or not queued]
    exact = [
        task
        for task in candidates
        if key and (key in (task.id, task.queue_id) or (task.place and str(task.place) == key))
    ]
    place = key.isdecimal() and len(key) <= _LONGEST_PLACE  # so no id that begins with it is meant
    matches = exact or [
        task
        for task in candidates
        if key and not place and (task.id.startswith(key) or task.queue_id.startswith(key))
    ]
    if len(matches) == 1:
        return matches[0]
    kind = "queued task" if queued else "task"
    if matches:
        raise UsageError(
            f"More than one {kind} begins with {one_line(key, 60)!r}.", hint="Give more of its id."
        )
    raise UsageError(
        f"There is no {kind} {one_line(key, 60)!r} in session {tasks.session_id}.",
        hint=f"List them with: alita tasks list --session {tasks.session_id}",
    )


async def change(
    app: AppContext, session: str | None, command: QueueCommand, *, fresh: bool = False
) -> tuple[str, bool]:
    """Change a session's queue; return the session's id, and False if the change was left for another process.

    By default the newest session of this home is changed. Adding a task creates a session if there is none, or, with
    `fresh`, in any case. Raises UsageError, StoreError.
    """
    from alita_tui.app.session import open_file
    from alita_tui.store.task_inbox import TaskInbox

    adds = isinstance(command, SubmitTask)
    if fresh or (session is None and adds and app.sessions.latest(own=True) is None):
        path = None
    else:
        path = str(path_of(app, session)) if session is not None else _newest(app)
    if isinstance(command, SubmitTask):
        command = SubmitTask(text=command.text, queue_id=command.queue_id or new_id(), attach=command.attach)
    try:
        file = await asyncio.to_thread(open_file, app, path)
    except StoreLocked:
        session_id = Path(path).stem if path else ""
        inbox = TaskInbox(app.paths.left_tasks, app.audit)
        await asyncio.to_thread(inbox.leave, session_id, command)
        return session_id, False
    await _change_closed(app, file, command)
    return file.session_id, True


async def begin_with(app: AppContext, session_id: str, task: SubmitTask) -> None:
    """Create a session with this id and the task in its queue; do nothing if it has the task already.

    Raises StoreError, StoreLocked.
    """
    from alita_tui.store.sessions import SessionFile

    def opened() -> SessionFile:
        path = app.sessions.path(session_id)
        if path in app.sessions.paths():
            return SessionFile.open(path)
        return SessionFile.create(path, session_id)

    await _change_closed(app, await asyncio.to_thread(opened), task)


async def _change_closed(app: AppContext, file: SessionFile, command: QueueCommand) -> None:
    """Change the queue of a session that this process has opened, and close it; no task begins."""
    try:
        change = _checked(file.history(), command)
        async with resumed(app, file) as bus:
            await _carry_out(app, bus, change)
    finally:
        await asyncio.to_thread(file.close)


def _newest(app: AppContext) -> str:
    latest = app.sessions.latest(own=True)
    if latest is None:
        raise UsageError("There is no session yet.", hint='Begin one with `alita run "TASK"`.')
    return latest.path


_Change = SubmitTask | EditTask | MoveTask | CancelTask | SwitchQueue


def _checked(history: Sequence[Envelope], command: QueueCommand) -> _Change:
    """Return the command as the queue takes it. Raises UsageError if it is not possible."""
    from alita_tui.agent.tasks import why_not_retried
    from alita_tui.state.reduce import reduce_all

    state = reduce_all(history)
    if isinstance(command, Retry):
        if why := why_not_retried(command.task_id, state):
            raise UsageError(why, hint="`alita tasks list` shows how each task ended.")
        task = next(task for task in state.tasks if task.task_id == command.task_id)
        return SubmitTask(
            text=task.text, files=task.files, again=task.task_id, retried=True, queue_id=new_id()
        )
    if isinstance(command, CancelTask) and all(task.queue_id != command.task_id for task in state.queue):
        raise UsageError(
            "That task is not in the queue.",
            hint="It continues when the session is opened; stop it there with Interrupt.",
        )
    return command


async def _carry_out(app: AppContext, bus: Bus, command: _Change) -> None:
    """Record a change of the queue."""
    from alita_tui.agent.steering import take_in
    from alita_tui.agent.task_queue import TaskQueue
    from alita_tui.app.artefacts import session_artefacts
    from alita_tui.state.reduce import reduce_all

    queue = TaskQueue(bus, new_id)
    queue.restore(reduce_all(bus.history))
    if not bus.history:
        models = await asyncio.to_thread(app.models)
        try:
            await bus.emit(SessionOpened(model=models.name, recorded=models.recorded, version=__version__))
        finally:
            await models.aclose()
    if isinstance(command, SubmitTask):
        files = command.files
        if command.attach:
            artefacts = session_artefacts(app, bus.session_id)
            handles = await take_in(bus, artefacts, command.attach, "The task is not queued.")
            files = handles or ()
            if handles is None:
                command = SubmitTask(text="")
        await queue.submit(
            SubmitTask(
                text=command.text.strip(),
                files=files,
                queue_id=command.queue_id,
                again=command.again,
                retried=command.retried,
            ),
            busy=True,
        )
    else:
        await queue.change(command)
