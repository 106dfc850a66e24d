"""A tool that is ordered though the library has it is shown first; ordered again, it is built."""

from __future__ import annotations

from pathlib import Path

from alita_tui import events as e
from alita_tui.events import Lock
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.spine.commands import SubmitTask
from alita_tui.toolsmith.contract import draft_from, normalise
from tests.agent.lab import Lab, conversation, draft, say
from tests.agent.replies import approve

TASK = SubmitTask(text="make four twice as much")
OLD = normalise(draft_from(draft().requests[0].arguments))
ORDER = say("build_tool", "build it", name="double_number", goal="Double a whole number.")
OTHER = say(
    "build_tool", "build it", name="tell_weather", goal="Say what the weather will be tomorrow in a city."
)
RUN = say("run_tool", name="double_it", arguments={"x": 2})
DONE = say("answer", text="eight")


def lab(folder: Path, *replies: ScriptReply) -> Lab:
    made = Lab(
        folder,
        rules=[
            Rule(role="orchestrator", match="TASK: ", replies=replies),
            Rule(
                role="toolsmith", match="Tool name: double_number", replies=(draft("double_number", "Mine."),)
            ),
            Rule(
                role="toolsmith", match="Tool name: tell_weather", replies=(draft("tell_weather", "Mine."),)
            ),
        ],
    )
    made.shelf.register(OLD, Lock(), approval_id="p0", digest=e.BuildDigest(OLD.digest), sources=())
    made.reopen()
    return made


def told(one: Lab) -> list[str]:
    return [entry.message.text for entry in conversation(one.bus.history) if entry.message.role == "tool"]


async def test_a_tool_of_the_library_is_shown_instead_of_built(tmp_path: Path) -> None:
    one = lab(tmp_path, ORDER, RUN, DONE)
    assert (await one.do(TASK, when=approve)).outcome == "answered"
    assert not one.events(e.BuildStarted)
    first = told(one)[0]
    assert first.startswith("Nothing is built yet") and "double_it" in first and "input schema" in first
    assert [row.title for row in one.view.trace if "double_it" in row.title or "double_it" in str(row)]


async def test_a_build_that_is_ordered_again_after_a_hint_is_made(tmp_path: Path) -> None:
    one = lab(tmp_path, ORDER, ORDER, DONE)
    await one.do(TASK, when=approve)
    assert [event.name for event in one.events(e.BuildStarted)] == ["double_number"]


async def test_a_tool_that_a_search_has_shown_is_not_shown_again(tmp_path: Path) -> None:
    one = lab(tmp_path, say("find_tool", query="double a whole number"), ORDER, DONE)
    await one.do(TASK, when=approve)
    assert len(one.events(e.ToolSearched)) == 1 and one.events(e.BuildStarted)


ANEW = say("build_tool", "mend it", name="double_it", goal="Double a whole number.")


def lab_with_a_new_version(folder: Path, *replies: ScriptReply) -> Lab:
    one = lab(folder, *replies)
    one.rules.append(
        Rule(role="toolsmith", match="Tool name: double_it", replies=(draft("double_it", "Anew."),))
    )
    one.reopen()
    return one


async def test_a_tool_without_a_match_or_a_new_version_of_one_that_was_shown_is_built_at_once(
    tmp_path: Path,
) -> None:
    one = lab_with_a_new_version(tmp_path, OTHER, say("find_tool", query="double a number"), ANEW, DONE)
    await one.do(TASK, when=approve)
    assert [event.name for event in one.events(e.BuildStarted)] == ["tell_weather", "double_it"]
    assert len(one.events(e.ToolSearched)) == 1


async def test_a_new_version_of_a_tool_that_the_task_ran_is_built_at_once(tmp_path: Path) -> None:
    one = lab_with_a_new_version(tmp_path, RUN, ANEW, DONE)
    await one.do(TASK, when=approve)
    assert [event.name for event in one.events(e.BuildStarted)] == ["double_it"]
    assert not one.events(e.ToolSearched)


async def test_a_tool_that_the_task_never_saw_is_shown_before_it_is_built_again(tmp_path: Path) -> None:
    one = lab_with_a_new_version(tmp_path, ANEW, RUN, DONE)
    assert (await one.do(TASK, when=approve)).outcome == "answered"
    assert not one.events(e.BuildStarted)
    assert told(one)[0].startswith("Nothing is built yet") and "double_it" in told(one)[0]


async def test_a_new_version_that_is_ordered_again_is_built(tmp_path: Path) -> None:
    one = lab_with_a_new_version(tmp_path, ANEW, ANEW, DONE)
    await one.do(TASK, when=approve)
    assert [event.name for event in one.events(e.BuildStarted)] == ["double_it"]
