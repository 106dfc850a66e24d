"""Tasks of one session side by side: each with its own conversation, steps, budget, questions and results."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import (
    AnswerQuestion,
    CancelTask,
    Interrupt,
    PutOff,
    ResolveApproval,
    Steer,
    SubmitTask,
    SwitchQueue,
)
from alita_tui.spine.laws import check
from alita_tui.spine.ports.models import Delta, ModelRequest, Reply
from alita_tui.state.reduce import reduce_all
from tests.agent.lab import Lab, Priced, draft, say
from tests.agent.side_by_side import at_work, begun, doing, ended, sound, until
from tests.agent.tool_lab import EIGHT, RUN
from tests.agent.tool_lab import lab as with_a_tool

NAMES = ("alpha", "beta", "gamma", "delta")


def looking(task: str) -> Rule:
    """A task of two steps: a look, then the answer."""
    return doing(task, say("find_tool", query=f"{task} finder"), say("answer", text=f"{task} is done"))


class Door:
    """Lets a task's model answer once the test says so; what is not named passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *closed: str) -> None:
        self.closed = set(closed)
        self.at: set[str] = set()
        """Tasks whose model was asked and does not answer yet."""
        self._moved = asyncio.Event()
        through = Priced.reply

        async def reply(model: Priced, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            name = task_in(request)
            self.at.add(name)
            while name in self.closed:
                await self._moved.wait()
            self.at.discard(name)
            async for piece in through(model, request):
                yield piece

        monkeypatch.setattr(Priced, "reply", reply)

    def open(self, *names: str) -> None:
        self.closed -= set(names)
        self._moved.set()
        self._moved = asyncio.Event()


def task_in(request: ModelRequest) -> str:
    told = [one.text for one in request.messages if one.role == "user" and one.text.startswith("TASK")]
    return told[-1].partition(": ")[2].split()[0] if told else ""


def id_of(lab: Lab, text: str) -> e.TaskId:
    found: list[e.TaskSubmitted] = lab.events(e.TaskSubmitted)
    return next(one.task_id for one in found if one.text == text)


def submit(lab: Lab, *names: str) -> None:
    for name in names:
        lab.engine.send(SubmitTask(text=name))


async def test_tasks_run_up_to_the_limit_and_the_others_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door(monkeypatch, *NAMES)
    lab = Lab(tmp_path, rules=[looking(name) for name in NAMES], parallel=2)
    async with at_work(lab):
        submit(lab, *NAMES)
        await until(lambda: door.at == {"alpha", "beta"} and len(lab.events(e.TaskQueued)) == 2)
        assert begun(lab) == ["alpha", "beta"]
        assert reduce_all(lab.bus.history).running == (id_of(lab, "alpha"), id_of(lab, "beta"))
        door.open("beta")
        await until(lambda: "gamma" in door.at)
        assert begun(lab) == ["alpha", "beta", "gamma"] and ended(lab) == {"beta": "answered"}
        door.open(*NAMES)
        await until(lambda: len(ended(lab)) == 4)
    assert [one.text for one in lab.events(e.TaskQueued)] == ["gamma", "delta"]
    assert {one.answer for one in lab.events(e.TaskFinished)} == {f"{name} is done" for name in NAMES}
    sound(lab)


async def test_each_task_has_its_own_conversation_steps_and_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door(monkeypatch, "alpha", "beta")
    lab = Lab(tmp_path, rules=[looking(name) for name in NAMES], parallel=2)
    async with at_work(lab):
        submit(lab, "alpha", "beta")
        await until(lambda: door.at == {"alpha", "beta"})
        door.open("alpha", "beta")
        await until(lambda: len(ended(lab)) == 2)
        submit(lab, "gamma")
        await until(lambda: len(ended(lab)) == 3)
    for request in lab.requests:
        name = task_in(request)
        shown = "\n".join(message.text for message in request.messages)
        called = [str(call.arguments) for message in request.messages for call in message.requests]
        assert all(name in arguments for arguments in called), "another task's calls are not shown"
        if name != "gamma":
            other = "beta" if name == "alpha" else "alpha"
            assert f"{other} is done" not in shown and f"TASK: {other}" not in shown
        else:
            assert "alpha is done" in shown and "beta is done" in shown, "what ended before is told"
    for name in ("alpha", "beta"):
        mine = [one for one in lab.bus.history if one.task_id == id_of(lab, name)]
        steps = [one.step for one in mine if isinstance(one.event, e.ActionChosen)]
        assert steps == [1, 2]
    sound(lab)


@pytest.mark.parametrize("parallel", [1, 2])
async def test_a_task_that_waits_for_an_answer_frees_its_slot_unless_tasks_run_one_by_one(
    tmp_path: Path, parallel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door(monkeypatch, "gamma", "delta")
    asks = doing("alpha", say("ask_user", question="Which?"), say("answer", text="alpha is done"))
    lab = Lab(tmp_path, rules=[asks, *map(looking, NAMES[1:])], parallel=parallel)
    async with at_work(lab):
        submit(lab, "alpha", "beta", "gamma", "delta")
        await until(lambda: lab.events(e.QuestionAsked) and len(lab.events(e.TaskQueued)) >= 2)
        if parallel == 1:
            for _ in range(200):
                await asyncio.sleep(0)
            assert begun(lab) == ["alpha"]
        else:
            await until(lambda: door.at == {"gamma", "delta"})
        lab.engine.send(AnswerQuestion(lab.events(e.QuestionAsked)[0].question_id, "this one"))
        if parallel == 2:
            await until(lambda: lab.events(e.QuestionAnswered))
            for _ in range(200):
                await asyncio.sleep(0)
            assert "alpha" not in ended(lab), "both places are taken"
        door.open("gamma")
        await until(lambda: ended(lab).get("alpha"))
        door.open("delta")
        await until(lambda: len(ended(lab)) == 4)
    assert set(ended(lab).values()) == {"answered"}
    sound(lab)


async def test_two_tasks_ask_and_each_gets_its_own_answer(tmp_path: Path) -> None:
    rules = [
        doing(name, say("ask_user", question=f"Which {name}?"), say("answer", text=f"{name} is done"))
        for name in ("alpha", "beta")
    ]
    lab = Lab(tmp_path, rules=rules, parallel=2)
    async with at_work(lab):
        submit(lab, "alpha", "beta")
        await until(lambda: len(lab.events(e.QuestionAsked)) == 2)
        state = reduce_all(lab.bus.history)
        assert state.asked and state.asked.text == "Which alpha?", "the one that waits longest is shown"
        for asked in reversed(lab.events(e.QuestionAsked)):
            lab.engine.send(AnswerQuestion(asked.question_id, f"about {asked.text}"))
        await until(lambda: len(ended(lab)) == 2)
    told = {task_in(one): one.messages[-1].text for one in lab.requests}
    assert told["alpha"] == "The person answered: about Which alpha?"
    assert told["beta"] == "The person answered: about Which beta?"
    sound(lab)


async def test_steering_and_stopping_reach_the_task_they_name_and_else_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door(monkeypatch, *NAMES)
    lab = Lab(tmp_path, rules=[looking(name) for name in NAMES], parallel=3)
    async with at_work(lab):
        submit(lab, "alpha", "beta", "gamma")
        await until(lambda: len(door.at) == 3)
        lab.engine.send(Steer("to the newest"))
        lab.engine.send(Steer("to the first", task_id=id_of(lab, "alpha")))
        lab.engine.send(Steer("to nobody", task_id=e.TaskId("x")))
        lab.engine.send(CancelTask(task_id=id_of(lab, "beta")))
        await until(lambda: ended(lab).get("beta"))
        lab.engine.send(Interrupt())
        await until(lambda: ended(lab).get("gamma"))
        assert "alpha" not in ended(lab)
        door.open("alpha")
        await until(lambda: ended(lab).get("alpha"))
    steered = {one.event.text: one.task_id for one in lab.bus.history if isinstance(one.event, e.Steered)}
    assert steered == {"to the newest": id_of(lab, "gamma"), "to the first": id_of(lab, "alpha")}
    assert ended(lab) == {"beta": "interrupted", "gamma": "interrupted", "alpha": "answered"}
    assert "does not run" in lab.events(e.NoticeRaised)[-1].text
    sound(lab)


def building(task: str, tool: str) -> list[Rule]:
    return [
        doing(task, say("build_tool", name=tool, goal=f"Do {task}."), say("answer", text=f"{task} is done")),
        Rule(role="toolsmith", match=tool, replies=(draft(tool, task),)),
    ]


async def test_a_third_task_continues_while_two_builds_wait_for_verdicts(tmp_path: Path) -> None:
    rules = [*building("alpha", "tool_a"), *building("beta", "tool_b"), looking("gamma")]
    lab = Lab(tmp_path, rules=rules, parallel=2)
    async with at_work(lab):
        submit(lab, "alpha", "beta", "gamma")
        await until(lambda: len(lab.events(e.ApprovalRequested)) == 2 and ended(lab).get("gamma"))
        state = reduce_all(lab.bus.history)
        assert set(state.running) == {id_of(lab, "alpha"), id_of(lab, "beta")}
        asked = {one.name: one for one in lab.events(e.ApprovalRequested)}
        yes, no = e.Verdict(decision="approved"), e.Verdict(decision="rejected", reason="no")
        for name, verdict in (("tool_b", no), ("tool_a", yes)):
            lab.engine.send(ResolveApproval(asked[name].approval_id, asked[name].digest, verdict))
        await until(lambda: len(ended(lab)) == 3)
    assert ended(lab) == {"gamma": "answered", "alpha": "answered", "beta": "rejected"}
    sound(lab)


async def test_a_build_is_postponed_for_the_task_that_waits_for_it(tmp_path: Path) -> None:
    rules = [*building("alpha", "tool_a"), *building("beta", "tool_b")]
    lab = Lab(tmp_path, rules=rules, parallel=2)
    async with at_work(lab):
        submit(lab, "alpha", "beta")
        await until(lambda: len(lab.events(e.ApprovalRequested)) == 2)
        first = next(one for one in lab.events(e.ApprovalRequested) if one.name == "tool_a")
        lab.engine.send(PutOff(first.approval_id))
        await until(lambda: ended(lab).get("alpha"))
        assert ended(lab) == {"alpha": "answered"}, "the other one waits on"
        lab.engine.send(Interrupt())
        await until(lambda: ended(lab).get("beta"))
    assert check(lab.bus.history) == []


async def test_the_next_process_continues_every_running_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = doing("beta", say("ask_user", question="Which?"), say("answer", text="beta is done"))
    door = Door(monkeypatch, "alpha")
    lab = Lab(tmp_path, rules=[looking("alpha"), asks, looking("gamma"), looking("delta")], parallel=2)
    async with at_work(lab):
        submit(lab, "alpha", "beta")
        await until(lambda: door.at == {"alpha"} and lab.events(e.QuestionAsked))
        lab.engine.send(SwitchQueue(paused=True))
        submit(lab, "gamma", "delta")
        await until(lambda: len(lab.events(e.TaskQueued)) == 2)
    assert ended(lab) == {}
    lab.reopen()
    before = reduce_all(lab.bus.history)
    assert before.running == (id_of(lab, "alpha"), id_of(lab, "beta"))
    async with at_work(lab):
        await until(lambda: door.at == {"alpha"})
        lab.engine.send(AnswerQuestion(lab.events(e.QuestionAsked)[0].question_id, "this one"))
        await until(lambda: ended(lab).get("beta"))
        door.open("alpha")
        lab.engine.send(SwitchQueue(paused=False))
        await until(lambda: len(ended(lab)) == 4)
    assert set(ended(lab).values()) == {"answered"}
    assert Counter(begun(lab)) == Counter(NAMES), "none began twice"
    sound(lab)


async def test_the_next_process_learns_from_every_task_that_ended_just_before_the_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a task taught is written after its end, when the next one may have begun."""
    made = with_a_tool(tmp_path, RUN, say("answer", text="It is 8."), parallel=2)
    made.sandbox.runs = [EIGHT] * 3
    with monkeypatch.context() as killed:
        killed.setattr("tests.agent.lab.lessons", lambda *_: ())  # the process ends before
        async with at_work(made):
            for name in ("one", "two", "three"):
                submit(made, f"double four for {name}")
                await until(lambda: len(ended(made)) == len(begun(made)) > 0)
    assert made.events(e.MemoryWritten) == []
    for _ in range(2):  # and once: the process after that finds all of it on record
        made.reopen()
        await made.play()
        written = [one.item for one in made.events(e.MemoryWritten)]
        kept = [one.item_id for one in written if one.memory == "episodic"]
        assert len(kept) == len({*kept}) == 3
        assert [one.worked for one in made.memory.remembered() if one.sort == "recipe"] == [3]


async def test_a_tasks_cap_binds_it_alone_and_a_shared_cap_counts_what_is_reserved(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=[looking(name) for name in NAMES], parallel=2)
    lab.budget = Budget(task=Cap(usd=0.025), session=Cap(usd=0.10))
    lab.reopen()
    await lab.play(*(SubmitTask(text=name) for name in NAMES))
    assert set(ended(lab).values()) == {"answered"}, "two calls of a cent each fit into every task's cap"
    spent: list[e.BudgetSpent] = lab.events(e.BudgetSpent)
    assert len(spent) == 8 and spent[-1].total_usd == pytest.approx(0.08)
    assert max(one.task_usd for one in spent) == pytest.approx(0.02), "a task is charged for its own calls"
    reserved = 0.0
    for one in lab.bus.history:
        match one.event:
            case e.BudgetReserved(usd=usd):
                reserved += usd or 0.0
            case e.BudgetSpent(cost_usd=usd):
                reserved -= usd or 0.0
            case _:
                pass
    assert reserved == pytest.approx(0.0)
    sound(lab)


async def test_a_label_refers_to_a_run_of_the_same_task(tmp_path: Path) -> None:
    """Two tasks label a run `out`; what refers to it gets the result of its own task."""
    lab = Lab(tmp_path, rules=[], parallel=2)
    run = Rule(role="orchestrator", match="unused", replies=())
    rules = [run]
    for name, number in (("alpha", 3), ("beta", 5)):
        rules.append(
            doing(
                name,
                say("run_tool", name="double_it", arguments={"x": number}, label="out"),
                say("run_tool", name="double_it", arguments={"x": {"$ref": "out"}}, label="then"),
                say("answer", text=f"{name} is done"),
            )
        )
    first = Rule(
        role="orchestrator",
        match="TASK: build",
        replies=(say("build_tool", name="double_it", goal="Double."), say("answer", text="built")),
    )
    lab.rules += [first, Rule(role="toolsmith", match="double_it", replies=(draft(),)), *rules]
    lab.reopen()

    def approve(event: e.SessionEvent) -> ResolveApproval | None:
        if isinstance(event, e.ApprovalRequested):
            return ResolveApproval(event.approval_id, event.digest, e.Verdict(decision="approved"))
        return None

    await lab.do(SubmitTask(text="build"), when=approve)
    lab.sandbox.runs = [lambda job: e.RunReport(status="ok", exit_code=0, result=2 * job.arguments["x"])] * 4
    await lab.play(SubmitTask(text="alpha"), SubmitTask(text="beta"))
    asked = {(job.arguments["x"]) for job in lab.sandbox.jobs if job.kind == "run"}
    assert asked == {3, 6, 5, 10}
    sound(lab)


KINDS = ("answer", "ask", "look", "fail")


def behaving(name: str, kind: str) -> Rule:
    replies = {
        "answer": (say("answer", text=f"{name} is done"),) * 3,
        "ask": (say("ask_user", question=f"Which {name}?"), *(say("answer", text=f"{name} is done"),) * 3),
        "look": (say("find_tool", query=name), say("plan", steps=["a", name]), *(say("answer", text=f"{name} is done"),) * 3),
        "fail": (say("nonsense"),) * 4,
    }  # fmt: skip
    return doing(name, *replies[kind])


@settings(max_examples=12)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=3, max_size=5),
    parallel=st.integers(1, 3),
    waits=st.lists(st.integers(0, 5), min_size=8, max_size=8),
    stops=st.booleans(),
    reopens=st.booleans(),
)
def test_laws_and_replay_hold_however_tasks_interleave(
    tmp_path_factory: pytest.TempPathFactory,
    kinds: list[str],
    parallel: int,
    waits: list[int],
    stops: bool,
    reopens: bool,
) -> None:
    async def live() -> None:
        names = [f"task{number}" for number in range(len(kinds))]
        rules = [behaving(name, kind) for name, kind in zip(names, kinds, strict=True)]
        lab = Lab(tmp_path_factory.mktemp("lab"), rules=rules, parallel=parallel)
        turns = iter(waits * 50)
        through = Priced.reply

        async def reply(model: Priced, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            for _ in range(next(turns, 0)):
                await asyncio.sleep(0)
            async for piece in through(model, request):
                yield piece

        def answered() -> bool:
            done = {one.question_id for one in lab.events(e.QuestionAnswered)}
            open_ones = [one for one in lab.events(e.QuestionAsked) if one.question_id not in done]
            for one in open_ones:
                lab.engine.send(AnswerQuestion(one.question_id, "yes"))
            return len(ended(lab)) == len(names)

        patch = pytest.MonkeyPatch()
        patch.setattr(Priced, "reply", reply)
        try:
            half: Callable[[], object] = (lambda: answered() or len(ended(lab)) >= 1) if reopens else answered
            async with at_work(lab):
                submit(lab, *names)
                if stops:
                    await until(lambda: lab.events(e.TaskSubmitted))
                    lab.engine.send(Interrupt())
                await until(lambda: len(lab.events(e.TaskQueued)) + len(begun(lab)) >= len(names) and half())
            if reopens:
                lab.reopen()
                async with at_work(lab):
                    await until(answered)
        finally:
            patch.undo()
        assert Counter(begun(lab)) == Counter(names), "each begins once"
        assert begun(lab) == names, "in their order"
        expected = {"fail": "failed"}
        for name, kind in zip(names, kinds, strict=True):
            assert ended(lab)[name] in (expected.get(kind, "answered"), "interrupted")
        sound(lab)

    asyncio.run(live())
