"""Carries out the actions of a reply: in order, with tool runs and agents side by side, each by its handler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from alita_tui import events as e
from alita_tui.agent.actions import Action, Answer, BuildTool, Delegate, Plan, Report, RunTool, parse
from alita_tui.agent.tasks import TaskEnd
from alita_tui.events import ActionName, Json, ToolRequest
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import ApprovalPending, RegistryError, WebError

Handler = Callable[[str, Any], Awaitable[TaskEnd | None]]
"""Takes the action's id and the action, and records the outcome. Returns the task's end if the action ends it."""

_AT_ONCE = 4
"""Tools that run side by side."""

_UNREAD = (
    "This does not count as the answer yet: you wrote it before you saw the results of the other actions in your "
    "reply. Read them, then call `{}`."
)


class Acting:
    """Carries out actions by the handlers of their types."""

    def __init__(
        self,
        bus: Bus,
        needs_result_of: Callable[[RunTool, RunTool], bool],
        *tables: Mapping[type[Action], Handler],
    ) -> None:
        """`tables` have the handlers by action.

        `needs_result_of` returns whether a tool run needs the result of an earlier run of the same reply.
        """
        self._bus = bus
        self._needs_result_of = needs_result_of
        self._handlers = {kind: handler for table in tables for kind, handler in table.items()}

    async def act(
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
            early = unread and isinstance(action, Answer | Report)
            try:
                if end := await self.carry_out(
                    action_id, request.name, request.arguments, action, early=early
                ):
                    return end
            except ApprovalPending as error:
                parked = parked or error
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
            await asyncio.gather(*needed, return_exceptions=True)
            async with room:
                request = requests[number]
                await self.carry_out(f"{call_id}.{number}", request.name, request.arguments, action)

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

    async def carry_out(
        self, action_id: str, name: str, arguments: Json, action: Action, *, early: bool = False
    ) -> TaskEnd | None:
        """Record that an action was chosen, and carry it out; what the model can mend is recorded for it.

        Return the task's end if the action ends it. An `early` end is refused: it was written before the reply's other
        actions were observed.
        """
        chosen = e.ActionChosen(action_id=action_id, action=cast(ActionName, name), arguments=arguments)
        await self._bus.emit(chosen, span=action_id)
        try:
            if early:
                raise RegistryError(_UNREAD.format(name))
            with origin.working_on(origin.current().inside(action_id)):
                return await self._handlers[type(action)](action_id, action)
        except (WebError, RegistryError) as error:
            failed = e.ActionFailed(
                action_id=action_id, action=chosen.action, text=error.message, hint=error.hint
            )
            await self._bus.emit(failed, span=action_id)
        return None


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


def unstarted_builds(
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
