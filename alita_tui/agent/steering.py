"""Messages of the person to running tasks: to the lead, to one of its agents, or to all of them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.agent_messages import asks_for_team, without_team
from alita_tui.agent.checklist import checklist, from_person
from alita_tui.agent.delegation import Delegation
from alita_tui.agent.director import Director
from alita_tui.agent.task_queue import TaskQueue
from alita_tui.agent.tasks import CurrentTask
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import Steer
from alita_tui.spine.errors import UsageError
from alita_tui.spine.origin import in_task, working_on
from alita_tui.spine.ports.artefacts import Artefacts


class Steering:
    """Records the person's messages to running tasks."""

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        artefacts: Artefacts,
        queue: TaskQueue,
        delegation: Delegation,
        director: Director,
    ) -> None:
        self._bus = bus
        self._task = task
        self._artefacts = artefacts
        self._queue = queue
        self._delegation = delegation
        self._director = director

    async def steer(self, command: Steer, running: Collection[e.TaskId]) -> None:
        """Add to one of the running tasks, by default the newest: to its lead, to an agent, or to all."""
        if command.task_id and command.task_id not in running:
            await self._notice("Nothing was added: that task does not run any more.")
            return
        task_id = command.task_id or [*running][-1]
        working = self._delegation.working(task_id)
        if command.agent_id and command.agent_id not in working:
            await self._notice("Nothing was added: that agent does not work any more.")
            return
        files = await take_in(self._bus, self._artefacts, command.attach, "Nothing was added to the task.")
        if files is None:
            return
        for agent_id in working if command.every else filter(None, (command.agent_id,)):
            with working_on(self._delegation.origin_of(agent_id)):
                await self._bus.emit(e.Steered(text=command.text, files=files))
        if not command.agent_id:
            await self._lead(task_id, command.text, files)

    async def _lead(self, task_id: e.TaskId, text: str, files: tuple[str, ...]) -> None:
        with working_on(in_task(task_id)):
            if asks_for_team(text):
                await self._director.ask()
                text = without_team(text)
            if text or files:
                await self._bus.emit(e.Steered(text=text, files=files))
            if steps := from_person(text):
                before = self._task.plan(task_id)
                plan = replace(
                    checklist(task_id, steps, before, before.recipe if before else ""), by="person"
                )
                await self._bus.emit(plan)
                await self._director.consider(plan)
        self._queue.news.about(task_id)

    async def _notice(self, text: str) -> None:
        await self._bus.emit(e.NoticeRaised(level="info", text=text))


async def take_in(
    bus: Bus, artefacts: Artefacts, paths: tuple[str, ...], otherwise: str
) -> tuple[str, ...] | None:
    """Record files that the person gives; return their handles, or None after saying why one cannot be taken.

    `otherwise` begins the error message, with what is not done in that case.
    """
    handles: list[str] = []
    try:
        for path in paths:
            artefact = await bus.save_with(artefacts.add, Path(path))
            await bus.emit(e.ArtefactAdded(artefact=artefact, origin="person"))
            handles.append(artefact.handle)
    except UsageError as error:
        await bus.emit(e.NoticeRaised(level="error", text=f"{otherwise} {error.message}", hint=error.hint))
        return None
    return tuple(handles)
