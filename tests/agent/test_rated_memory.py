"""👍 and 👎 move what memory learned from the rated task, visibly, and taken back it is as before."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.console.memory.rows import item_row
from alita_tui.events import MemoryItem
from alita_tui.memory.recall import Recollection
from alita_tui.spine.commands import Command, GiveFeedback
from alita_tui.spine.ports.memory import Remembered
from alita_tui.store.documents import DocumentTable
from tests.agent.lab import Lab, say
from tests.agent.replies import BUILD, DONE, TASK, approve, rules
from tests.agent.replies import RUN as RUN_BUILT
from tests.agent.tool_lab import EIGHT, RUN, lab
from tests.agent.tool_lab import TASK as DOUBLE

DOWN, UP, UNDO = GiveFeedback(rating="down"), GiveFeedback(rating="up"), GiveFeedback(rating="up", undo=True)


def kept(one: Lab, sort: str) -> Remembered:
    (found,) = [item for item in one.memory.remembered() if item.sort == sort]
    return found


async def said(folder: Path, *words: GiveFeedback, about: type = e.TaskFinished) -> Lab:
    """Answer a task with a tool of the library, and say these things of a row of it."""
    one, left = lab(folder, RUN, say("answer", text="It is 8.")), list(words)
    one.sandbox.runs = [EIGHT]

    def when(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.TaskFinished | e.FeedbackGiven) and left:
            row = next(env.seq for env in one.bus.history if isinstance(env.event, about))
            return msgspec.structs.replace(left.pop(0), seq=row or 0)
        return None

    await one.play(DOUBLE, when=when)
    assert not left
    return one


@pytest.mark.parametrize("about", [e.TaskFinished, e.ToolReturned])
async def test_a_recipe_counts_a_wrong_answer_or_run_as_a_failure_until_that_is_taken_back(
    tmp_path: Path, about: type
) -> None:
    before = kept(await said(tmp_path / "a"), "recipe")
    wrong = kept(await said(tmp_path / "b", DOWN, about=about), "recipe")
    assert (before.worked, before.failed, before.said) == (1, 0, "")
    assert (wrong.worked, wrong.failed, wrong.said) == (0, 1, "👎 1×")
    assert "(worked 0 of 1 times)" in wrong.item.text, "as the agent is told it, too"
    good = kept(await said(tmp_path / "d", UP, about=about), "recipe")
    assert (good.worked, good.failed, good.said) == (2, 0, "👍 1×"), "a 👍 counts as one more success"
    assert good.item.text.endswith("(worked 1 of 1 times, and liked once)"), "but it was done once"
    assert good.record == "1 of 1 times, and liked once"
    row = item_row(good, 116, datetime.now(UTC), "").plain
    assert "1/1" in row and "2/2" not in row
    back = kept(await said(tmp_path / "c", DOWN, UNDO, about=about), "recipe")
    assert (back.worked, back.failed, back.said, back.item.text) == (1, 0, "", before.item.text)


async def test_an_answer_found_wrong_is_not_recalled_and_one_found_good_is_before_others(
    tmp_path: Path,
) -> None:
    def recalled(one: Lab) -> float:
        return next(
            (item.score for item in one.memory.recall("double four") if item.memory == "episodic"), 0.0
        )

    plain = recalled(await said(tmp_path / "a"))
    assert (
        recalled(await said(tmp_path / "b", DOWN)) == 0.0 < plain < recalled(await said(tmp_path / "c", UP))
    )
    assert recalled(await said(tmp_path / "d", DOWN, UNDO)) == pytest.approx(plain)
    assert recalled(await said(tmp_path / "e", DOWN, UP)) > plain, "the newest word counts"


async def test_rating_a_build_affects_recipes_with_its_tool_and_no_answers(
    tmp_path: Path,
) -> None:
    async def built(folder: Path, *words: GiveFeedback) -> Lab:
        one, left = Lab(folder, rules=rules(BUILD, RUN_BUILT, DONE)), list(words)
        one.sandbox.runs = [EIGHT]

        def when(event: e.SessionEvent) -> Command | None:
            if isinstance(event, e.TaskFinished | e.FeedbackGiven) and left:
                row = next(env.seq for env in one.bus.history if isinstance(env.event, e.ToolRegistered))
                return msgspec.structs.replace(left.pop(0), seq=row or 0)
            return approve(event)

        await one.do(TASK, when=when)
        return one

    wrong = await built(tmp_path / "a", DOWN)
    assert (kept(wrong, "recipe").worked, kept(wrong, "recipe").failed) == (0, 1)
    answer = next(one for one in wrong.memory.remembered() if one.sort == "episode")
    assert "double_it" in answer.item.tools and answer.said == ""
    back = await built(tmp_path / "b", DOWN, UNDO)
    assert (kept(back, "recipe").worked, kept(back, "recipe").failed) == (1, 0)


def test_facts_stated_by_the_person_hold_whatever_the_answer_was_rated(tmp_path: Path) -> None:
    memory = Recollection(DocumentTable(tmp_path / "memory.json", "items"))
    fact = MemoryItem(
        item_id="fact:1", memory="semantic", text="our fiscal year starts in April", source_session="s",
        source_seq=3, origin="statement", subject="our fiscal year",
    )  # fmt: skip
    memory.write(fact)
    before = memory.recall("when does our fiscal year start")[0].score
    memory.rate("fact:1", "s:3", "down")
    memory.rate("fact:nobody", "s:3", "down")
    assert memory.recall("when does our fiscal year start")[0].score == before
    assert memory.find("fact:1").said == ""
