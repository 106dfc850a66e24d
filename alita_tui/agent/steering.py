"""What a person adds to a task that has begun."""

from __future__ import annotations

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.checklist import checklist, from_person
from alita_tui.agent.given_files import GivenFiles
from alita_tui.agent.task_queue import TaskQueue
from alita_tui.agent.tasks import CurrentTask
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import Steer
from alita_tui.spine.origin import in_task, working_on


class Steering:
    """Adds to tasks."""

    def __init__(self, bus: Bus, task: CurrentTask, files: GivenFiles, queue: TaskQueue) -> None:
        self._bus = bus
        self._task = task
        self._files = files
        self._queue = queue

    async def add(self, task_id: str, command: Steer) -> None:
        """Add words and files to a task; numbered steps become its plan."""
        files = await self._files.take_in(command.attach, "Nothing was added to the task.")
        if files is None:
            return
        with working_on(in_task(task_id)):
            await self._bus.emit(e.Steered(text=command.text, files=files))
            if steps := from_person(command.text):
                before = self._task.plan(task_id)
                plan = checklist(task_id, steps, before, before.recipe if before else "")
                await self._bus.emit(replace(plan, by="person"))
        self._queue.news.about(task_id)
