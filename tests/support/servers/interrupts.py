"""How long an interrupt takes in every state of a model call, over the real SDKs and sockets."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap
from alita_tui.agent.questions import Questions
from alita_tui.llm.anthropic_model import AnthropicModel
from alita_tui.llm.openai_model import OpenAIModel
from tests.support.servers.anthropic_server import AnthropicServer
from tests.support.servers.lab import CALL, KEY, TEXT
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault, ModelServer
from tests.support.simulation import REQUEST, Desk

STATES = (
    "importing", "connecting", "no answer", "half a reply", "pings", "full speed", "waiting to retry", "asking for more",
)  # fmt: skip

Ready = Callable[[], bool]


async def interrupted_ms(vendor: str, state: str) -> float:
    """Milliseconds from the interrupt of a call in this state to its end."""
    async with _begun(vendor, state) as (asking, ready):
        while not ready():
            assert not asking.done(), asking
            await asyncio.sleep(0.002)
        started = time.perf_counter()
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        return (time.perf_counter() - started) * 1000


@asynccontextmanager
async def _begun(vendor: str, state: str) -> AsyncIterator[tuple[asyncio.Task[object], Ready]]:
    with (OpenAIServer if vendor == "openai" else AnthropicServer)(api_key=KEY) as server:
        origin, full = server.base_url, None
        if state == "connecting":
            full = _deaf()
            origin = f"http://127.0.0.1:{full[0].getsockname()[1]}"
        kind = OpenAIModel if vendor == "openai" else AnthropicModel
        model = kind("custom", "served-model", api_key=KEY, base_url=origin, timeout=60.0)
        budget = Budget(task=Cap(tokens=1)) if state == "asking for more" else Budget()
        desk = Desk(model, budget=budget)
        if state == "asking for more":
            desk.call_budget._questions = Questions(desk.bus, parks=False)
        if state == "waiting to retry":
            desk.calls._sleep = asyncio.sleep
        if state != "importing":
            await model.warm()
        _plan(server, state)
        asking = asyncio.create_task(desk.calls.ask(REQUEST))
        began = time.monotonic()
        heard = desk.bus.subscribe()
        pieces: list[object] = []

        async def listen() -> None:
            async for envelope in heard:
                pieces.append(envelope.event)

        listening = asyncio.create_task(listen())
        states: dict[str, Ready] = {
            "importing": lambda: True,
            "connecting": lambda: time.monotonic() > began + 0.2,
            "no answer": lambda: bool(server.requests),
            "pings": lambda: bool(server.requests),
            "waiting to retry": lambda: bool(desk.events(e.ModelFailed)),
            "asking for more": lambda: bool(desk.events(e.QuestionAsked)),
        }
        said: Ready = lambda: any(isinstance(one, e.ModelDelta) for one in pieces)  # noqa: E731
        try:
            yield asking, states.get(state, said)
        finally:
            heard.close()
            await listening
            await model.aclose()
            for one in full or ():
                one.close()


def _plan(server: ModelServer, state: str) -> None:
    match state:
        case "no answer":
            server.plan(Fault(script=TEXT, then="stall"))
        case "half a reply":
            server.plan(Fault(script=TEXT, after=7, then="stall"))  # a word is told once it is over
        case "pings":
            server.plan(Fault(script=TEXT, then="send", junk=b": ping\n\n" * 2_000_000, piece=64))
        case "full speed":
            events = server.stream(TEXT, {})
            server.plan(Fault(events=(*events[:5], *events[4:5] * 200_000)))
        case "waiting to retry":
            server.plan(*[Fault(status=500)] * 9)
        case _:
            server.play(CALL)


def _deaf() -> list[socket.socket]:
    """A socket whose queue is full: whoever connects hears nothing."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = []
    for _ in range(4):
        one = socket.socket()
        one.setblocking(False)
        with suppress(BlockingIOError):
            one.connect(listener.getsockname())
        waiting.append(one)
    return [listener, *waiting]
