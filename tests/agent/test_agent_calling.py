"""Calls through the router onto the stream: failing over, a dead provider, thousands of bad days."""

from __future__ import annotations

import asyncio
import random
import statistics
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from servers.lab import CALL, open_lab
from servers.openai_server import OpenAIServer
from servers.wire import Fault
from simulation import PlayedModel, Tape, VirtualTime, fault

from alita_tui.agent.calling import Budget, ModelCalls
from alita_tui.llm.router import Router
from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import ModelError, ModelErrorKind
from alita_tui.spine.laws import check
from alita_tui.spine.ports import Candidate, Message, Model, ModelRequest, Reply
from alita_tui.view.fold import fold_all

REQUEST = ModelRequest(role="orchestrator", system="s", messages=(Message(role="user", text="go"),))


class Desk:
    """One session's calls over played models."""

    def __init__(self, *models: Model, budget: Budget | None = None, jitter: float = 0.5) -> None:
        self.time = VirtualTime()
        self.bus = Bus("s", Tape(), lambda: datetime(2026, 11, 21, tzinfo=UTC))
        self.ids = 0
        self.router = Router(
            {"orchestrator": [Candidate(model=model) for model in models]}, self.time, lambda: jitter
        )
        self.calls = ModelCalls(self.bus, self.router, budget or Budget(), self.new_id, sleep=self.time.sleep)

    def new_id(self) -> str:
        self.ids += 1
        return f"id{self.ids}"

    def events(self, kind: type) -> list:
        return [envelope.event for envelope in self.bus.history if isinstance(envelope.event, kind)]


def steady() -> ModelError | None:
    return None


async def test_failing_over_keeps_the_conversation_and_is_told() -> None:
    down = PlayedModel("p:a", lambda: fault("connection"))
    desk = Desk(down, PlayedModel("p:b", steady))
    reply = await desk.calls.ask(REQUEST)
    assert reply.model == "p:b"
    (moved,) = desk.events(e.ProviderFailedOver)
    assert (moved.role, moved.previous, moved.model) == ("orchestrator", "p:a", "p:b")
    assert moved.reason == "a: it is connection"
    (failed,) = desk.events(e.ModelFailed)
    assert failed.retry_in == 0.0
    await desk.calls.ask(REQUEST)
    down._plan = steady
    desk.time.now = 30
    await desk.calls.ask(REQUEST)
    assert [one.model for one in desk.events(e.ProviderFailedOver)] == ["p:b", "p:a", "p:b", "p:a"]
    (now,) = [one for one in fold_all(desk.bus.history).providers if one.serves]
    assert (now.model, now.state) == ("p:a", "closed")


async def test_a_stream_that_broke_leaves_no_half_of_a_call() -> None:
    plan = iter([fault("truncated"), None])
    desk = Desk(PlayedModel("p:a", lambda: next(plan)))
    reader = desk.bus.subscribe()
    reply = await desk.calls.ask(REQUEST)
    assert [request.arguments for request in reply.requests] == [{"query": "half a"}]
    desk.bus.close()
    view = fold_all([envelope async for envelope in reader])
    assert (view.live.text, view.live.arguments) == ("", "")
    assert len(desk.events(e.ModelReplied)) == 1


@pytest.mark.parametrize("kind", ["connection", "server", "overloaded", "truncated"])
async def test_a_provider_that_is_dead_for_a_minute_is_asked_three_times_at_most(
    kind: ModelErrorKind,
) -> None:
    dead = PlayedModel("p:a", lambda: fault(kind) if desk.time.now < 60 else None)
    desk = Desk(dead, PlayedModel("p:b", steady), jitter=0.999)
    added = []
    while desk.time.now < 60:
        before = desk.time.slept
        await desk.calls.ask(REQUEST)
        added.append(desk.time.slept - before)
        desk.time.now += 1.0
    assert dead.attempts <= 3
    assert statistics.median(added) <= 0.2
    assert max(added) <= 1.5
    desk.time.now = 200
    assert (await desk.calls.ask(REQUEST)).model == "p:a"


async def test_a_dead_server_is_left_alone_and_found_again_over_the_wire() -> None:
    with OpenAIServer() as dead, OpenAIServer() as well:
        labs = [open_lab("openai", server) for server in (dead, well)]
        labs[1].model._at = replace(labs[1].model._at, model="other")
        desk = Desk(*(lab.model for lab in labs), jitter=0.999)
        dead.plan(*[Fault(status=503)] * 3, Fault(script=CALL))
        well.plan(*[Fault(script=CALL)] * 70)
        served = []
        while desk.time.now < 62:
            served.append((await desk.calls.ask(REQUEST)).model)
            desk.time.now += 1.0
        for lab in labs:
            await lab.model.aclose()
    assert len(dead.requests) == 4
    assert served.count("openai:served-model") == 1 and desk.time.slept == 0


async def test_an_exhausted_quota_is_seen_once() -> None:
    broke = PlayedModel("p:a", lambda: fault("payment"))
    desk = Desk(broke, PlayedModel("p:b", steady))
    for _ in range(5):
        desk.time.now += 1000
        await desk.calls.ask(REQUEST)
    assert broke.attempts == 1
    (change,) = desk.events(e.ProviderChanged)
    assert (change.model, change.state, change.reason) == ("p:a", "disabled", "a: it is payment")


async def test_cancelling_a_probe_leaves_the_way_free() -> None:
    plan = iter([fault("connection"), fault("connection"), None, None])
    model = PlayedModel("p:a", lambda: next(plan))
    desk = Desk(model, PlayedModel("p:b", steady))
    await desk.calls.ask(REQUEST)
    await desk.calls.ask(REQUEST)
    desk.time.now = 30
    probing = asyncio.create_task(desk.calls.ask(REQUEST))
    while model.attempts < 3:
        await asyncio.sleep(0)
    probing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probing
    assert (await desk.calls.ask(REQUEST)).model == "p:a"


# --- ten thousand bad days ----------------------------------------------------------------

KINDS: list[ModelErrorKind] = [
    "auth", "payment", "not_found", "rate_limit", "overloaded", "server", "timeout", "connection",
    "truncated", "malformed", "context", "refused", "bad_request",
]  # fmt: skip


def bad_day(dice: random.Random) -> list[PlayedModel]:
    """One to three models, each failing in its own way and as often as it likes."""

    def plan(share: float, kinds: list[ModelErrorKind]) -> ModelError | None:
        if dice.random() >= share:
            return None
        wait = dice.choice([None, None, 0.0, 3.0, 45.0, 4000.0])
        return fault(dice.choice(kinds), wait)

    models = []
    for place in range(dice.randint(1, 3)):
        share, kinds = dice.random(), dice.sample(KINDS, dice.randint(1, 5))
        models.append(PlayedModel(f"p:{place}", lambda share=share, kinds=kinds: plan(share, kinds)))  # type: ignore[misc]
    return models


async def live_through(seed: int) -> Counter[str]:
    dice = random.Random(seed)
    models = bad_day(dice)
    desk = Desk(*models)
    ends: Counter[str] = Counter()
    replies: list[Reply] = []

    async def ask() -> None:
        attempts, slept = sum(model.attempts for model in models), desk.time.slept
        try:
            replies.append(await desk.calls.ask(REQUEST))
            ends["answer"] += 1
        except ModelError as error:
            assert error.message
            ends["stop"] += 1
        if not side_by_side:
            assert sum(model.attempts for model in models) - attempts <= 3 * len(models)
            assert desk.time.slept - slept <= 60.0

    for _ in range(dice.randint(1, 4)):
        side_by_side = dice.random() < 0.3
        await asyncio.gather(*(ask() for _ in range(dice.randint(2, 3) if side_by_side else 1)))
        desk.time.now += dice.choice([0.0, 1.0, 25.0, 100.0])

    history = desk.bus.history
    assert check(history) == []
    ended = Counter(
        envelope.event.call_id
        for envelope in history
        if isinstance(envelope.event, e.ModelReplied | e.ModelFailed)
    )
    assert all(count == 1 for count in ended.values())
    assert len(ended) == sum(model.attempts for model in models)
    assert len(desk.events(e.ModelReplied)) == len(desk.events(e.BudgetSpent)) == len(replies)
    assert all(request.arguments == {"query": "half a"} for reply in replies for request in reply.requests)
    return ends


async def test_ten_thousand_schedules_of_faults_end_in_an_answer_or_a_clear_stop() -> None:
    ends: Counter[str] = Counter()
    for seed in range(10_000):
        ends += await live_through(seed)
    assert ends["answer"] > 5000 and ends["stop"] > 1000
