"""Actions that need nothing but the record and the person: plan, look_back, ask_user, answer."""

from __future__ import annotations

from collections.abc import Mapping

from alita_tui import events as e
from alita_tui.agent.actions import Action, Answer, AskUser, LookBack, Plan
from alita_tui.agent.checklist import checklist
from alita_tui.agent.handlers import Handler
from alita_tui.agent.questions import Questions
from alita_tui.agent.tasks import CurrentTask, TaskEnd
from alita_tui.agent.working import WorkingContext
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import RegistryError


class ConversationHandlers:
    """Handles plan, look_back, ask_user and answer."""

    def __init__(self, bus: Bus, task: CurrentTask, questions: Questions, context: WorkingContext) -> None:
        self._bus = bus
        self._task = task
        self._questions = questions
        self._context = context

    @property
    def table(self) -> Mapping[type[Action], Handler]:
        """The handlers by action."""
        return {Plan: self.plan, LookBack: self.look_back, AskUser: self.ask_user, Answer: self.answer}

    async def plan(self, action_id: str, action: Plan) -> None:
        """Record the plan, or how far it is."""
        task_id = self._task.latest.task_id if self._task.latest else ""
        before = self._task.plan(task_id)
        recipe = action.recipe or (before.recipe if before else "")
        await self._bus.emit(checklist(task_id, action.steps, before, recipe), span=action_id)

    async def look_back(self, action_id: str, action: LookBack) -> None:
        """Show an earlier observation again. Raises RegistryError when the event holds none."""
        text = self._context.again(action.event, action.offset)
        if not text:
            raise RegistryError(f"Event {action.event} holds no observation.")
        await self._bus.emit(e.LookedBack(action_id=action_id, seq=action.event, text=text), span=action_id)

    async def ask_user(self, action_id: str, action: AskUser) -> None:
        """Ask the person and wait for the answer."""
        await self._questions.ask(action_id, action.question, choices=action.choices)

    async def answer(self, action_id: str, action: Answer) -> TaskEnd:
        """End the task: answered, unless the person rejected its last build and nothing took that build's place."""
        builds = {build.build_id for build in self._task.builds()}
        for envelope in reversed(self._bus.history):
            match envelope.event:
                case e.TaskSubmitted() | e.ToolRegistered() | e.ToolReturned():
                    break
                case e.ApprovalResolved(
                    build_id=build_id, verdict=e.Verdict(decision="rejected" | "banned") as verdict
                ) if build_id in builds:
                    reason = verdict.why or f"the build was {verdict.decision}"
                    return TaskEnd("rejected", reason, answer=action.text)
                case _:
                    pass
        return TaskEnd("answered", answer=action.text)
