"""👍 and 👎 on a build: it moves how far the tool is relied on, is seen, and is taken back whole."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events import RunReport
from alita_tui.spine.commands import Command, GiveFeedback
from alita_tui.spine.laws import check
from alita_tui.view.feedback import feedback_title
from tests.agent.lab import Lab, conversation
from tests.agent.replies import BUILD, DONE, RUN, TASK, approve, rules, verdict

EIGHT = RunReport(status="ok", exit_code=0, result=8)


async def built(folder: Path, *said: GiveFeedback, row: type = e.ToolRegistered) -> Lab:
    """Build `double_it`, and say these things of the build, on a row of it, once the task has ended."""
    one, left = Lab(folder, rules=rules(BUILD, RUN, DONE)), list(said)
    one.sandbox.runs = [EIGHT]

    def when(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.TaskFinished | e.FeedbackGiven) and left:
            joined = next(env.seq for env in one.bus.history if isinstance(env.event, row))
            return msgspec.structs.replace(left.pop(0), seq=joined or 0)
        return approve(event)

    await one.do(TASK, when=when)
    return one


def relied_on(one: Lab) -> float:
    return one.shelf.reliability(e.ToolName("double_it"), 1).value


@pytest.mark.parametrize(("rating", "mark", "way"), [("up", "👍", 1), ("down", "👎", -1)])
async def test_rating_a_build_changes_trust_and_undoing_it_restores_trust(
    tmp_path: Path, rating: e.Rating, mark: str, way: int
) -> None:
    before = relied_on(await built(tmp_path / "none"))
    word = GiveFeedback(rating=rating, text="of a kind", expected="4 for 2" if rating == "down" else "")
    rated = await built(tmp_path / "rated", word)
    assert (relied_on(rated) - before) * way > 0.01
    (given,) = rated.events(e.FeedbackGiven)
    assert given.build_id and not given.call_id and feedback_title(given).startswith(f"{mark} this build is")
    assert any("that build" in turn.message.text for turn in conversation(rated.bus.history)), (
        "the agent is told"
    )
    assert f"one {mark}" in rated.shelf.reliability(e.ToolName("double_it"), 1).words
    assert check(rated.bus.history) == []
    back = await built(tmp_path / "back", word, GiveFeedback(rating="up", undo=True))
    assert relied_on(back) == before, "taken back, it is as if nothing had been said"
    assert mark not in back.shelf.reliability(e.ToolName("double_it"), 1).words
    assert check(back.bus.history) == []


async def test_any_row_of_a_build_can_be_rated_but_a_failed_build_cannot(
    tmp_path: Path,
) -> None:
    one = await built(tmp_path / "a", GiveFeedback(rating="up"), row=e.BuildStarted)
    assert [given.build_id for given in one.events(e.FeedbackGiven)] == [
        one.events(e.BuildStarted)[0].build_id
    ]
    refused = Lab(tmp_path / "b", rules=rules(BUILD, DONE))

    def when(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.TaskFinished):
            asked = next(env.seq for env in refused.bus.history if isinstance(env.event, e.ApprovalRequested))
            return GiveFeedback(rating="down", seq=asked or 0)
        return verdict(event, "rejected", reason="no")

    await refused.do(TASK, when=when)
    assert not refused.events(e.FeedbackGiven)
    assert "No tool came of that build." in [one.text for one in refused.events(e.NoticeRaised)]


async def test_rating_a_build_does_not_rate_the_answer(tmp_path: Path) -> None:
    one = await built(tmp_path, GiveFeedback(rating="down"))
    ran = next(
        out
        for out in one.shelf.track("double_it", 1).outcomes
        if out.run.endswith("/c1") or out.grade != "down"
    )
    assert ran.grade in ("ran", "accepted")


async def test_only_builds_that_were_made_can_be_rated(tmp_path: Path) -> None:
    one = await built(tmp_path, GiveFeedback(rating="up"))
    last = one.bus.history[-1]
    task = one.events(e.TaskSubmitted)[0].task_id
    wrong = msgspec.structs.replace(
        last, seq=(last.seq or 0) + 1, event=e.FeedbackGiven(task_id=task, rating="up", build_id="none")
    )
    assert {breach.law for breach in check([*one.bus.history, wrong])} == {"rate what happened"}
