"""The ReAct loop: think, choose, act, observe, until the task ends.

The model sees the conversation so far and replies with actions; each action's handler records the outcome;
the next step's conversation is derived from that record.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Sequence

import msgspec

from alita_tui import events as e
from alita_tui.agent.acting import Acting, unstarted_builds
from alita_tui.agent.actions import LEADS, Action, Answer, MalformedAction, parse, specs
from alita_tui.agent.blocks import ContextBlocks
from alita_tui.agent.checklist import checklist
from alita_tui.agent.context_window import WorkingContext
from alita_tui.agent.director import Director
from alita_tui.agent.planner import Planner
from alita_tui.agent.progress import STOP, STUCK, ProgressWatch, stopped, what_to_change
from alita_tui.agent.questions import Questions
from alita_tui.agent.task_queue import News
from alita_tui.agent.tasks import CurrentTask, TaskEnd
from alita_tui.events import ActionName, ModelRole, NudgeKind
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.models import Asker, ModelRequest, Reply

_MALFORMED_REPLIES = 2
"""Malformed replies in a row that end a task: the first one gets a chance to repair it."""

_ACT = (
    "Your reply calls no action, so nothing was done. If it answers the task, call `{}` with the whole answer; "
    "otherwise call the next action."
)


class AgentLoop:
    """The lead agent's loop over one task. `SpecialistLoop` has what differs for other agents."""

    role: ModelRole = "orchestrator"
    seat = ""
    """Name of the role's own models, as in `ModelRequest`; empty for those of `role`."""
    ends_with: ActionName = "answer"

    def __init__(
        self,
        bus: Bus,
        asker: Asker,
        context: WorkingContext,
        acting: Acting,
        task: CurrentTask,
        news: News,
        blocks: ContextBlocks,
        questions: Questions,
        planner: Planner,
        director: Director,
        wait_for_slot: Callable[[], Awaitable[None]],
        *,
        max_steps: int,
        reply_tokens: int,
    ) -> None:
        """`wait_for_slot` is awaited before each step; it returns at once unless the task lent its slot.

        `news` is cleared when a step begins, since the model then sees everything.
        """
        self._wait_for_slot = wait_for_slot
        self._director = director
        self._questions = questions
        self._planner = planner
        self._bus = bus
        self._asker = asker
        self._context = context
        self._acting = acting
        self._task = task
        self._news = news
        self._max_steps = max_steps
        self._reply_tokens = reply_tokens
        self._blocks = blocks

    async def run(self) -> TaskEnd:
        """Work on the task until it ends. Raises BudgetExceeded, ModelError, SandboxUnavailable,
        ApprovalPending, StoreError.
        """
        self._begin()
        earlier = self._task.events()[::-1]
        watch = ProgressWatch(self._task.before(), earlier)
        asked_to_act = _asked_to_act(earlier)
        malformed = 0
        if end := stopped(reversed(earlier)):
            return end
        if (unstarted := unstarted_builds(earlier)) and (end := await self._acting.act(*unstarted)):
            return end
        while origin.current().step < self._max_steps:
            await self._wait_for_slot()
            self._next_step()
            start = len(self._bus.history)
            reply = await self._think()
            if not reply.requests and (answer := reply.text.strip()):
                if asked_to_act and (end := await self._end(reply.call_id, answer)):
                    return end
                if not asked_to_act:
                    await self._nudge("act", _ACT.format(self.ends_with))
                asked_to_act = True
                continue
            asked_to_act = False
            try:
                actions = choose(reply, self._task.tools, self._allowed)
            except MalformedAction as error:
                await self._bus.emit(e.ActionMalformed(text=_reply_text(reply), problem=error.message))
                malformed += 1
                if malformed >= _MALFORMED_REPLIES:
                    return TaskEnd(
                        "failed",
                        f"the model gave no valid action twice in a row. {error.message}",
                        hint="Try again, or choose another model with `alita config`.",
                    )
                continue
            malformed = 0
            if end := await self._acting.act(reply.call_id, reply.requests, dict(enumerate(actions))):
                return end
            if end := await self._observe(reply.call_id, start, watch):
                return end
        return TaskEnd(
            "step_limit",
            f"{self._max_steps} steps were not enough",
            hint="Try it again for as many more (`alita resume`), raise it with "
            "`alita config set budget.max_steps N`, or split the task.",
        )

    def _begin(self) -> None:
        """Record that the agent begins or continues."""
        self._blocks.begin()

    def _next_step(self) -> None:
        """Begin a step; the model is about to see everything new."""
        origin.begin_step()
        self._news.shown()

    @property
    def _allowed(self) -> Iterable[ActionName]:
        """Return the actions that the agent may choose now."""
        return (*LEADS, "delegate") if self._director.directs else LEADS

    async def _observe(self, call_id: str, start: int, watch: ProgressWatch) -> TaskEnd | None:
        """Learn from what was recorded since a position: change the plan, or advise the agent if it does not get on."""
        await self._plan_anew(start)
        if (advice := watch.note(self._since(start))) is None:
            return None
        if advice.nudge is None:
            return await self._stuck(call_id, advice.text, watch)
        await self._nudge(advice.nudge, advice.text, advice.about)
        return None

    async def _plan_anew(self, start: int) -> None:
        """Change the plan if a tool that it names failed since a position in the record."""
        if revised_plan := self._planner.reweigh(self._since(start)):
            await self._bus.emit(revised_plan)
            followed = revised_plan.candidates[revised_plan.chosen]
            before = self._task.plan(revised_plan.task_id)
            await self._bus.emit(checklist(revised_plan.task_id, followed.steps, before, followed.recipe))

    async def _stuck(self, call_id: str, tried: str, watch: ProgressWatch) -> TaskEnd | None:
        """Ask the person what to change; return the end of the task if they want it to stop."""
        place = len(self._bus.history)
        await self._questions.ask(f"{STUCK}{call_id}", what_to_change(tried), choices=(STOP,))
        watch.note(self._since(place))
        return stopped(self._task.events())

    def _since(self, place: int) -> list[Envelope]:
        """Return this agent's events from a position on; other agents write to the same record."""
        return [envelope for envelope in self._bus.history[place:] if self._task.owns(envelope)]

    async def _think(self) -> Reply:
        system = await self._prompt()
        request = ModelRequest(
            role=self.role,
            seat=self.seat,
            system=system,
            messages=(),
            tools=specs(tuple(self._allowed), browser=self._browser),
            must_call="*",
            max_tokens=self._reply_tokens,
        )
        return await self._asker.ask(await self._context.fill(request))

    @property
    def _browser(self) -> bool:
        """Whether tools may be granted a browser."""
        return self._blocks.browser

    async def _prompt(self) -> str:
        prompt, more = await self._blocks.prompt(), self._director.prompt
        return f"{prompt}\n\n{more}" if more else prompt

    async def _end(self, call_id: str, text: str) -> TaskEnd | None:
        """End the task with a reply of text only."""
        action = self._ending(text)
        return await self._acting.carry_out(
            f"{call_id}.0", self.ends_with, msgspec.to_builtins(action), action
        )

    def _ending(self, text: str) -> Action:
        """Return the action that ends the agent's work with a text."""
        return Answer(text=text)

    async def _nudge(self, nudge: NudgeKind, text: str, about: str = "") -> None:
        await self._bus.emit(e.AgentNudged(nudge=nudge, text=text, about=about))


def choose(reply: Reply, tools: Container[str] = (), allowed: Iterable[ActionName] = LEADS) -> list[Action]:
    """Return all actions of a reply. Raises MalformedAction if any is invalid, so that none is carried out.

    `tools` are the names of the library, `allowed` the actions that the agent may choose.
    """
    names = tuple(allowed)
    if reply.requests:
        return [parse(request, tools, names) for request in reply.requests]
    raise MalformedAction("The reply is empty.")


def _asked_to_act(events: Sequence[Envelope]) -> bool:
    """Return whether the newest message to the agent says that its reply had no action."""
    last = [
        envelope.event for envelope in events if isinstance(envelope.event, e.AgentNudged | e.ModelReplied)
    ]
    return bool(last) and isinstance(last[-1], e.AgentNudged) and last[-1].nudge == "act"


def _reply_text(reply: Reply) -> str:
    calls = (f"{request.name}({request.arguments})" for request in reply.requests)
    return "\n".join(part for part in (reply.text, *calls) if part)
