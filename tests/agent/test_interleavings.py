"""Tasks with agents, in whatever order things happen: the laws hold, money adds up, and a replay shows the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap
from alita_tui.agent.role import Roles, read_role
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import Interrupt, Steer, SubmitTask
from alita_tui.spine.ports.models import Delta, ModelRequest, Reply
from alita_tui.state.reduce import reduce, reduce_all
from alita_tui.state.session import SessionState
from alita_tui.view.fingerprint import fingerprint
from alita_tui.view.fold import fold, fold_all
from alita_tui.view.model import SessionView
from tests.agent.lab import Findings, Lab, Priced, say
from tests.agent.side_by_side import (
    Gate,
    at_work,
    begun,
    ended,
    hand,
    lead,
    nothing,
    part,
    report,
    sound,
    together,
    until,
)

KINDS = ("report", "search", "fail", "poor", "hand on")
"""What an agent does: reports, works first, gives nothing, spends its share, hands its part on."""
CALL_USD = 0.01
BOSS = 'purpose = "P"\nprompt = "You"\nactions = ["look", "find_tool", "delegate"]\n'


def agent(goal: str, kind: str) -> list[Rule]:
    looks = [say("find_tool", query=f"{goal} {n}") for n in range(9)]
    match kind:
        case "report":
            return [part(goal, report(goal))]
        case "search":
            return [part(goal, *looks[:2], report(goal))]
        case "poor":
            return [part(goal, *looks)]
        case "hand on":
            below = f"under {goal}"
            return [
                part(goal, say("delegate", role="boss", goal=below), report(goal)),
                part(below, report(below)),
            ]
        case _:
            return [nothing(goal)]


def team(name: str, kinds: list[str]) -> list[Rule]:
    """A task that hands on a part of each kind at the same time; without any it answers by itself."""
    goals = [f"{name} part {number}" for number in range(len(kinds))]
    orders = [hand("boss", goal, budget_usd=4 * CALL_USD) for goal in goals]
    answer = say("answer", text=f"{name} is done")
    first = (together(*orders),) if orders else ()
    rule = Rule(role="orchestrator", match=f"TASK: {name}", replies=(*first, answer, answer, answer))
    return [rule, *(one for goal, kind in zip(goals, kinds, strict=True) for one in agent(goal, kind))]


def accounts(lab: Lab) -> None:
    """To the cent: each agent's end says what its calls cost, and those of its agents; each call what its task did."""
    spent: dict[str, float] = {}
    by_task: dict[str, float] = {}
    below: dict[e.AgentId, e.AgentId] = {}
    for one in lab.bus.history:
        match one.event:
            case e.AgentStarted(agent_id=agent_id):
                below[agent_id] = one.delegate
            case e.BudgetSpent(cost_usd=usd, task_usd=told):
                by_task[one.task_id] = by_task.get(one.task_id, 0.0) + (usd or 0.0)
                assert told == pytest.approx(by_task[one.task_id]), one
                who = one.delegate
                while who:
                    spent[who] = spent.get(who, 0.0) + (usd or 0.0)
                    who = below[who]
            case _:
                pass
    for end in lab.events(e.AgentEnded):
        if end.reason != "The program ended while it worked.":
            assert end.usd == pytest.approx(spent.get(end.agent_id, 0.0)), end


def most_at_once(lab: Lab) -> int:
    """How many tasks were under way at the same time; a task that the next process goes on with counts once."""
    under_way: set[str] = set()
    most = 0
    for one in lab.bus.history:
        match one.event:
            case e.TaskSubmitted(task_id=task_id):
                under_way.add(task_id)
            case e.TaskFinished(task_id=task_id):
                under_way.discard(task_id)
            case _:
                pass
        most = max(most, len(under_way))
    return most


@settings(max_examples=8)
@example(  # the session closes while a task is being stopped whose second agent has just begun
    teams=[["report", "report"], []], parallel=2, waits=[0] * 8, act="stop a task", reopens=True
)
@given(
    teams=st.lists(st.lists(st.sampled_from(KINDS), max_size=3), min_size=2, max_size=3),
    parallel=st.integers(1, 3),
    waits=st.lists(st.integers(0, 6), min_size=8, max_size=8),
    act=st.sampled_from(["nothing", "stop an agent", "stop a task", "speak"]),
    reopens=st.booleans(),
)
def test_laws_accounts_and_replay_hold_however_tasks_and_agents_interleave(
    tmp_path_factory: pytest.TempPathFactory,
    teams: list[list[str]],
    parallel: int,
    waits: list[int],
    act: str,
    reopens: bool,
) -> None:
    asyncio.run(_interleaved(tmp_path_factory.mktemp("lab"), teams, parallel, waits, act, reopens))


@pytest.mark.walk
@settings(max_examples=150)
@given(
    teams=st.lists(st.lists(st.sampled_from(KINDS), max_size=3), min_size=2, max_size=5),
    parallel=st.integers(1, 3),
    waits=st.lists(st.integers(0, 9), min_size=12, max_size=12),
    act=st.sampled_from(["nothing", "stop an agent", "stop a task", "speak"]),
    reopens=st.booleans(),
)
def test_agents_keep_their_accounts_and_laws_in_any_interleaving(
    tmp_path_factory: pytest.TempPathFactory,
    teams: list[list[str]],
    parallel: int,
    waits: list[int],
    act: str,
    reopens: bool,
) -> None:
    asyncio.run(_interleaved(tmp_path_factory.mktemp("lab"), teams, parallel, waits, act, reopens))


async def _interleaved(
    folder: Path, teams: list[list[str]], parallel: int, waits: list[int], act: str, reopens: bool
) -> None:
    names = [f"task{number}" for number in range(len(teams))]
    rules = [rule for name, kinds in zip(names, teams, strict=True) for rule in team(name, kinds)]
    lab = Lab(folder, rules=rules, parallel=parallel)
    lab.roles = Roles({"boss": read_role(BOSS, "boss")})
    lab.reopen()
    turns = iter(waits * 100)
    through = Priced.reply
    acted = False

    async def reply(model: Priced, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        for _ in range(next(turns, 0)):
            await asyncio.sleep(0)
        async for piece in through(model, request):
            yield piece

    def going() -> bool:
        nonlocal acted
        agents = lab.events(e.AgentStarted)
        if agents and not acted:
            acted = True
            match act:
                case "stop an agent":
                    lab.engine.send(Interrupt(agent_id=agents[-1].agent_id))
                case "stop a task":
                    lab.engine.send(Interrupt())
                case "speak":
                    lab.engine.send(Steer(text="mind the weather", agent_id=agents[-1].agent_id))
                case _:
                    pass
        return len(ended(lab)) == len(names)

    patch = pytest.MonkeyPatch()
    patch.setattr(Priced, "reply", reply)
    try:
        half: Callable[[], object] = (lambda: going() or ended(lab)) if reopens else going
        async with at_work(lab):
            for name in names:
                lab.engine.send(SubmitTask(text=f"/team {name}"))
            await until(lambda: len(lab.events(e.TaskQueued)) + len(begun(lab)) >= len(names) and half())
        if reopens:
            lab.reopen()
            async with at_work(lab):
                await until(going)
    finally:
        patch.undo()
    assert begun(lab) == [f"/team {name}" for name in names], "each begins once, in its turn"
    assert most_at_once(lab) <= parallel, "no more tasks at once than the setting says"
    assert set(ended(lab).values()) <= ({"answered", "interrupted"} if act == "stop a task" else {"answered"})
    sound(lab)
    accounts(lab)


async def test_live_view_and_replay_agree_while_three_agents_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every event, and at the moment at which all three are at work."""
    gate = Gate(monkeypatch, "north", "south", "west")
    orders = together(*(hand("researcher", goal) for goal in ("north", "south", "west")))
    lab = Lab(
        tmp_path,
        rules=[
            lead(orders, say("answer", text="compared")), part("north", say("search_web", query="n"), report("cold")),
            nothing("south"), part("west", report("mild")),
        ],
    )  # fmt: skip
    lab.web, lab.budget = Findings(), Budget(task=Cap(usd=3.0))
    lab.reopen()
    going = asyncio.create_task(lab.do(SubmitTask(text="/team compare")))
    await until(lambda: gate.at >= {"north", "south", "west"})
    working = [one for one in reduce_all(lab.bus.history).agents if not one.outcome]
    assert len(working) == 3
    await gate.open()
    assert (await going).outcome == "answered"
    view, state = SessionView(), SessionState()
    history = list(lab.bus.history)
    for number, envelope in enumerate(history, 1):
        view, state = fold(view, envelope), reduce(state, envelope)
        assert state == reduce_all(history[:number])
        assert fingerprint(view) == fingerprint(fold_all(history[:number]))
    sound(lab)
    accounts(lab)
