"""What teaches the search: the needs that a tool was answered with, and no other words of a task."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.agent.outcomes import relevant
from alita_tui.events import RunReport, TaskFinished
from alita_tui.spine.commands import Command, GiveFeedback, SubmitTask
from tests.agent.lab import Lab, conversation, say
from tests.agent.tool_lab import RUN, lab

TASK = SubmitTask(text="double the score of my orchid show, then send flowers to the umbrella club")
FIND = say("find_tool", query="multiply a number by two")
EIGHT = RunReport(status="ok", exit_code=0, result=8)


def met(made: Lab) -> set[str]:
    """The needs that the library has learned the tool meets."""
    return {one.query for one in made.shelf.needs_met("double_it")}


async def test_an_answered_task_teaches_what_was_searched_for_and_its_clause(tmp_path: Path) -> None:
    made = lab(tmp_path, FIND, RUN, say("answer", text="It is 8."))
    made.sandbox.runs = [EIGHT]
    await made.do(TASK)
    assert met(made) == {"multiply a number by two", "double the score of my orchid show"}
    assert made.shelf.search("orchid show score").hits[0].card.name == "double_it"
    assert made.shelf.search("umbrella club").hits == (), "the rest of the task teaches nothing"


async def test_a_task_that_was_answered_without_the_result_teaches_nothing(tmp_path: Path) -> None:
    made = lab(tmp_path, FIND, RUN, say("answer", text="I cannot say."))
    made.sandbox.runs = [EIGHT]
    await made.do(TASK)
    assert met(made) == set()


async def test_an_answer_that_the_person_finds_wrong_is_no_longer_learned_from(tmp_path: Path) -> None:
    made = lab(tmp_path, FIND, RUN, say("answer", text="It is 8."))
    made.sandbox.runs = [EIGHT]

    def wrong(event: e.SessionEvent) -> Command | None:
        return GiveFeedback(rating="down", text="no") if isinstance(event, TaskFinished) else None

    await made.play(TASK, when=wrong)
    assert met(made) == set()


async def test_a_search_records_its_probability_and_its_outcome(tmp_path: Path) -> None:
    made = lab(tmp_path, FIND, RUN, say("answer", text="It is 8."))
    made.sandbox.runs = [EIGHT]
    await made.do(TASK)
    (searched,) = made.events(e.ToolSearched)
    assert searched.band and 0 < searched.chance < 1 and "not measured here yet" in searched.evidence
    told = "\n".join(entry.message.text for entry in conversation(made.bus.history))
    assert f"(one that fits is there with {searched.chance:.0%})" in told
    row = next(row for row in made.view.trace if row.meta == f"{searched.chance:.0%} there")
    assert searched.evidence in str(row.text)
    (showing,) = made.shelf.track("double_it", 1).showings
    assert showing.met and showing.accepted and showing.prior == searched.prior


async def test_old_registries_keep_what_they_learned(tmp_path: Path) -> None:
    """Before outcomes were kept, each run that succeeded taught the task's text."""
    made = lab(tmp_path, FIND, RUN, say("answer", text="It is 8."))
    made.shelf.record_run("double_it", 1, ok=True, query="twice the pelicans")
    assert met(made) == {"twice the pelicans"}
    made.sandbox.runs = [EIGHT]
    await made.do(TASK)
    assert "twice the pelicans" in met(made) and TASK.text not in met(made)


@pytest.mark.parametrize(
    ("task", "about", "part"),
    [
        ("Read the log. Count the errors in it.", "count errors", "Count the errors in it."),
        ("fetch the page, then translate it to German", "translate text", "translate it to German"),
        ("count the words", "anything", "count the words"),
        ("make tea and then water the plants", "quantum", "make tea and then water the plants"),
    ],
)
def test_the_part_of_a_task_that_a_tool_answers_is_found(task: str, about: str, part: str) -> None:
    assert relevant(task, about) == part


def test_a_search_recorded_by_an_older_version_is_readable() -> None:
    raw = b'{"action_id":"a","query":"q","near_misses":[{"name":"n","version":1,"score":0.2}]}'
    old = msgspec.json.decode(raw, type=e.ToolSearched)
    assert (old.band, old.evidence) == ("", "")
