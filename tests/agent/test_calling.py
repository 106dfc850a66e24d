"""Calls through the router onto the stream: failing over, a dead provider, thousands of bad days."""

from __future__ import annotations

import asyncio
import random
import statistics
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap
from alita_tui.agent.calling import ModelCalls
from alita_tui.agent.tokens import worst
from alita_tui.events import ModelErrorKind, Usage
from alita_tui.llm.cache import ReplyStore
from alita_tui.llm.prices import price
from alita_tui.spine.errors import BudgetExceeded, ModelError
from alita_tui.spine.laws import check
from alita_tui.spine.origin import in_task, working_on
from alita_tui.spine.ports.models import DayBook, Delta, Message, ModelRequest, Reply
from alita_tui.store.documents import DocumentTable
from alita_tui.store.spend import SpendBook
from alita_tui.view.fold import fold_all
from tests.support.servers.lab import CALL, open_lab
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault
from tests.support.simulation import REQUEST, Desk, PlayedModel, dead_minute, fault, steady


async def test_failover_keeps_the_conversation_and_is_reported() -> None:
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


async def test_a_broken_stream_leaves_no_half_of_a_call() -> None:
    plan = iter([fault("truncated"), None])
    desk = Desk(PlayedModel("p:a", lambda: next(plan)))
    reader = desk.bus.subscribe()
    reply = await desk.calls.ask(REQUEST)
    assert [request.arguments for request in reply.requests] == [{"query": "half a"}]
    desk.bus.close()
    view = fold_all([envelope async for envelope in reader])
    assert (view.live.text, view.live.arguments) == ("", "")
    assert len(desk.events(e.ModelReplied)) == 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "kind", ["connection", "server", "overloaded", "truncated", "rate_limit", "malformed", "timeout"]
)
async def test_a_provider_that_is_dead_for_a_minute_is_asked_three_times_at_most(
    kind: ModelErrorKind, seed: int
) -> None:
    attempts, added, back = await dead_minute(kind, seed)
    assert attempts <= 3
    assert statistics.median(added) <= 0.2
    assert 0 < max(added) <= 1.5
    assert back


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


async def test_a_call_waits_less_if_another_model_could_be_asked() -> None:
    first, second = PlayedModel("p:a", lambda: fault("connection")), PlayedModel("p:b", steady)
    desk = Desk(first, second)
    for _ in range(3):
        await desk.calls.ask(REQUEST)
        desk.time.now += 1.0
    assert first.hurried == [True, True]  # from then on it is left alone
    assert second.hurried == [False, False, False]  # the first one was just asked, then it pauses
    alone = PlayedModel("p:a", steady)
    await Desk(alone).calls.ask(REQUEST)
    assert alone.hurried == [False]


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

    def usage(request: ModelRequest) -> Usage:
        most = worst(request)
        return Usage(
            input_tokens=dice.randint(0, most.input_tokens), output_tokens=dice.randint(1, most.output_tokens)
        )

    models = []
    for place in range(dice.randint(1, 3)):
        share, kinds = dice.random(), dice.sample(KINDS, dice.randint(1, 5))
        models.append(
            PlayedModel(
                f"p:{place}",
                partial(plan, share, kinds),
                usd=dice.choice([None, 0.002, 0.01]),
                usage=usage,
            )
        )
    return models


class Life:
    """One seed: tasks with calls alone and side by side, pauses, processes that die in the middle."""

    def __init__(
        self, seed: int, book: Callable[[], DayBook | None] = lambda: None, day: Cap | None = None
    ) -> None:
        self.dice = dice = random.Random(seed)
        self.models = bad_day(dice)
        self.book = book
        self.budget = Budget(
            task=Cap(usd=dice.choice([None, 0.05]), tokens=dice.choice([None, 18_000])),
            session=Cap(usd=dice.choice([None, 0.1, 0.3]), tokens=dice.choice([None, 20_000, 60_000])),
            day=day or Cap(),
        )
        self.desk = Desk(*self.models, budget=self.budget, book=book())
        self.ends: Counter[str] = Counter()

    @property
    def billed(self) -> tuple[float, int]:
        """Money and tokens that the providers have on their bills."""
        money = sum(model.price(model.spent) or 0.0 for model in self.models)
        return money, sum(model.spent.input_tokens + model.spent.output_tokens for model in self.models)

    async def ask(self, *, alone: bool = False) -> None:
        attempts, slept = sum(model.attempts for model in self.models), self.desk.time.slept
        try:
            reply = await self.desk.calls.ask(REQUEST)
            assert [request.arguments for request in reply.requests] == [{"query": "half a"}]
            self.ends["answer"] += 1
        except (ModelError, BudgetExceeded) as error:
            assert error.message and error.hint
            self.ends["budget" if isinstance(error, BudgetExceeded) else "stop"] += 1
        if alone:
            assert sum(model.attempts for model in self.models) - attempts <= 3 * len(self.models)
            assert self.desk.time.slept - slept <= 60.0

    async def die(self) -> None:
        """The process ends at some await of a call; another one goes on with what is on disk."""
        asking = asyncio.create_task(self.ask())
        for _ in range(self.dice.randint(0, 12)):
            await asyncio.sleep(0)
        kept = list(self.desk.bus.history)
        asking.cancel()
        await asyncio.wait((asking,))
        self.desk = Desk(
            *self.models, budget=self.budget, history=kept, ids=self.desk.ids + 100, book=self.book()
        )

    async def live(self) -> None:
        for number in range(self.dice.randint(1, 3)):
            await self.desk.bus.emit(e.TaskSubmitted(task_id=e.TaskId(f"t{number}"), text="go"))
            before = self.billed
            for what in self.dice.choices("aaasd", k=self.dice.choice([1, 1, 2])):
                match what:
                    case "a":
                        await self.ask(alone=True)
                    case "s":
                        await asyncio.gather(*(self.ask() for _ in range(self.dice.randint(2, 3))))
                    case "d":
                        await self.die()
                    case other:
                        raise AssertionError(other)
                self.desk.time.now += self.dice.choice([0.0, 1.0, 25.0, 100.0])
            within(self.budget.task, self.billed[0] - before[0], self.billed[1] - before[1])

    def check(self) -> None:
        """Every event once and in its place; never more billed than the caps allow."""
        assert check(self.desk.bus.history) == []
        reserved, ended, paid = (
            Counter(one.call_id for one in self.desk.events(kind))
            for kind in (e.BudgetReserved, e.ModelReplied | e.ModelFailed, e.BudgetSpent)
        )
        assert set(ended) <= set(reserved) and set(paid) <= set(reserved)
        assert all(count == 1 for counts in (reserved, ended, paid) for count in counts.values())
        within(self.budget.session, *self.billed)


def within(cap: Cap, usd: float, tokens: int) -> None:
    assert cap.tokens is None or tokens <= cap.tokens
    assert cap.usd is None or usd <= cap.usd + 1e-9


async def test_ten_thousand_schedules_of_faults_end_in_an_answer_or_a_clear_stop() -> None:
    ends: Counter[str] = Counter()
    for seed in range(10_000):
        life = Life(seed)
        await life.live()
        life.check()
        ends += life.ends
    assert min(ends["answer"], ends["stop"], ends["budget"]) > 1000


async def test_the_days_cap_holds_over_the_sessions_and_processes_that_share_it(tmp_path: Path) -> None:
    ends: Counter[str] = Counter()
    for seed in range(100):
        opened: list[SpendBook] = []

        def book(session: str) -> SpendBook:
            opened.append(SpendBook(tmp_path / f"{seed}.json", session, lambda: date(2026, 11, 21)))  # noqa: B023
            return opened[-1]  # noqa: B023

        day = Cap(usd=(None, 0.2)[seed % 2], tokens=(30_000, None, 50_000)[seed % 3])
        lives = [Life(seed + n, partial(book, f"s{n}"), day) for n in (0, 50_000)]
        await asyncio.gather(*(life.live() for life in lives))
        for life in lives:
            life.check()
            ends += life.ends
        within(day, *(sum(parts) for parts in zip(*(life.billed for life in lives), strict=True)))
        for one in opened:
            one.close()
    assert min(ends["answer"], ends["budget"]) > 60


async def test_a_model_that_costs_more_than_estimated_exceeds_a_cap_by_one_call_only() -> None:
    greedy = PlayedModel(
        "p:a",
        steady,
        usage=lambda request: Usage(input_tokens=3 * worst(request).input_tokens, output_tokens=9),
    )
    big = ModelRequest(
        role="orchestrator", system="s", messages=(Message(role="user", text="word " * 4000),), max_tokens=100
    )
    one_call = 3 * worst(big).input_tokens
    for cap, calls in ((10_000, 1), (40_000, 2)):  # the second reservation has learned from the first
        desk, before = Desk(greedy, budget=Budget(session=Cap(tokens=cap))), greedy.spent.input_tokens
        with pytest.raises(BudgetExceeded):
            for _ in range(99):
                await desk.calls.ask(big)
        assert greedy.spent.input_tokens - before == calls * one_call <= cap + one_call


@pytest.mark.parametrize("unit", ["usd", "tokens"])
@pytest.mark.parametrize("scope", ["task", "session", "day"])
async def test_each_threshold_of_a_cap_is_announced_once(tmp_path: Path, scope: str, unit: str) -> None:
    takes = iter([3000, 1000, 1000])  # a thousand tokens cost a cent
    used = PlayedModel("p:a", steady, usage=lambda _: Usage(output_tokens=next(takes)))
    request = msgspec.structs.replace(REQUEST, max_tokens=500)
    cap = Cap(usd=0.05) if unit == "usd" else Cap(tokens=5000)
    book = SpendBook(tmp_path / "spend.json", "s", lambda: date(2026, 11, 21))
    desk = Desk(used, budget=msgspec.structs.replace(Budget(), **{scope: cap}), book=book)
    await desk.bus.emit(e.TaskSubmitted(task_id=e.TaskId("t"), text="go"))
    with pytest.raises(BudgetExceeded):
        for _ in range(99):
            await desk.calls.ask(request)
    book.close()
    told = [(notice.level, notice.text) for notice in desk.events(e.NoticeRaised)]
    amounts = (
        ("$0.03", "$0.04", "$0.05") if unit == "usd" else ("3,000 tokens", "4,000 tokens", "5,000 tokens")
    )
    assert told == [
        (level, f"{share} % of what the {scope} may cost is spent: {now} of {amounts[-1]}.")
        for level, share, now in zip(("info", "warning", "warning"), (50, 80, 100), amounts, strict=True)
    ]


async def test_nothing_is_announced_below_half_of_a_cap() -> None:
    desk = Desk(PlayedModel("p:a", steady), budget=Budget(session=Cap(tokens=9000), task=Cap(usd=1000.0)))
    with pytest.raises(BudgetExceeded):
        for _ in range(99):
            await desk.calls.ask(REQUEST)
    assert desk.events(e.NoticeRaised) == []  # the estimate is far above what is used


async def test_a_call_without_a_price_is_reported_and_counts_in_tokens() -> None:
    desk = Desk(PlayedModel("p:a", steady, usd=None), budget=Budget(task=Cap(usd=0.0001)))
    await desk.calls.ask(REQUEST)
    await desk.calls.ask(REQUEST)
    assert [notice.text for notice in desk.events(e.NoticeRaised)] == [
        "No price is known for p:a: its calls count in tokens, not in money."
    ]
    assert [spent.cost_usd for spent in desk.events(e.BudgetSpent)] == [None, None]
    assert fold_all(desk.bus.history).spend.unpriced_calls == 2


async def test_a_cancelled_call_is_charged_what_it_may_have_cost() -> None:
    gate = asyncio.Event()

    class Slow(PlayedModel):
        async def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            yield Delta(channel="text", text="a word or two")
            await gate.wait()

    desk = Desk(Slow("p:a", steady))
    asking = asyncio.create_task(desk.calls.ask(REQUEST))
    while not desk.calls.unfinished:
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    (spent,) = desk.events(e.BudgetSpent)
    assert spent.estimated and worst(REQUEST).input_tokens < spent.tokens < worst(REQUEST).input_tokens + 20


async def test_an_identical_request_of_another_session_is_not_repeated(tmp_path: Path) -> None:
    model = PlayedModel("p:a", steady)
    asked = []
    for session in range(3):
        desk = Desk(model)
        store = ReplyStore(lambda: DocumentTable(tmp_path / "replies.json", "replies"))
        calls = ModelCalls(
            desk.bus, desk.router, desk.call_budget, desk.new_id, cache=store, cached=frozenset({"toolsmith"})
        )
        mine = msgspec.structs.replace(REQUEST, role="toolsmith")
        other = msgspec.structs.replace(mine, system=f"session {session}")
        for request in (mine, other, REQUEST):
            assert (await calls.ask(request)).requests
        asked.append(model.attempts)
        assert check(desk.bus.history) == []
        replied, spent = desk.events(e.ModelReplied), desk.events(e.BudgetSpent)
        assert [one.cached for one in replied] == [session > 0, False, False]
        assert [one.saved_usd > 0 for one in spent] == [session > 0, False, False]
        assert (spent[0].cost_usd == 0) is (session > 0)
        await calls.ask(mine)  # asked again in one session, it is asked anew
        assert not desk.events(e.ModelReplied)[-1].cached
    assert asked == [3, 6, 9]


async def test_each_task_has_its_own_budget() -> None:
    desk = Desk(PlayedModel("p:a", steady), budget=Budget(task=Cap(tokens=8400)))
    for number in range(3):
        with working_on(in_task(e.TaskId(f"t{number}"))):
            await desk.bus.emit(e.TaskSubmitted(task_id=e.TaskId(f"t{number}"), text="go"))
            await desk.calls.ask(REQUEST)
            with pytest.raises(BudgetExceeded):
                for _ in range(9):
                    await desk.calls.ask(REQUEST)


class Sonnet(PlayedModel):
    """Priced as the table has it: what is written to the cache costs a quarter more."""

    def price(self, usage: Usage) -> float | None:
        return price("anthropic", "claude-sonnet-4-5", usage)


async def test_a_reservation_covers_a_prompt_that_is_written_to_the_cache_as_a_whole() -> None:
    long = ModelRequest(role="orchestrator", system="word " * 5000, messages=REQUEST.messages, max_tokens=10)

    def written(request: ModelRequest) -> Usage:
        tokens = worst(request).input_tokens
        return Usage(input_tokens=tokens, output_tokens=10, cache_write_tokens=tokens)

    desk = Desk(Sonnet("p:a", steady, usage=written))
    await desk.calls.ask(long)
    (reserved,), (spent,) = desk.events(e.BudgetReserved), desk.events(e.BudgetSpent)
    plain = price("anthropic", "claude-sonnet-4-5", Usage(input_tokens=spent.tokens - 10, output_tokens=10))
    assert plain is not None and spent.cost_usd == pytest.approx(1.25 * plain, rel=0.01)
    assert reserved.usd >= spent.cost_usd


async def test_usage_that_the_provider_does_not_report_is_estimated_from_the_texts() -> None:
    silent = PlayedModel(
        "p:a", steady, usage=lambda _: Usage(input_tokens=1, output_tokens=1, reported=False)
    )
    desk = Desk(silent)
    await desk.calls.ask(REQUEST)
    (spent,) = desk.events(e.BudgetSpent)
    assert spent.estimated and spent.tokens > worst(REQUEST).input_tokens
