"""One model call as the agent and the toolsmith make it: routed, budgeted, streamed, recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec

from alita_tui.agent.estimate import Scales, worst
from alita_tui.agent.purse import Purse
from alita_tui.agent.tokens import tokens_in
from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports import Candidate, Delta, Model, ModelRequest, Reply, ReplyCache, Route, Router
from alita_tui.spine.values import Usage, digest_of


class ModelCalls:
    """Meets `Asker`."""

    def __init__(
        self,
        bus: Bus,
        router: Router,
        purse: Purse,
        new_id: Callable[[], str],
        *,
        cache: ReplyCache | None = None,
        cached: frozenset[e.ModelRole] = frozenset(),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._bus = bus
        self._router = router
        self._purse = purse
        self._new_id = new_id
        """`cached` are the roles that may be answered from the cache."""
        self._cache = cache
        self._cached = cached
        self._sleep = sleep
        self._serving: dict[e.ModelRole, str] = {}
        self._said: list[str] = []
        self._scales = Scales()

    async def ask(self, request: ModelRequest) -> Reply:
        """See `Asker.ask`."""
        limit = worst(request)
        route = self._router.route(
            request.role,
            limit.input_tokens + limit.output_tokens,
            lambda model: model.price(self._scales.scaled(model.name, limit)),
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
                call_id = self._new_id()
                if found := await self._known(held.model, request, call_id):
                    return found
                asked = msgspec.structs.replace(request, hurry=route.spare(held))
                try:
                    reply = await self._paid(held.model, asked, limit, call_id)
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
                if self._cache is not None and request.role in self._cached:
                    await asyncio.to_thread(self._cache.put, turn.name, request, reply)
                return reply
        finally:
            if held is not None:
                route.released(held)

    async def enable(self, model: str) -> None:
        """See `Asker.enable`."""
        self._router.enable(model)
        await self._tell_changes()

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

    async def _known(self, model: Model, request: ModelRequest, call_id: str) -> Reply | None:
        """The reply from the cache, told and counted, where there is one."""
        if self._cache is None or request.role not in self._cached:
            return None
        reply = await asyncio.to_thread(self._cache.get, model.name, request)
        if reply is not None:
            await self._tell(request, model, call_id, reply, cached=True)
            await self._purse.spared(call_id, request.role, model, reply.usage)
        return reply

    async def _paid(self, model: Model, request: ModelRequest, limit: Usage, call_id: str) -> Reply:
        """One attempt between its reservation and its settlement, however it ends."""
        estimated = self._scales.scaled(model.name, limit)
        await self._purse.reserve(call_id, request.role, model, estimated, request.build)
        said: list[str] = []
        usage: Usage | None = None
        try:
            reply = await self._attempt(model, request, call_id, said)
            self._scales.learn(model.name, limit, reply.usage)
            usage = reply.usage if reply.usage.reported else _counted(estimated, said)
            return reply
        except ModelError as error:
            usage = _billed(error, estimated, said)
            raise
        finally:
            usage = usage or _counted(estimated, said)  # none: it was cancelled
            await self._purse.settle(
                call_id, request.role, model, usage, estimated=not usage.reported, build=request.build
            )

    async def _attempt(self, model: Model, request: ModelRequest, call_id: str, said: list[str]) -> Reply:
        """`said` is filled with all that comes, whatever becomes of it."""
        started = time.monotonic()
        first, reply = 0.0, None
        self._said = []
        async with aclosing(model.reply(request)) as pieces:  # type: ignore[type-var]  # async generators
            async for piece in pieces:
                match piece:
                    case Delta(channel=channel, text=text):
                        first = first or (time.monotonic() - started) * 1000
                        said.append(text)
                        if channel == "text":
                            self._said.append(text)
                        self._bus.hint(
                            e.ModelDelta(call_id=call_id, role=request.role, channel=channel, text=text)
                        )
                    case Reply():
                        reply = self._bus.redacted(piece)
        self._said = []
        if reply is None:
            raise ModelError("truncated", f"{model.name} ended its stream without a reply.")
        duration = (time.monotonic() - started) * 1000
        await self._tell(request, model, call_id, reply, duration_ms=duration, first_ms=first)
        return reply

    async def _tell(
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
            )
        )

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


def _next(route: Route) -> Candidate | float | ModelError:
    try:
        return route.next()
    except ModelError as last:
        return last


def _counted(estimated: Usage, said: list[str]) -> Usage:
    """What a call took where no provider says so."""
    return Usage(input_tokens=estimated.input_tokens, output_tokens=tokens_in("".join(said)), reported=False)


def _billed(error: ModelError, estimated: Usage, said: list[str]) -> Usage:
    """What a call that failed is likely to be billed: nothing unless the server had begun on it."""
    if not said and error.kind not in ("timeout", "truncated", "malformed", "refused"):
        return Usage()
    return _counted(estimated, said)
