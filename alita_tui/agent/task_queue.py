"""Queue of tasks, which the person can change. Every change is recorded before it takes effect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.agent_messages import without_team
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import CancelTask, Command, EditTask, MoveTask, SubmitTask, SwitchQueue
from alita_tui.spine.history import of_kind
from alita_tui.state.session import SessionState


class News:
    """Set by the code that causes the news, awaited by the task that it concerns."""

    def __init__(self) -> None:
        self._unseen: set[e.TaskId] = set()
        self._changed = asyncio.Event()

    def about(self, task_id: e.TaskId) -> None:
        """Signal something that a task's model has to see."""
        self._unseen.add(task_id)
        self.look()

    def look(self) -> None:
        """Wake all waiters, so that each checks whether there is news for it."""
        self._changed.set()
        self._changed = asyncio.Event()

    def shown(self) -> None:
        """Clear the news of the present task: its model is about to see everything."""
        self._unseen.discard(origin.current().task_id)

    async def wait(self, enough: Callable[[], bool]) -> None:
        """Wait for news about the present task, or until `enough` is true."""
        task_id = origin.current().task_id
        while task_id not in self._unseen and not enough():
            await self._changed.wait()


_GONE = "That task does not wait any more: it began, or was cancelled."


class RemoteCommand(NamedTuple):
    """A command that another process left, and the callback for when it was carried out."""

    command: Command
    done: Callable[[], None]


class TaskQueue:
    """Tasks that wait for their turn. A task that has to wait is recorded, so no crash loses it."""

    def __init__(self, bus: Bus, new_id: Callable[[], str]) -> None:
        self._bus = bus
        self._new_id = new_id
        self._waiting: list[SubmitTask] = []
        self.paused = False
        """True while the person has paused the queue: no further task begins."""
        self.news = News()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def ready(self) -> bool:
        """Whether a task may begin."""
        return bool(self._waiting) and not self.paused

    async def submit(self, task: SubmitTask, *, busy: bool) -> None:
        """Queue a task; record it first when it cannot begin at once (`busy`), or has an id in the queue."""
        if not task.text or (task.queue_id and self._was_queued(task.queue_id)):
            return
        if not without_team(task.text):
            return await self._notice("There is no task.", "Write it behind: /team TASK")
        if task.queue_id or busy or self._waiting or self.paused:
            task = replace(task, queue_id=task.queue_id or self._new_id())
            queued = e.TaskQueued(queue_id=task.queue_id, text=task.text, files=task.files, again=task.again)
            await self._bus.emit(queued)
        self.add(task)
        self.news.look()
        if self.paused:
            await self._notice("It waits: the queue is paused.", "Let it go on with `alita tasks resume`.")

    def add(self, task: SubmitTask, *, first: bool = False) -> None:
        """Queue a task without recording it."""
        self._waiting.insert(0 if first else len(self._waiting), task)

    def next(self) -> SubmitTask | None:
        """Remove and return the task whose turn it is; None if no task may begin."""
        return self._waiting.pop(0) if self.ready else None

    def waits(self, queue_id: str) -> bool:
        """Return whether the task with this queue id waits."""
        return self._place(queue_id) is not None

    def restore(self, state: SessionState) -> None:
        """Queue the tasks that an earlier process had queued but not begun."""
        self.paused = state.paused
        self._waiting = [task for task in self._waiting if not task.queue_id] + [
            SubmitTask(
                text=queued.text,
                files=queued.files,
                queue_id=queued.queue_id,
                again=queued.again,
                retried=bool(queued.again),
            )
            for queued in state.queue
        ]

    async def change(self, command: EditTask | MoveTask | CancelTask | SwitchQueue) -> None:
        """Change the queue as the person asks; report an impossible change in a notice."""
        if isinstance(command, SwitchQueue):
            if command.paused != self.paused:
                await self._bus.emit(e.QueueSwitched(paused=command.paused))
                self.paused = command.paused
            return
        queue_id = command.task_id if isinstance(command, CancelTask) else command.queue_id
        place = self._place(queue_id)
        if place is None:
            await self._notice(_GONE, "`alita tasks list` shows what waits.")
            return
        task = self._waiting[place]
        match command:
            case EditTask(text=text) if task.again:
                await self._notice("A task that is tried again keeps its words.", "Cancel it and ask anew.")
            case EditTask(text=text) if text.strip() and text.strip() != task.text:
                await self._bus.emit(e.TaskEdited(queue_id=queue_id, text=text.strip()))
                self._waiting[place] = replace(task, text=text.strip())
            case EditTask():
                pass
            case MoveTask(before=before):
                await self._move(task, before)
            case CancelTask():
                await self._bus.emit(e.TaskCancelled(queue_id=queue_id, text=task.text))
                self._waiting.remove(task)

    async def _move(self, task: SubmitTask, before: str) -> None:
        if before and self._place(before) is None:
            await self._notice(
                "It stays in its place: the task that it was to stand before does not wait any more."
            )
            return
        if before == task.queue_id:
            return
        await self._bus.emit(e.TaskMoved(queue_id=task.queue_id, before=before, text=task.text))
        self._waiting.remove(task)
        place = self._place(before)
        self._waiting.insert(len(self._waiting) if place is None else place, task)

    def _place(self, queue_id: str) -> int | None:
        return next(
            (n for n, task in enumerate(self._waiting) if queue_id and task.queue_id == queue_id), None
        )

    def _was_queued(self, queue_id: str) -> bool:
        """Return whether a task with this id was ever queued."""
        return any(queued.queue_id == queue_id for queued in of_kind(self._bus.history, e.TaskQueued))

    async def _notice(self, text: str, hint: str = "") -> None:
        await self._bus.emit(e.NoticeRaised(level="info", text=text, hint=hint))
