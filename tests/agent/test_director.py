"""Whether one agent does a task or several: the plan decides, or the person; and the decision is on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.agent.checklist import checklist
from alita_tui.agent.director import branches
from alita_tui.spine.commands import Command, Steer, SubmitTask
from tests.agent.lab import Lab, say
from tests.agent.replies import rules
from tests.benchmarks.bench_agent import team_seconds

DONE = say("answer", text="done")
SPLIT = say("plan", steps=["|| north", "|| south", "compare"])


def lab(folder: Path, *replies: Any, **more: Any) -> Lab:
    return Lab(folder, rules=rules(*replies), **more)


def may_delegate(one: Lab) -> list[bool]:
    return ["delegate" in {spec.name for spec in request.tools} for request in one.requests]


async def test_two_independent_steps_make_the_agent_a_director(tmp_path: Path) -> None:
    one = lab(tmp_path, SPLIT, say("find_tool", query="x"), DONE)
    await one.do(SubmitTask(text="compare"))
    (chosen,) = one.events(e.DirectorChosen)
    assert (chosen.directs, chosen.because, chosen.branches) == (True, "plan", ("north", "south"))
    assert chosen.alone_tokens > 0 and chosen.tokens > chosen.alone_tokens
    assert chosen.usd is not None and chosen.usd > 0  # by what the task's calls cost so far
    assert may_delegate(one) == [False, True, True]
    assert "researcher: " in one.requests[1].system and "researcher: " not in one.requests[0].system
    assert "- north" in one.requests[1].messages[-1].text


@pytest.mark.parametrize(
    "steps", [["north", "south"], ["|| north", "south"], ["[x] || north", "|| south", "compare"]]
)
async def test_one_agent_works_alone_without_two_independent_steps(tmp_path: Path, steps: list[str]) -> None:
    one = lab(tmp_path, say("plan", steps=steps), say("delegate", role="writer", goal="x"), DONE)
    await one.do(SubmitTask(text="compare"))
    (chosen,) = one.events(e.DirectorChosen)
    assert (chosen.directs, chosen.because, chosen.tokens) == (False, "single", 0)
    assert not any(may_delegate(one)) and not one.events(e.AgentStarted)
    assert "You cannot 'delegate'" in one.events(e.ActionMalformed)[0].problem


async def test_a_later_plan_may_make_the_agent_a_director(tmp_path: Path) -> None:
    one = lab(tmp_path, say("plan", steps=["look", "do"]), SPLIT, DONE)
    await one.do(SubmitTask(text="compare"))
    assert [chosen.directs for chosen in one.events(e.DirectorChosen)] == [False, True]
    assert may_delegate(one) == [False, False, True]


async def test_steps_stay_independent_when_the_plan_is_ticked(tmp_path: Path) -> None:
    first = checklist(e.TaskId("t"), ["|| north", "|| south", "compare"], None)
    later = checklist(e.TaskId("t"), ["[x] north", "[>] south", "compare"], first)
    assert (first.steps, first.apart) == (("north", "south", "compare"), (1, 2))
    assert later.apart == (1, 2) and branches(later) == ("south",)


async def test_the_person_can_ask_for_several_agents_at_the_start_or_later(tmp_path: Path) -> None:
    one = lab(tmp_path / "a", DONE)
    await one.do(SubmitTask(text="/team compare"))
    assert [(c.directs, c.because) for c in one.events(e.DirectorChosen)] == [(True, "person")]
    assert may_delegate(one) == [True] and "/team" not in one.requests[0].messages[0].text
    two = lab(tmp_path / "b", say("find_tool", query="x"), say("find_tool", query="y"), DONE)

    def when(event: e.SessionEvent) -> Command | None:
        return Steer(text="/team") if isinstance(event, e.ToolSearched) and event.query == "x" else None

    await two.do(SubmitTask(text="compare"), when=when)
    assert may_delegate(two)[0] is False and may_delegate(two)[-1] is True
    assert not two.events(e.Steered)  # nothing else was said


@pytest.mark.parametrize(("setting", "directs"), [("never", False), ("always", True)])
async def test_the_setting_has_the_last_word(tmp_path: Path, setting: str, directs: bool) -> None:
    one = lab(tmp_path, SPLIT, DONE, director=setting)
    await one.do(SubmitTask(text="/team compare" if not directs else "compare"))
    assert may_delegate(one) == [directs, directs]
    assert [c.because for c in one.events(e.DirectorChosen)] == (["setting"] if directs else [])
    said = [notice.text for notice in one.events(e.NoticeRaised) if "agents.director" in notice.text]
    assert len(said) == (0 if directs else 1), "who asks for several agents hears why there is one"


async def test_a_request_for_several_agents_without_a_task_asks_no_model(tmp_path: Path) -> None:
    one = lab(tmp_path, DONE)
    await one.play(SubmitTask(text=" /team "))
    assert not one.requests and not one.events(e.TaskSubmitted)
    assert "/team TASK" in one.events(e.NoticeRaised)[0].hint


async def test_a_resumed_session_keeps_the_decision(tmp_path: Path) -> None:
    one = lab(tmp_path, SPLIT, say("ask_user", question="which?"), DONE, parks=True)
    await one.do(SubmitTask(text="compare"))
    one.given = "both"
    one.reopen()
    assert (await one.do()).outcome == "answered"
    assert may_delegate(one)[-1] is True and len(one.events(e.DirectorChosen)) == 1


async def test_without_a_price_the_estimate_says_no_money(tmp_path: Path) -> None:
    one = lab(tmp_path, SPLIT, DONE)
    one.price = None
    one._build()
    await one.do(SubmitTask(text="compare"))
    assert one.events(e.DirectorChosen)[0].usd is None


@pytest.mark.slow
async def test_three_parts_take_at_most_seven_tenths_of_the_time_of_one_after_another(tmp_path: Path) -> None:
    """Each reply of the model takes 0.2 s: 17 of them in a row, or 7."""
    folders = tmp_path / "in turn", tmp_path / "at once"
    for folder in folders:
        folder.mkdir()
    in_turn = await team_seconds(folders[0], 1)
    assert await team_seconds(folders[1], 3) <= 0.7 * in_turn
