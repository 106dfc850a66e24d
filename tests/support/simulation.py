"""Time that passes only when someone waits, and models that fail by plan: for routing and budgets."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from types import UnionType
from typing import Any

from alita_tui.agent.budget import Budget
from alita_tui.agent.call_budget import CallBudget
from alita_tui.agent.calling import ModelCalls
from alita_tui.agent.questions import Questions
from alita_tui.events import ModelErrorKind, ToolRequest, Usage
from alita_tui.llm.router import Router
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import (
    Ability,
    Candidate,
    DayBook,
    Delta,
    Message,
    Model,
    ModelRequest,
    Reply,
)


class VirtualTime:
    """A clock and the sleep that moves it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        self.slept += seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)


class PlayedModel:
    """Meets `Model`: asks its plan what each call comes to. No sockets, no threads."""

    def __init__(
        self,
        name: str,
        plan: Callable[[], ModelError | None],
        *,
        usd: float | None = 0.01,
        usage: Callable[[ModelRequest], Usage] = lambda _: Usage(input_tokens=100, output_tokens=20),
        takes: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0),
    ) -> None:
        """`usd` is the price of a thousand tokens; `takes` is waited for before a call comes to anything."""
        self._name = name
        self._plan = plan
        self._usd = usd
        self._usage = usage
        self._takes = takes
        self.attempts = 0
        self.hurried: list[bool] = []
        self.spent = Usage()
        """What a provider would bill: whole replies only."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def abilities(self) -> frozenset[Ability]:
        return frozenset({"tools"})

    @property
    def recorded(self) -> bool:
        return False

    def price(self, usage: Usage) -> float | None:
        return None if self._usd is None else (usage.input_tokens + usage.output_tokens) * self._usd / 1000

    async def window(self) -> int:
        return 0

    async def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.attempts += 1
        self.hurried.append(request.hurry)
        await self._takes()
        error = self._plan()
        if error is not None and error.kind != "truncated":
            raise error
        yield Delta(channel="text", text="half")
        yield Delta(channel="arguments", text='{"query": "ha')
        if error is not None:
            raise error
        await asyncio.sleep(0)
        usage = self._usage(request)
        self.spent = Usage(
            input_tokens=self.spent.input_tokens + usage.input_tokens,
            output_tokens=self.spent.output_tokens + usage.output_tokens,
        )
        call = ToolRequest(call_id=f"c{self.attempts}", name="find_tool", arguments={"query": "half a"})
        yield Reply(model=self._name, text="half a", requests=(call,), stop="tool_use", usage=usage)


class Tape:
    """Meets `Recorder` in memory."""

    def __init__(self) -> None:
        self.kept: list[Envelope] = []

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        self.kept.append(envelope)


def fault(kind: ModelErrorKind, retry_after: float | None = None) -> ModelError:
    return ModelError(kind, f"a: it is {kind}", hint="mend it", retry_after=retry_after)


REQUEST = ModelRequest(role="orchestrator", system="s", messages=(Message(role="user", text="go"),))


class Desk:
    """One session's calls over played models."""

    def __init__(
        self,
        *models: Model,
        budget: Budget | None = None,
        jitter: float = 0.5,
        history: list[Envelope] | None = None,
        ids: int = 0,
        book: DayBook | None = None,
    ) -> None:
        self.time = VirtualTime()
        self.bus = Bus("s", Tape(), lambda: datetime(2026, 11, 21, tzinfo=UTC), history=history or ())
        self.ids = ids
        self.router = Router(
            {"orchestrator": [Candidate(model=model) for model in models]}, self.time, lambda: jitter
        )
        self.questions = Questions(self.bus, parks=True)
        self.call_budget = CallBudget(self.bus, budget or Budget(), self.questions, self.new_id, book=book)
        self.calls = ModelCalls(self.bus, self.router, self.call_budget, self.new_id, sleep=self.time.sleep)

    def new_id(self) -> str:
        self.ids += 1
        return f"id{self.ids}"

    def events(self, kind: type | UnionType) -> list[Any]:
        return [envelope.event for envelope in self.bus.history if isinstance(envelope.event, kind)]


def steady() -> ModelError | None:
    return None


async def dead_minute(kind: ModelErrorKind, seed: int) -> tuple[int, list[float], bool]:
    """A first model that is dead for a minute, and a second one that is well, asked about once a second.

    How often the dead one was asked, the seconds that it added to each call (its attempts, of up to 0.3
    seconds unless nothing takes the connection, and waits), and whether it serves again later.
    """
    dice = random.Random(seed)

    def slow() -> float:
        if kind != "timeout" or desk.time.now >= 60:
            return dice.uniform(0.0, 0.3)
        return 1.2 if dead.hurried[-1] else 10.0  # as `llm.remote` waits for a connection

    dead = PlayedModel(
        "p:a",
        lambda: fault(kind) if desk.time.now < 60 else None,
        takes=lambda: desk.time.sleep(slow()),
    )
    desk = Desk(dead, PlayedModel("p:b", steady))
    desk.router.jitter = dice.random
    added = []
    while desk.time.now < 60:
        before = desk.time.slept
        await desk.calls.ask(REQUEST)
        added.append(desk.time.slept - before)
        desk.time.now += dice.uniform(0.2, 1.8)
    attempts = dead.attempts
    desk.time.now += 160  # the longest wait that three failures lead to
    return attempts, added, (await desk.calls.ask(REQUEST)).model == "p:a"
