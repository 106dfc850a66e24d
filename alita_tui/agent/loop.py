"""The ReAct loop: think, choose, act, observe, until the task ends.

The model is shown the conversation so far and replies with actions; each action's handler records what came of it;
the next step's conversation is derived from that record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from alita_tui import events as e
from alita_tui.agent.actions import Action, Answer, MalformedAction, parse, specs
from alita_tui.agent.handlers import Handlers
from alita_tui.agent.progress import ProgressWatch
from alita_tui.agent.prompt import Surroundings, orchestrator_prompt
from alita_tui.agent.tasks import TaskEnd
from alita_tui.agent.working import WorkingContext
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import RegistryError, WebError
from alita_tui.spine.ports.models import Asker, ModelRequest, Reply

_MALFORMED_REPLIES = 2
"""Malformed replies in a row that end a task: the first one gets a chance to repair it."""


class AgentLoop:
    """One agent's loop over one task."""

    def __init__(
        self,
        bus: Bus,
        asker: Asker,
        context: WorkingContext,
        handlers: Handlers,
        news: asyncio.Event,
        surroundings: Callable[[], Surroundings],
        *,
        max_steps: int,
        reply_tokens: int,
    ) -> None:
        """`news` is cleared when a step begins: the model is about to be shown everything."""
        self._bus = bus
        self._asker = asker
        self._context = context
        self._handlers = handlers
        self._news = news
        self._max_steps = max_steps
        self._reply_tokens = reply_tokens
        self._surroundings = surroundings
        self._prompt = ""

    async def run(self) -> TaskEnd:
        """Go on with the task until it ends. Raises BudgetExceeded, ModelError, SandboxUnavailable,
        ApprovalPending, StoreError.
        """
        self._prompt = orchestrator_prompt(await asyncio.to_thread(self._surroundings))
        watch = ProgressWatch()
        malformed = 0
        while origin.current().step < self._max_steps:
            origin.begin_step()
            self._news.clear()
            start = len(self._bus.history)
            reply = await self._think()
            try:
                actions = choose(reply)
            except MalformedAction as error:
                await self._bus.emit(e.ActionMalformed(text=_written(reply), problem=error.message))
                malformed += 1
                if malformed >= _MALFORMED_REPLIES:
                    return TaskEnd(
                        "failed",
                        f"the model gave no valid action twice in a row. {error.message}",
                        hint="Try again, or choose another model with `alita config`.",
                    )
                continue
            malformed = 0
            if end := await self._act(reply, actions):
                return end
            acted = "\n".join(f"{type(action).__name__} {action}" for action in actions)
            if stuck := watch.note(acted, observed(self._bus.history[start:])):
                return TaskEnd("stuck", stuck, hint="Say what is missing, or give the task in other words.")
        return TaskEnd(
            "step_limit",
            f"{self._max_steps} steps were not enough",
            hint="Try it again for as many more (`alita resume`), raise it with "
            "`alita config set budget.max_steps N`, or split the task.",
        )

    async def _think(self) -> Reply:
        request = ModelRequest(
            role="orchestrator",
            system=self._prompt,
            messages=(),
            tools=specs(),
            must_call="*",
            max_tokens=self._reply_tokens,
        )
        return await self._asker.ask(await self._context.fill(request))

    async def _act(self, reply: Reply, actions: list[Action]) -> TaskEnd | None:
        """Do what was chosen, in order; return the end of the task when one of the actions ends it."""
        for number, action in enumerate(actions):
            action_id = f"{reply.call_id}.{number}"
            request = reply.requests[number] if reply.requests else None
            name = request.name if request else "answer"
            arguments = request.arguments if request else {"text": reply.text.strip()}
            await self._bus.emit(
                e.ActionChosen(action_id=action_id, action=name, arguments=arguments),  # type: ignore[arg-type]
                span=action_id,
            )
            try:
                with origin.working_on(origin.current().inside(action_id)):
                    end = await self._handlers.handle(action_id, action)
                if end:
                    return end
            except (WebError, RegistryError) as error:
                await self._bus.emit(
                    e.ActionFailed(action_id=action_id, action=name, text=error.message, hint=error.hint),
                    span=action_id,
                )
        return None


def choose(reply: Reply) -> list[Action]:
    """Return all actions of a reply. Raises MalformedAction if any of them is invalid: then none is done."""
    if reply.requests:
        return [parse(request) for request in reply.requests]
    if reply.text.strip():
        return [Answer(text=reply.text.strip())]
    raise MalformedAction("The reply is empty.")


def observed(events: Iterable[Envelope]) -> str:
    """Return what a step brought, without what differs each time: ids, times, figures."""
    seen: list[str] = []
    for envelope in events:
        match envelope.event:
            case e.ToolSearched(hits=hits, near_misses=near):
                seen.append(f"{hits}{near}")
            case e.WebSearched(results=results):
                seen.append(str(results))
            case e.PageRead(text=text) | e.LookedBack(text=text) | e.ActionFailed(text=text):
                seen.append(text)
            case e.ToolFailed(text=text):
                seen.append(text)
            case e.ToolReturned(report=report):
                seen.append(str(report.result))
            case e.ToolAliased(name=name):
                seen.append(name)
            case e.BuildFailed(reason=reason) | e.ApprovalResolved(verdict=e.Verdict(why=reason)):
                seen.append(reason)
            case e.WaitEnded():
                seen.append(str(envelope.seq))
            case e.QuestionAnswered(text=text) | e.Steered(text=text):
                seen.append(f"{envelope.seq}{text}")
            case _:
                pass
    return "\n".join(seen)


def _written(reply: Reply) -> str:
    calls = (f"{request.name}({request.arguments})" for request in reply.requests)
    return "\n".join(part for part in (reply.text, *calls) if part)
