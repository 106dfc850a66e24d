"""One model call as the agent and the toolsmith make it: routed, budgeted, streamed, recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import TypeVar

import msgspec

from alita_tui import events as e
from alita_tui.agent.call_budget import CallBudget
from alita_tui.agent.tokens import Estimate, Meter, Scales, estimate_of, tokens_in
from alita_tui.events import Json, ModelRole, Usage, digest_of, ready
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import BudgetExceeded, ModelError
from alita_tui.spine.ports.encoder import Encoder
from alita_tui.spine.ports.models import (
    Asker,
    Candidate,
    Delta,
    Message,
    Model,
    ModelRequest,
    Reply,
    ReplyCache,
    Route,
    Router,
    ToolSpec,
)

T = TypeVar("T")

_LEAST_REPLY = 1024
"""Tokens that a model's window has to leave for a reply; a longer one follows the window."""


class ModelCalls:
    """Implements `Asker`."""

    def __init__(
        self,
        bus: Bus,
        router: Router,
        call_budget: CallBudget,
        new_id: Callable[[], str],
        *,
        cache: ReplyCache | None = None,
        cached: frozenset[e.ModelRole] = frozenset(),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`cached` are the roles that may be answered from the cache."""
        self._bus = bus
        self._router = router
        self._call_budget = call_budget
        self._new_id = new_id
        self._cache = cache
        self._cached = cached
        self._sleep = sleep
        self._serving: dict[str, str] = {}
        """Seat -> the model that serves it now."""
        self._partial_replies: dict[tuple[str, str], list[str]] = {}
        """Task and agent -> the text so far of a reply that is still coming in."""
        self._scales = Scales()
        self._noted: set[str] = set()

    @property
    def budget(self) -> CallBudget:
        """The budget that the calls are paid from."""
        return self._call_budget

    async def ask(self, request: ModelRequest) -> Reply:
        """Return the reply. Raises ModelError once all attempts failed, BudgetExceeded before a call above a cap."""
        estimated = estimate_of(request)
        least = min(request.max_tokens, _LEAST_REPLY)
        route = self._router.route(
            request.seat or request.role,
            lambda model: self._scales.bound(model.name, estimated).input_tokens + least,
            lambda model: model.price(self._scales.bound(model.name, estimated)),
        )
        candidate: Candidate | None = None
        try:
            next_try = route.next()
            while True:
                if not isinstance(next_try, Candidate):
                    await self._sleep(next_try)
                    next_try = route.next()
                    continue
                candidate = next_try
                await self._note_model(request, route, candidate)
                call_id = self._new_id()
                if cached := await self._from_cache(candidate.model, request, call_id):
                    return cached
                try:
                    fitted, limit = await self._fitted(candidate, request, estimated)
                    fitted = msgspec.structs.replace(fitted, hurry=route.spare(candidate))
                    reply = await self._paid(candidate.model, fitted, limit, call_id)
                except ModelError as error:
                    route.failed(candidate, error)
                    following = _next(route)
                    candidate = following if isinstance(following, Candidate) else None
                    await self._record_failure(request, next_try.name, call_id, error, following)
                    if isinstance(following, ModelError):
                        raise following from None
                    next_try = following
                    continue
                route.replied(candidate)
                candidate = None
                await self._tell_changes()
                if self._cache is not None and request.role in self._cached:
                    stored = msgspec.structs.replace(reply, call_id="")
                    await asyncio.to_thread(self._cache.put, next_try.name, request, stored)
                return reply
        finally:
            if candidate is not None:
                route.released(candidate)

    async def encode(self, encoder: Encoder, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return vectors of texts, which are redacted before they are sent. Raises ModelError, BudgetExceeded."""
        if not encoder.remote:
            return (await encoder.encode(texts)).vectors
        sent = [self._bus.redacted(text) for text in texts]
        most = Usage(input_tokens=sum(map(tokens_in, sent)), reported=False)
        call_id, usage = self._new_id(), most  # the most that an interrupted call may have cost
        await self._call_budget.reserve(call_id, "encoder", encoder, most, spare=True)
        try:
            encoded = await encoder.encode(sent)
            usage = encoded.usage if encoded.usage.reported else most
        except ModelError as error:
            usage = Usage() if error.kind != "malformed" else most
            raise
        finally:
            await self._call_budget.settle(call_id, "encoder", encoder, usage, estimated=not usage.reported)
        return encoded.vectors

    async def enable(self, model: str) -> None:
        """Ask a model again that was switched off."""
        self._router.enable(model)
        await self._tell_changes()

    @property
    def unfinished(self) -> str:
        """The text of the present agent's last reply if it was cancelled; empty if it was finished."""
        return "".join(self._partial_replies.get(_current_agent(), ()))

    async def _note_model(self, request: ModelRequest, route: Route, candidate: Candidate) -> None:
        """Record that another model now serves the role, if that is so."""
        await self._tell_changes()
        role, seat = request.role, request.seat or request.role
        previous = self._serving.get(seat, route.first)
        self._serving[seat] = candidate.name
        if previous != candidate.name:
            reason = route.why(previous, candidate)
            await self._bus.emit(
                e.ProviderFailedOver(role=role, previous=previous, model=candidate.name, reason=reason)
            )

    async def _tell_changes(self) -> None:
        for change in self._router.changes():
            await self._bus.emit(change)

    async def _from_cache(self, model: Model, request: ModelRequest, call_id: str) -> Reply | None:
        """Return the reply from the cache, recorded and counted; None if there is none."""
        if self._cache is None or request.role not in self._cached:
            return None
        reply = await asyncio.to_thread(self._cache.get, model.name, request)
        if reply is not None:
            reply = msgspec.structs.replace(reply, call_id=call_id)
            await self._record_reply(request, model, call_id, reply, cached=True)
            await self._call_budget.spared(call_id, request.role, model, reply.usage)
        return reply

    async def _fitted(
        self, candidate: Candidate, request: ModelRequest, estimated: Estimate
    ) -> tuple[ModelRequest, Estimate]:
        """Return the request with a reply limit that fits the model's window. Raises ModelError if none fits."""
        learned = self._router.learn(candidate.name, 0)
        window = learned or self._router.learn(candidate.name, await candidate.model.window())
        reply_tokens = request.max_tokens
        if window:
            input_tokens = self._scales.bound(candidate.name, estimated).input_tokens
            reply_tokens = min(reply_tokens, window - input_tokens)
            if reply_tokens < min(request.max_tokens, _LEAST_REPLY):
                raise self._router.narrow(candidate.name, input_tokens)
        return (
            msgspec.structs.replace(request, max_tokens=reply_tokens),
            msgspec.structs.replace(estimated, output=reply_tokens),
        )

    async def _paid(self, model: Model, request: ModelRequest, limit: Estimate, call_id: str) -> Reply:
        """Make one attempt; reserve its cost before and settle it after, however it ends."""
        estimated = self._scales.bound(model.name, limit)
        await self._call_budget.reserve(
            call_id, request.role, model, estimated, request.build, spare=request.spare,
            role_usd=request.role_usd,
        )  # fmt: skip
        received: list[str] = []
        usage: Usage | None = None
        try:
            reply = await self._attempt(model, request, call_id, received)
            self._scales.learn(model.name, limit, reply.usage)
            usage = reply.usage if reply.usage.reported else _counted(estimated, received)
            for note in reply.notes:
                await self._warn(note)
            return reply
        except ModelError as error:
            usage = _billed(error, estimated, received)
            raise
        finally:
            usage = usage or _counted(estimated, received)  # no reply: it was cancelled
            await self._call_budget.settle(
                call_id, request.role, model, usage, estimated=not usage.reported, build=request.build
            )

    async def _attempt(self, model: Model, request: ModelRequest, call_id: str, received: list[str]) -> Reply:
        """Make one attempt; `received` collects all text that arrives, even if the attempt fails."""
        started = time.monotonic()
        first, reply = 0.0, None
        text_so_far = self._partial_replies[_current_agent()] = []
        meter = Meter(request.max_tokens)
        async with aclosing(model.reply(request)) as pieces:  # type: ignore[type-var]  # async generators
            async for piece in pieces:
                match piece:
                    case Delta(channel=channel, text=text):
                        first = first or (time.monotonic() - started) * 1000
                        received.append(text)
                        if channel == "text":
                            text_so_far.append(text)
                        self._bus.hint(
                            e.ModelDelta(call_id=call_id, role=request.role, channel=channel, text=text)
                        )
                        if meter.over(text):
                            raise _overlong(model, request)
                    case Reply():
                        reply = msgspec.structs.replace(self._bus.redacted(piece), call_id=call_id)
        self._partial_replies.pop(_current_agent(), None)
        if reply is None:
            raise ModelError("truncated", f"{model.name} ended its stream without a reply.")
        if request.hurry and (invalid := next((call for call in reply.requests if call.problem), None)):
            # Only if another model can be asked; otherwise the loop reports the fault to this one.
            raise ModelError(
                "malformed",
                f"{model.name}: the arguments of {invalid.name or 'a call'} are not valid: {invalid.problem}",
                hint="Try again, or choose another model.",
            )
        duration = (time.monotonic() - started) * 1000
        await self._record_reply(request, model, call_id, reply, duration_ms=duration, first_ms=first)
        return reply

    async def _record_reply(
        self,
        request: ModelRequest,
        model: Model,
        call_id: str,
        reply: Reply,
        *,
        duration_ms: float = 0.0,
        first_ms: float = 0.0,
        cached: bool = False,
    ) -> None:
        await self._bus.emit(
            e.ModelReplied(
                call_id=call_id,
                role=request.role,
                model=reply.model or model.name,
                text=reply.text,
                thinking=reply.thinking,
                requests=reply.requests,
                stop=reply.stop,
                usage=Usage() if cached else reply.usage,
                duration_ms=duration_ms,
                first_ms=first_ms,
                prompt=digest_of(request.system)[:12],
                cached=cached,
            ),
            span=call_id,
        )

    async def _warn(self, note: str) -> None:
        if note not in self._noted:
            self._noted.add(note)
            await self._bus.emit(e.NoticeRaised(level="warning", text=note))

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
            ),
            span=call_id,
        )
        await self._tell_changes()


def _current_agent() -> tuple[str, str]:
    current = origin.current()
    return current.task_id, current.agent_id


def _next(route: Route) -> Candidate | float | ModelError:
    try:
        return route.next()
    except ModelError as last:
        return last


def _overlong(model: Model, request: ModelRequest) -> ModelError:
    return ModelError(
        "malformed",
        f"{model.name} went on after the {request.max_tokens} tokens that its reply may have: it was cut off.",
        hint="Try again, choose another model, or raise budget.reply_tokens with `alita config set`.",
    )


def _counted(estimated: Usage, received: list[str]) -> Usage:
    """Return the estimated usage of a call whose provider reported none."""
    return Usage(
        input_tokens=estimated.input_tokens, output_tokens=tokens_in("".join(received)), reported=False
    )


def _billed(error: ModelError, estimated: Usage, received: list[str]) -> Usage:
    """Return the likely bill of a failed call: nothing unless the server had begun to answer."""
    if not received and error.kind not in ("timeout", "truncated", "malformed", "refused"):
        return Usage()
    return _counted(estimated, received)


async def calls_of(
    asker: Asker,
    tool: ToolSpec,
    *,
    role: ModelRole,
    system: str,
    prompt: str,
    reply_tokens: int,
    seconds: float,
    seat: str = "",
    role_usd: float | None = None,
) -> list[Json]:
    """Ask a model to call a tool; return the arguments of its calls, unchecked.

    Return an empty list if the call fails, exceeds the budget or takes too long; the reason is on the stream.
    """
    request = ModelRequest(
        role=role,
        seat=seat,
        system=system,
        messages=(Message(role="user", text=prompt),),
        tools=(tool,),
        must_call=tool.name,
        max_tokens=reply_tokens,
        spare=True,
        role_usd=role_usd,
    )
    try:
        async with asyncio.timeout(seconds):
            reply = await asker.ask(request)
    except (ModelError, BudgetExceeded, TimeoutError):
        return []
    return [call.arguments for call in reply.requests if call.name == tool.name]


def items_of(calls: Iterable[Json], key: str, kind: type[T]) -> Iterator[T]:
    """Yield the items that a model's calls list under a key; those that are not valid are skipped."""
    for arguments in calls:
        listed = arguments.get(key) if isinstance(arguments, dict) else None
        for fields in listed if isinstance(listed, list) else ():
            try:
                yield msgspec.convert(fields, ready(kind))
            except msgspec.ValidationError:
                continue
