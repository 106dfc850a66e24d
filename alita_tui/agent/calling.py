"""One model call as the agent and the toolsmith make it: routed, budgeted, streamed, recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing

from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import BudgetExceeded, ModelError
from alita_tui.spine.ports import Candidate, Delta, Model, ModelRequest, Reply, Route, Router
from alita_tui.spine.values import Usage, Value, digest_of


class Budget(Value, frozen=True):
    """Caps of a session. None: no cap."""

    usd: float | None = None
    tokens: int | None = None


class ModelCalls:
    """Meets `Asker`. Holds the spend of the session, restored from its history."""

    def __init__(
        self,
        bus: Bus,
        router: Router,
        budget: Budget,
        new_id: Callable[[], str],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._bus = bus
        self._router = router
        self._budget = budget
        self._new_id = new_id
        self._sleep = sleep
        self._serving: dict[e.ModelRole, str] = {}
        self._said: list[str] = []
        self._usd, self._tokens, self._unpriced = spent(bus.history)

    async def ask(self, request: ModelRequest) -> Reply:
        """See `Asker.ask`."""
        worst = estimate(request)
        route = self._router.route(
            request.role, worst.input_tokens + worst.output_tokens, lambda model: model.price(worst)
        )
        held: Candidate | None = None
        try:
            turn = route.next()
            while True:
                if not isinstance(turn, Candidate):
                    await self._sleep(turn)
                    turn = route.next()
                    continue
                held = turn
                await self._enter(request.role, route, held)
                self._check(held.model, worst)
                call_id = self._new_id()
                try:
                    reply = await self._attempt(held.model, request, call_id)
                except ModelError as error:
                    route.failed(held, error)
                    following = _next(route)
                    held = following if isinstance(following, Candidate) else None
                    await self._record_failure(request, turn.name, call_id, error, following)
                    if isinstance(following, ModelError):
                        raise following from None
                    turn = following
                    continue
                route.replied(held)
                held = None
                await self._tell_changes()
                return reply
        finally:
            if held is not None:
                route.released(held)

    @property
    def unfinished(self) -> str:
        """See `Asker.unfinished`."""
        return "".join(self._said)

    async def _enter(self, role: e.ModelRole, route: Route, one: Candidate) -> None:
        """Tell when the role is served by another model than before."""
        await self._tell_changes()
        previous = self._serving.get(role, route.first)
        self._serving[role] = one.name
        if previous != one.name:
            reason = route.why(previous, one)
            await self._bus.emit(
                e.ProviderFailedOver(role=role, previous=previous, model=one.name, reason=reason)
            )

    async def _tell_changes(self) -> None:
        for change in self._router.changes():
            await self._bus.emit(change)

    async def _attempt(self, model: Model, request: ModelRequest, call_id: str) -> Reply:
        started = time.monotonic()
        first, reply = 0.0, None
        self._said.clear()
        async with aclosing(model.reply(request)) as pieces:  # type: ignore[type-var]  # async generators
            async for piece in pieces:
                match piece:
                    case Delta(channel=channel, text=text):
                        first = first or (time.monotonic() - started) * 1000
                        if channel == "text":
                            self._said.append(text)
                        self._bus.hint(
                            e.ModelDelta(call_id=call_id, role=request.role, channel=channel, text=text)
                        )
                    case Reply():
                        reply = piece
        self._said.clear()
        if reply is None:
            raise ModelError("truncated", f"{model.name} ended its stream without a reply.")
        await self._bus.emit(
            e.ModelReplied(
                call_id=call_id,
                role=request.role,
                model=reply.model or model.name,
                text=reply.text,
                thinking=reply.thinking,
                requests=reply.requests,
                stop=reply.stop,
                usage=reply.usage,
                duration_ms=(time.monotonic() - started) * 1000,
                first_ms=first,
                prompt=digest_of(request.system)[:12],
            )
        )
        await self._settle(model, call_id, reply)
        return reply

    async def _record_failure(
        self,
        request: ModelRequest,
        model: str,
        call_id: str,
        error: ModelError,
        following: Candidate | float | ModelError,
    ) -> None:
        match following:
            case ModelError():
                wait = None
            case Candidate():
                wait = 0.0
            case _:
                wait = following
        await self._bus.emit(
            e.ModelFailed(
                call_id=call_id,
                role=request.role,
                model=model,
                error=error.kind,
                text=error.message,
                hint=error.hint,
                retry_in=wait,
            )
        )
        await self._tell_changes()

    async def _settle(self, model: Model, call_id: str, reply: Reply) -> None:
        cost = model.price(reply.usage)
        self._usd += cost or 0.0
        self._tokens += reply.usage.input_tokens + reply.usage.output_tokens
        self._unpriced += cost is None
        await self._bus.emit(
            e.BudgetSpent(
                call_id=call_id,
                cost_usd=cost,
                total_usd=self._usd,
                total_tokens=self._tokens,
                limit_usd=self._budget.usd,
                unpriced_calls=self._unpriced,
            )
        )

    def _check(self, model: Model, worst: Usage) -> None:
        """Refuse a call that could break a cap."""
        hint = "Raise it with `alita config set budget.session_usd N` and resume the session."
        cost = model.price(worst)
        if self._budget.usd is not None and cost is not None and self._usd + cost > self._budget.usd:
            raise BudgetExceeded(
                f"The next call could cost ${cost:.2f}; ${self._usd:.2f} of ${self._budget.usd:.2f} are spent.",
                hint=hint,
            )
        tokens = worst.input_tokens + worst.output_tokens
        if self._budget.tokens is not None and self._tokens + tokens > self._budget.tokens:
            raise BudgetExceeded(
                f"The next call could take {tokens} tokens; {self._tokens} of {self._budget.tokens} are spent.",
                hint="Raise it with `alita config set budget.task_tokens N` and resume the session.",
            )


def _next(route: Route) -> Candidate | float | ModelError:
    try:
        return route.next()
    except ModelError as last:
        return last


def estimate(request: ModelRequest) -> Usage:
    """What a call takes at most: its input by length, its output at the maximum."""
    text = len(request.system) + sum(len(m.text) + len(str(m.requests)) for m in request.messages)
    return Usage(input_tokens=text // 3 + 500, output_tokens=request.max_tokens, reported=False)


def spent(history: Iterable[Envelope]) -> tuple[float, int, int]:
    """Dollars, tokens and unpriced calls of a session so far."""
    usd, tokens, unpriced = 0.0, 0, 0
    for envelope in history:
        if isinstance(envelope.event, e.BudgetSpent):
            spend = envelope.event
            usd, tokens, unpriced = spend.total_usd, spend.total_tokens, spend.unpriced_calls
    return usd, tokens, unpriced
