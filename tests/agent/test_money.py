"""What a cap in money holds against: unknown prices, servers that pass over their limit, counts that cannot be."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.agent.budget import Amount, Breach, Budget, Cap, Ledger, at_least
from alita_tui.agent.questions import Questions
from alita_tui.events import Usage
from alita_tui.llm.factory import ModelSpec, open_model
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope
from alita_tui.spine.errors import BudgetExceeded, ModelError
from alita_tui.spine.ports.models import Message, ModelRequest
from tests.agent.lab import Lab
from tests.agent.replies import DONE as ANSWER
from tests.agent.replies import TASK, rules
from tests.support.servers.lab import CALL, open_lab
from tests.support.servers.openai_server import DONE, HEAD, OpenAIServer, chunk, data
from tests.support.servers.vendors import LlamaServer, VllmServer
from tests.support.servers.wire import Fault
from tests.support.simulation import REQUEST, Desk, PlayedModel, steady
from tests.support.streams import START


def wordy(tokens: int) -> ModelRequest:
    return ModelRequest(
        role="orchestrator", system="s", messages=(Message(role="user", text="go"),), max_tokens=tokens
    )


@pytest.mark.parametrize(
    ("needed", "spent", "limit", "said"),
    [
        (0.1312, 0.0, 0.13, "could take $0.14; $0.00 of $0.13 "),
        (0.128, 0.0021, 0.13, "could take $0.13; $0.01 of $0.13 "),
        (0.13, 0.5, 0.6, "could take $0.13; $0.50 of $0.60 "),
        (0.29, 0.01, 0.2996, "could take $0.29; $0.01 of $0.29 "),
    ],
)
def test_rounding_never_makes_a_refused_call_look_affordable(
    needed: float, spent: float, limit: float, said: str
) -> None:
    assert said in str(Breach("session", "usd", needed, spent, limit))


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0.1312, "usd", "$0.14"),
        (0.13, "usd", "$0.13"),
        (0.07 * 3, "usd", "$0.21"),
        (1200.5, "tokens", "1,201 tokens"),
    ],
)
def test_the_stated_minimum_is_enough(value: float, unit: e.BudgetUnit, said: str) -> None:
    """`The next call needs at least $0.13 in all.`: whoever then allowed 0.13 was asked again."""
    assert at_least(value, unit) == said


# --- prices that are not known ------------------------------------------------------------


async def test_calls_without_a_known_price_are_not_free_under_a_cap_in_money() -> None:
    unknown = PlayedModel(
        "p:new", steady, usd=None, usage=lambda _: Usage(input_tokens=900, output_tokens=100)
    )
    desk = Desk(unknown, budget=Budget(task=Cap(usd=0.1)))
    desk.call_budget._unknown_usd = 10.0
    with pytest.raises(BudgetExceeded):
        for _ in range(99):
            await desk.calls.ask(REQUEST)
    assert 1 <= unknown.attempts <= 10  # a thousand tokens are taken to cost a cent
    spent = desk.events(e.BudgetSpent)[-1]
    assert spent.cost_usd is None and spent.assumed_usd == pytest.approx(0.01)
    assert (
        spent.total_usd == pytest.approx(0.01 * unknown.attempts) and spent.unpriced_calls == unknown.attempts
    )
    (told,) = desk.events(e.NoticeRaised)[:1]
    assert "p:new" in told.text and "$10" in told.text


async def test_without_a_cap_in_money_nothing_is_assumed() -> None:
    desk = Desk(PlayedModel("p:new", steady, usd=None), budget=Budget(task=Cap(tokens=100_000)))
    desk.call_budget._unknown_usd = 10.0
    await desk.calls.ask(REQUEST)
    assert desk.events(e.BudgetSpent)[0].assumed_usd == 0 and not desk.events(e.NoticeRaised)


def test_a_local_server_costs_nothing() -> None:
    own = open_model(ModelSpec(provider="ollama", model="m"))
    other = open_model(ModelSpec(provider="custom", model="m", base_url="http://10.0.0.9/v1"))
    some = Usage(input_tokens=1000, output_tokens=1000)
    assert (own.price(some), other.price(some)) == (0.0, None)


# --- servers that pass over max_tokens ----------------------------------------------------


@pytest.mark.parametrize("size", [1, 400])
async def test_a_server_that_passes_over_the_limit_is_cut_off(size: int) -> None:
    piece = "word " * size
    with OpenAIServer() as server:
        endless = Fault(events=(*[chunk({"content": piece})] * (100_000 // size), chunk({}, "stop"), DONE))
        server.plan(*[endless] * 9)
        lab = open_lab("openai", server)
        desk = Desk(lab.model)
        with pytest.raises(ModelError) as caught:
            await desk.calls.ask(wordy(500))
        assert size > 1 or await server.client_left()
        await lab.model.aclose()
    assert caught.value.kind == "malformed" and "500" in caught.value.message
    for reserved, spent in zip(desk.events(e.BudgetReserved), desk.events(e.BudgetSpent), strict=True):
        # By the piece it is told at once; in large pieces by what any vocabulary takes at least.
        assert spent.tokens <= (reserved.tokens + 64 if size == 1 else 1.6 * reserved.tokens + size)
    assert len(server.requests) == 2  # once more, then no other model is there


@pytest.mark.parametrize(
    "text",
    ["The quick brown fox jumps over the lazy dog. ", "def run(x: int) -> int:\n    return x + 1\n", "Мы пишем агента. ",
     "हम एजेंट लिख रहे हैं। ", "我们正在编写智能体。"],
)  # fmt: skip
async def test_an_honest_reply_up_to_its_limit_is_not_cut(text: str) -> None:
    pieces = [text[start : start + 4] for start in range(0, len(text), 4)] * 40
    with OpenAIServer() as server:
        server.plan(Fault(events=(*(chunk({"content": one}) for one in pieces), chunk({}, "stop"), DONE)))
        lab = open_lab("openai", server)
        reply = await Desk(lab.model).calls.ask(wordy(len(pieces)))
        await lab.model.aclose()
    assert reply.text == (text * 40).strip() or reply.text == text * 40


# --- counts that cannot be ----------------------------------------------------------------

ODD = [-5, 10**12, 10**30, 1.5, "12", True, [], {}, float("nan")]


@pytest.mark.parametrize("count", ODD, ids=repr)
@pytest.mark.parametrize("field", ["prompt_tokens", "completion_tokens"])
async def test_impossible_token_counts_are_ignored_with_a_notice(field: str, count: Any) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, field: count}
    with OpenAIServer() as server:
        last = data({**HEAD, "choices": [], "usage": usage}).replace(b"NaN", b"1e999")
        server.plan(*[Fault(events=(chunk({"content": "Yes."}), chunk({}, "stop"), last, DONE))] * 3)
        lab = open_lab("openai", server)
        desk = Desk(lab.model, budget=Budget(session=Cap(usd=1.0, tokens=100_000)))
        reply = await desk.calls.ask(REQUEST)
        await desk.calls.ask(REQUEST)
        await lab.model.aclose()
    assert reply.text == "Yes." and not reply.usage.reported
    assert 0 < desk.events(e.BudgetSpent)[-1].total_tokens < 10_000
    noticed = [one for one in desk.events(e.NoticeRaised) if "cannot be" in one.text]
    assert len(noticed) == 1  # once for a model


# --- waiting for the person ---------------------------------------------------------------


async def asked(desk: Desk, count: int = 1) -> list[e.QuestionAsked]:
    while len(found := desk.events(e.QuestionAsked)) < count:
        await asyncio.sleep(0.001)
    return found


def with_person(desk: Desk) -> Questions:
    desk.call_budget._questions = Questions(desk.bus, parks=False)
    return desk.call_budget._questions


async def test_waiting_for_the_person_does_not_delay_calls_within_the_caps() -> None:
    desk = Desk(PlayedModel("p:a", steady), budget=Budget(task=Cap(tokens=9_000)))
    person = with_person(desk)
    large = asyncio.create_task(desk.calls.ask(wordy(20_000)))
    (question,) = await asked(desk)
    async with asyncio.timeout(180):
        for _ in range(3):
            await desk.calls.ask(wordy(100))
    assert not large.done()
    person.answer(question.question_id, "100000")
    assert (await large).text == "half a"


class Priced(PlayedModel):
    """Counts the calls that were begun: each is priced before anything is set aside for it."""

    begun = 0

    def price(self, usage: Usage) -> float | None:
        self.begun += 1
        return super().price(usage)


async def test_one_answer_covers_all_calls_that_began_before_it() -> None:
    model = Priced("p:a", steady)
    desk = Desk(model, budget=Budget(task=Cap(tokens=1_000)))
    person = with_person(desk)
    calls = [asyncio.create_task(desk.calls.ask(wordy(5_000))) for _ in range(4)]
    (question,) = await asked(desk)
    while model.begun < 2 * len(calls):
        await asyncio.sleep(0.001)
    person.answer(question.question_id, "stop")
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(one, BudgetExceeded) for one in ended)
    assert len(desk.events(e.QuestionAsked)) == 1
    later = asyncio.create_task(desk.calls.ask(wordy(5_000)))
    _, again = await asked(desk, 2)  # a later call may ask again
    person.answer(again.question_id, "1000000")
    await later


async def test_a_cancelled_question_blocks_nobody() -> None:
    desk = Desk(PlayedModel("p:a", steady), budget=Budget(task=Cap(tokens=1_000)))
    person = with_person(desk)
    first = asyncio.create_task(desk.calls.ask(wordy(5_000)))
    await asked(desk)
    second = asyncio.create_task(desk.calls.ask(wordy(5_000)))
    await asyncio.sleep(0)
    first.cancel()
    _, question = await asked(desk, 2)
    person.answer(question.question_id, "100000")
    assert (await second).text == "half a"


# --- windows ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "kind"), [("vllm", VllmServer), ("llama.cpp", LlamaServer), ("custom", VllmServer)]
)
async def test_an_8k_model_works_out_of_the_box(provider: str, kind: Any) -> None:
    from alita_tui.agent.actions import specs

    prompt = (Path(__file__).parents[2] / "alita_tui/agent/prompts/orchestrator.md").read_text()
    request = ModelRequest(
        role="orchestrator", system=prompt, messages=(Message(role="user", text="TASK: go"),), tools=specs(),
        must_call="*", max_tokens=8192,
    )  # fmt: skip
    with kind() as server:
        server.play(CALL)
        model = open_model(ModelSpec(provider=provider, model="served-model", base_url=server.base_url))
        desk = Desk(model)
        for _ in range(2):
            reply = await desk.calls.ask(request)
            assert [call.name for call in reply.requests] == ["find_tool"]
        posted = [one.body for one in server.requests if one.method == "POST"]
        assert 1024 <= posted[-1]["max_tokens"] < 8192
        assert len(posted) == (2 if provider != "custom" else 3)  # an unknown server says it by its refusal
        server.window = 3000
        other = open_model(ModelSpec(provider=provider, model="served-model", base_url=server.base_url))
        small = Desk(other)
        with pytest.raises(ModelError) as caught:
            await small.calls.ask(request)
        assert caught.value.kind == "context" and caught.value.hint
        assert provider == "custom" or ("16384" in caught.value.hint and "larger window" in caught.value.hint)
        for one in (model, other):
            await one.aclose()


# --- odd replies --------------------------------------------------------------------------


async def test_a_call_that_is_not_valid_is_asked_for_again_then_the_next_model_is_asked() -> None:
    bad = Fault(events=(chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "find_tool", "arguments": '{"query": nope}'}}]}), chunk({}, "tool_calls"), DONE))  # fmt: skip
    with OpenAIServer() as first, OpenAIServer() as second:
        first.plan(*[bad] * 5)
        second.play(CALL)
        models = [
            open_model(ModelSpec(provider="groq", model=name, base_url=server.base_url, api_key="k"))
            for name, server in (("one", first), ("two", second))
        ]
        desk = Desk(*models)
        reply = await desk.calls.ask(REQUEST)
        assert reply.model == "groq:two" and len(first.requests) == 2
        alone = Desk(models[0])
        (call,) = (await alone.calls.ask(REQUEST)).requests
        assert call.problem  # nobody else can be asked: the loop tells the model what is wrong
        for model in models:
            await model.aclose()


@pytest.mark.parametrize("kind", ["refused", "bad_request", "context", "payment", "not_found"])
async def test_a_request_that_one_vendor_refuses_goes_to_the_next_candidate(kind: Any) -> None:
    from tests.support.simulation import fault

    desk = Desk(PlayedModel("p:a", lambda: fault(kind)), PlayedModel("p:b", steady))
    assert (await desk.calls.ask(REQUEST)).model == "p:b"


async def test_a_failed_task_says_how_long_to_wait(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(ANSWER))
    limited = PlayedModel(
        "p:a", lambda: ModelError("rate_limit", "p:a: too many", hint="Wait.", retry_after=900)
    )
    lab.engine._asker._router = Desk(limited).router  # type: ignore[attr-defined]
    ended = await lab.do(TASK)
    assert ended.outcome == "failed"
    assert ended.retry_in is not None and 890 < ended.retry_in <= 900 and ended.hint
    assert "in 900 s" in ended.reason


def test_tasks_side_by_side_have_a_budget_each_and_share_the_session_s() -> None:
    ledger = Ledger(Budget(task=Cap(usd=1.0), session=Cap(usd=1.5)))
    seq = itertools.count(1)

    def note(event: e.SessionEvent, task_id: e.TaskId) -> None:
        ledger.read(
            Envelope(
                seq=next(seq),
                session_id="s",
                at=START,
                task_id=task_id,
                schema_version=SCHEMA_VERSION,
                event=event,
            )
        )

    def call(number: int, usd: float) -> tuple[e.BudgetReserved, e.BudgetSpent]:
        reserved = e.BudgetReserved(call_id=f"c{number}", role="orchestrator", model="m", usd=usd, tokens=1)
        return reserved, e.BudgetSpent(call_id=f"c{number}", cost_usd=usd, role="orchestrator", tokens=1)

    (first, first_paid), (second, _) = call(1, 0.6), call(2, 0.5)
    note(e.TaskSubmitted(task_id=e.TaskId("a"), text="a"), e.TaskId("a"))
    note(e.TaskSubmitted(task_id=e.TaskId("b"), text="b"), e.TaskId("b"))
    note(first, e.TaskId("a"))
    note(second, e.TaskId("b"))
    # Reserved, not settled: 0.6 of a, 0.5 of b, 1.1 of the session.
    assert (
        ledger.breach(0.3, 1, Amount(), e.TaskId("a")) is None
        and ledger.breach(0.4, 1, Amount(), e.TaskId("b")) is None
    )
    task, session = (
        ledger.breach(0.5, 1, Amount(), e.TaskId("a")),
        ledger.breach(0.45, 1, Amount(), e.TaskId("b")),
    )
    assert task and session and (task.scope, session.scope) == ("task", "session")
    note(first_paid, e.TaskId("b"))  # settled by whoever: it was a's call
    assert (ledger.task(e.TaskId("a")).usd, ledger.task(e.TaskId("b")).usd) == (0.6, 0.0)
    note(e.BudgetRaised(scope="task", unit="usd", limit=5.0), e.TaskId("a"))
    assert (ledger.limit("task", "usd", e.TaskId("a")), ledger.limit("task", "usd", e.TaskId("b"))) == (
        5.0,
        1.0,
    )
