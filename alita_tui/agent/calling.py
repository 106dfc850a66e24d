"""One model call as the agent and the toolsmith make it: budget, stream, record, retry."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Protocol

from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import BudgetExceeded, ModelError
from alita_tui.spine.ports import Delta, Model, ModelRequest, Reply
from alita_tui.spine.values import Usage, Value, digest_of


class RetryPolicy(Protocol):
    """Seconds to wait before another attempt, or None for no other attempt."""

    def __call__(self, error: ModelError, attempt: int, jitter: float) -> float | None:
        """Decide about attempt number `attempt` (1 after the first failure); jitter is in [0, 1)."""


class Budget(Value, frozen=True):
    """Caps of a session. None: no cap."""

    usd: float | None = None
    tokens: int | None = None


class ModelCalls:
    """Meets `Asker`. Holds the spend of the session, restored from its history."""

    def __init__(
        self,
        bus: Bus,
        models: Mapping[str, Model],
        budget: Budget,
        retry: RetryPolicy,
        new_id: Callable[[], str],
    ) -> None:
        self._bus = bus
        self._models = models
        self._budget = budget
        self._retry = retry
        self._new_id = new_id
        self._usd, self._tokens, self._unpriced = spent(bus.history)
        self._said: list[str] = []

    async def ask(self, request: ModelRequest) -> Reply:
        """See `Asker.ask`."""
        model = self._models.get(request.role) or self._models["orchestrator"]
        attempt = 0
        while True:
            self._check(model, request)
            call_id = self._new_id()
            started = time.monotonic()
            try:
                reply = await self._stream(model, request, call_id)
            except ModelError as error:
                attempt += 1
                wait = self._retry(error, attempt, random.random())  # noqa: S311  # jitter, no secret
                await self._bus.emit(
                    e.ModelFailed(
                        call_id=call_id,
                        role=request.role,
                        model=model.name,
                        error=error.kind,
                        text=error.message,
                        hint=error.hint,
                        retry_in=wait,
                    )
                )
                if wait is None:
                    raise
                await asyncio.sleep(wait)
                continue
            await self._record(model, request, call_id, reply, (time.monotonic() - started) * 1000)
            return reply

    @property
    def unfinished(self) -> str:
        """See `Asker.unfinished`."""
        return "".join(self._said)

    async def _stream(self, model: Model, request: ModelRequest, call_id: str) -> Reply:
        reply: Reply | None = None
        self._said.clear()
        async with aclosing(model.reply(request)) as pieces:  # type: ignore[type-var]  # async generators
            async for piece in pieces:
                match piece:
                    case Delta(channel=channel, text=text):
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
        return reply

    async def _record(
        self, model: Model, request: ModelRequest, call_id: str, reply: Reply, duration_ms: float
    ) -> None:
        cost = model.price(reply.usage)
        self._usd += cost or 0.0
        self._tokens += reply.usage.input_tokens + reply.usage.output_tokens
        self._unpriced += cost is None
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
                duration_ms=duration_ms,
                prompt=digest_of(request.system)[:12],
            )
        )
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

    def _check(self, model: Model, request: ModelRequest) -> None:
        """Refuse a call that could break a cap: input by length, output at its maximum."""
        text = len(request.system) + sum(len(m.text) + len(str(m.requests)) for m in request.messages)
        worst = Usage(input_tokens=text // 3 + 500, output_tokens=request.max_tokens)
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


def spent(history: Iterable[Envelope]) -> tuple[float, int, int]:
    """Dollars, tokens and unpriced calls of a session so far."""
    usd, tokens, unpriced = 0.0, 0, 0
    for envelope in history:
        if isinstance(envelope.event, e.BudgetSpent):
            spend = envelope.event
            usd, tokens, unpriced = spend.total_usd, spend.total_tokens, spend.unpriced_calls
    return usd, tokens, unpriced
