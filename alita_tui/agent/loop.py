"""The ReAct loop: think, choose, act, observe, until the task ends.

The model sees the conversation so far and replies with actions; each action's handler records the outcome;
the next step's conversation is derived from that record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from typing import cast

import msgspec

from alita_tui import events as e
from alita_tui.agent.actions import (
    LEADS,
    Action,
    Answer,
    BuildTool,
    Delegate,
    MalformedAction,
    Plan,
    Report,
    RunTool,
    parse,
    specs,
)
from alita_tui.agent.blocks import ContextBlocks
from alita_tui.agent.checklist import checklist
from alita_tui.agent.director import Director
from alita_tui.agent.handlers import Handlers
from alita_tui.agent.news import News
from alita_tui.agent.planner import Planner
from alita_tui.agent.progress import STOP, STUCK, ProgressWatch
from alita_tui.agent.questions import Questions
from alita_tui.agent.tasks import CurrentTask, TaskEnd
from alita_tui.agent.working import WorkingContext
from alita_tui.events import ActionName, Json, ModelRole, NudgeKind, ToolRequest
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import ApprovalPending, RegistryError, WebError
from alita_tui.spine.ports.models import Asker, ModelRequest, Reply

_MALFORMED_REPLIES = 2
"""Malformed replies in a row that end a task: the first one gets a chance to repair it."""

_AT_ONCE = 4
"""Tools that run side by side."""

_ACT = (
    "Your reply calls no action, so nothing was done. If it answers the task, call `{}` with the whole answer; "
    "otherwise call the next action."
)
_STUCK = "I am stuck: "
_UNREAD = (
    "This does not count as the answer yet: you wrote it before you saw the results of the other actions in your "
    "reply. Read them, then call `{}`."
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
        handlers: Handlers,
        task: CurrentTask,
        news: News,
        blocks: ContextBlocks,
        needs_result_of: Callable[[RunTool, RunTool], bool],
        questions: Questions,
        planner: Planner,
        wait_for_slot: Callable[[], Awaitable[None]],
        *,
        max_steps: int,
        reply_tokens: int,
        director: Director | None = None,
    ) -> None:
        """`wait_for_slot` is awaited before each step; it returns at once unless the task lent its slot.

        `news` is cleared when a step begins, since the model then sees everything. `needs_result_of` returns whether a
        tool run needs the result of an earlier run of the same reply.
        """
        self._wait_for_slot = wait_for_slot
        self._director = director
        self._needs_result_of = needs_result_of
        self._questions = questions
        self._planner = planner
        self._bus = bus
        self._asker = asker
        self._context = context
        self._handlers = handlers
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
        if end := _stopped(earlier[::-1]):
            return end
        if (unstarted_builds := _unstarted_builds(earlier)) and (end := await self._act(*unstarted_builds)):
            return end
        while origin.current().step < self._max_steps:
            await self._wait_for_slot()
            self._next_step()
            start = len(self._bus.history)
            reply = await self._think()
            if not reply.requests and (answer := reply.text.strip()):
                if asked_to_act and (end := await self._answer(reply.call_id, answer)):
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
            if end := await self._act(reply.call_id, reply.requests, dict(enumerate(actions))):
                return end
            await self._plan_anew(start)
            if (advice := watch.note(self._since(start))) is None:
                continue
            if advice.nudge is None:
                if end := await self._stuck(reply.call_id, advice.text, watch):
                    return end
                continue
            await self._nudge(advice.nudge, advice.text, advice.about)
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
        return (*LEADS, "delegate") if self._director and self._director.directs else LEADS

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
        await self._questions.ask(f"{STUCK}{call_id}", _what_to_change(tried), choices=(STOP,))
        watch.note(self._since(place))
        return _stopped(self._task.events())

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
        prompt, more = await self._blocks.prompt(), self._director.prompt if self._director else ""
        return f"{prompt}\n\n{more}" if more else prompt

    async def _act(
        self, call_id: str, requests: Sequence[ToolRequest], actions: Mapping[int, Action]
    ) -> TaskEnd | None:
        """Carry out the chosen actions in order; return the end of the task if one of them ends it.

        `actions` maps the index of a request to its action.

        If a build has to wait and no person is attached, the other builds of the reply still run up to the same point.
        Raises ApprovalPending.
        """
        parked: ApprovalPending | None = None
        unread = any(not isinstance(action, Answer | Report | Plan) for action in actions.values())
        for batch in batches(actions):
            number, action = next(iter(batch.items()))
            if parked and not isinstance(action, BuildTool):
                continue  # it may need the build, so it is not carried out
            if len(batch) > 1:
                await self._run_together(call_id, requests, cast(Mapping[int, RunTool | Delegate], batch))
                continue
            action_id = f"{call_id}.{number}"
            request = requests[number]
            name = cast(ActionName, request.name)
            await self._choose(action_id, name, request.arguments)
            try:
                if unread and isinstance(action, Answer | Report):
                    raise RegistryError(_UNREAD.format(name))
                with origin.working_on(origin.current().inside(action_id)):
                    end = await self._handlers.handle(action_id, action)
                if end:
                    return end
            except ApprovalPending as error:
                parked = parked or error
            except (WebError, RegistryError) as error:
                await self._bus.emit(
                    e.ActionFailed(action_id=action_id, action=name, text=error.message, hint=error.hint),
                    span=action_id,
                )
        if parked:
            raise parked
        return None

    async def _run_together(
        self, call_id: str, requests: Sequence[ToolRequest], runs: Mapping[int, RunTool | Delegate]
    ) -> None:
        """Run tools side by side, each after the runs whose results it refers to; or agents, which wait for a slot.

        Raises the first error.
        """
        room = asyncio.Semaphore(
            max(_AT_ONCE, *(len(runs) * isinstance(action, Delegate) for action in runs.values()))
        )
        tasks: dict[int, asyncio.Task[None]] = {}

        async def run(number: int, action: RunTool | Delegate) -> None:
            needed = [
                tasks[earlier]
                for earlier, before in runs.items()
                if isinstance(action, RunTool)
                and isinstance(before, RunTool)
                and earlier < number
                and self._needs_result_of(action, before)
            ]
            name = cast(ActionName, requests[number].name)
            await asyncio.gather(*needed, return_exceptions=True)
            async with room:
                action_id = f"{call_id}.{number}"
                await self._choose(action_id, name, requests[number].arguments)
                try:
                    with origin.working_on(origin.current().inside(action_id)):
                        await self._handlers.handle(action_id, action)
                except RegistryError as error:
                    failed = e.ActionFailed(
                        action_id=action_id, action=name, text=error.message, hint=error.hint
                    )
                    await self._bus.emit(failed, span=action_id)

        for number, action in runs.items():
            tasks[number] = asyncio.create_task(run(number, action))
        try:
            outcomes = await asyncio.gather(*tasks.values(), return_exceptions=True)
        except asyncio.CancelledError:
            await asyncio.wait(tasks.values())
            raise
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _choose(self, action_id: str, name: ActionName, arguments: Json) -> None:
        chosen = e.ActionChosen(action_id=action_id, action=name, arguments=arguments)
        await self._bus.emit(chosen, span=action_id)

    async def _answer(self, call_id: str, text: str) -> TaskEnd | None:
        """End the task with a reply of text only."""
        return await self._end(f"{call_id}.0", "answer", Answer(text=text))

    async def _end(self, action_id: str, name: ActionName, action: Action) -> TaskEnd | None:
        await self._choose(action_id, name, msgspec.to_builtins(action))
        with origin.working_on(origin.current().inside(action_id)):
            return await self._handlers.handle(action_id, action)

    async def _nudge(self, nudge: NudgeKind, text: str, about: str = "") -> None:
        await self._bus.emit(e.AgentNudged(nudge=nudge, text=text, about=about))


def batches(actions: Mapping[int, Action]) -> list[dict[int, Action]]:
    """Return the actions in order, grouped into batches that run together.

    Consecutive tool runs form a batch, and so do consecutive delegations; any other action is a batch of its own.
    """
    batches: list[dict[int, Action]] = []
    for number, action in actions.items():
        previous = [*batches[-1].values()][-1] if batches else None
        if isinstance(action, RunTool | Delegate) and type(previous) is type(action):
            batches[-1][number] = action
        else:
            batches.append({number: action})
    return batches


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


def _what_to_change(tried: str) -> str:
    return f"{_STUCK}{tried}. What should I do differently, or what is missing?"


def _stopped(newest_first: Sequence[Envelope]) -> TaskEnd | None:
    """Return the end of a task that goes in circles and that the person stopped; None otherwise."""
    stop_id = ""
    for envelope in newest_first:
        match envelope.event:
            case e.QuestionAnswered(question_id=question_id, text=text) if question_id.startswith(STUCK):
                if text != STOP:
                    return None
                stop_id = question_id
            case e.QuestionAsked(question_id=question_id, text=text) if question_id == stop_id:
                return TaskEnd("stuck", text.removeprefix(_STUCK).partition(". What should")[0])
            case _:
                pass
    return None


def _unstarted_builds(
    events: Sequence[Envelope],
) -> tuple[str, tuple[ToolRequest, ...], dict[int, Action]] | None:
    """Return the builds of the newest reply that were not begun, because the process ended during an earlier one.

    They are the reply's id, its requests, and the actions by request; None if there are none.
    """
    chosen: set[str] = set()
    for envelope in reversed(events):
        match envelope.event:
            case e.ActionChosen(action="build_tool", action_id=action_id):
                chosen.add(action_id)
            case e.ActionMalformed():
                return None
            case e.ModelReplied(role="orchestrator" | "specialist", call_id=call_id, requests=requests) if (
                chosen
            ):
                builds = {
                    number: parse(request)
                    for number, request in enumerate(requests)
                    if request.name == "build_tool" and f"{call_id}.{number}" not in chosen
                }
                return (call_id, requests, builds) if builds else None
            case e.ModelReplied(role="orchestrator" | "specialist"):
                return None
            case _:
                pass
    return None


def _reply_text(reply: Reply) -> str:
    calls = (f"{request.name}({request.arguments})" for request in reply.requests)
    return "\n".join(part for part in (reply.text, *calls) if part)
