"""Actions that need nothing but the record and the person: plan, look, ask_user, answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.acting import Handler
from alita_tui.agent.actions import Action, Answer, AskUser, Look, Plan
from alita_tui.agent.checklist import checklist, unmarked
from alita_tui.agent.context_window import WorkingContext
from alita_tui.agent.director import Director
from alita_tui.agent.grounding import ungrounded
from alita_tui.agent.planner import Planner
from alita_tui.agent.questions import Questions
from alita_tui.agent.references import Looked, References, file_list
from alita_tui.agent.tasks import CurrentTask, TaskEnd
from alita_tui.agent.verifier import Verifier
from alita_tui.artefacts.slices import Part
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.spine.ports.artefacts import Artefacts

_SKILLS = "skills/"
"""Prefix of the name of a skill's file."""


class ConversationHandlers:
    """Handles plan, look, ask_user and answer."""

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        questions: Questions,
        context: WorkingContext,
        references: References,
        planner: Planner,
        artefacts: Artefacts,
        skill_file: Callable[[str], bytes],
        director: Director,
        verifier: Verifier,
    ) -> None:
        """`skill_file` returns a file of an approved skill, and blocks; see `Provider`."""
        self._bus = bus
        self._task = task
        self._questions = questions
        self._context = context
        self._references = references
        self._planner = planner
        self._artefacts = artefacts
        self._skill_file = skill_file
        self._director = director
        self._verifier = verifier

    @property
    def table(self) -> Mapping[type[Action], Handler]:
        """The handlers by action."""
        return {Plan: self.plan, Look: self.look, AskUser: self.ask_user, Answer: self.answer}

    async def plan(self, action_id: str, action: Plan) -> None:
        """Record the plan or its progress; a task's first plan is compared with others."""
        task_id = self._task.latest.task_id if self._task.latest else e.NO_TASK
        before = self._task.plan(task_id)
        recipe = action.recipe or (before.recipe if before else "")
        steps: tuple[str, ...] = tuple(action.steps)
        if before is None and (weighed := await self._planner.weigh(unmarked(steps), recipe)):
            await self._bus.emit(weighed, span=action_id)
            followed = weighed.candidates[weighed.chosen]
            steps, recipe = steps if followed.source == "agent" else followed.steps, followed.recipe
        plan = checklist(task_id, steps, before, recipe)
        await self._bus.emit(plan, span=action_id)
        await self._director.consider(plan)

    async def look(self, action_id: str, action: Look) -> None:
        """Show a part of a file, of a skill, of a result or of an earlier observation.

        Raises RegistryError, StoreError.
        """
        part = Part(pointer=action.pointer, lines=action.lines, rows=action.rows, search=action.search)
        selection = part.pointer or part.lines or part.rows or part.search
        name = action.what.strip()
        if name.startswith(_SKILLS) and origin.delegate():
            raise RegistryError("You were handed no skill.")
        if name.startswith(_SKILLS):
            name = await self._stored(action_id, name.removeprefix(_SKILLS).strip("/"))
        seq = int(name.removeprefix("e")) if name.removeprefix("e").isdecimal() else 0
        if not name:
            view = Looked(text=file_list(self._references.listed) or "There are no files.")
        elif seq and not selection:
            view = Looked(text=self._context.again(seq, action.offset))
            if not view.text:
                raise RegistryError(f"Event {seq} holds no observation.")
        else:
            view = await asyncio.to_thread(self._references.look, name, part)
        looked = e.LookedBack(
            action_id=action_id, seq=seq, text=view.text, handle=view.handle, part=selection
        )
        await self._bus.emit(looked, span=action_id)

    async def _stored(self, action_id: str, path: str) -> str:
        """Return the handle of a skill's file; it becomes an artefact, once, so that it can be given to tools."""
        data = await asyncio.to_thread(self._skill_file, path)
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", path if "/" in path else f"{path}/SKILL.md")[-100:]
        try:
            artefact = await self._bus.save_with(self._artefacts.add_bytes, data, name)
        except UsageError as error:
            raise RegistryError(error.message, hint=error.hint) from error
        if artefact.handle not in {file.handle for file in self._references.listed}:
            added = e.ArtefactAdded(artefact=artefact, origin="skill", source=action_id)
            await self._bus.emit(added, span=action_id)
        return artefact.handle

    async def ask_user(self, action_id: str, action: AskUser) -> None:
        """Ask the person and wait for the answer."""
        await self._questions.ask(action_id, action.question, choices=action.choices)

    async def answer(self, action_id: str, action: Answer) -> TaskEnd | None:
        """End the task: answered, or rejected if the person rejected its last build and no tool ran since.

        Return None if the answer was checked and refused, which is reported to the agent once.
        """
        builds = {build.build_id for build in self._task.builds()}
        for envelope in self._task.events():
            match envelope.event:
                case e.ToolRegistered() | e.ToolReturned():
                    break
                case e.ApprovalResolved(
                    build_id=build_id, verdict=e.Verdict(decision="rejected" | "banned") as verdict
                ) if build_id in builds:
                    reason = verdict.why or f"the build was {verdict.decision}"
                    return TaskEnd("rejected", reason, answer=action.text)
                case _:
                    pass
        checked = await self._verifier.check(action_id, action.text)
        if checked and checked.returned:
            return None
        bare = await asyncio.to_thread(lambda: ungrounded(action.text, self._references.evidence()))
        end = TaskEnd("answered", answer=action.text, ungrounded=bare)
        return replace(end, finding=checked.finding, faults=checked.faults) if checked else end
