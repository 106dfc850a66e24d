"""Recipes of the same tools, called in other ways: each keeps its own calls, record and offer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.events import MemoryItem, RunReport
from alita_tui.memory.pipeline import offerable
from alita_tui.memory.recall import Recollection
from alita_tui.memory.stored import id_digest
from alita_tui.store.documents import DocumentTable
from tests.memory.learned import recipe
from tests.support import streams


def done(task: str, session: str, *calls: dict[str, Any]) -> MemoryItem:
    """What a task teaches that `calculator` was called for, each time with these arguments."""
    tape = streams.Tape()
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t"), text=task))
    for arguments in calls:
        call_id = e.CallId(f"c{len(tape.envelopes)}")
        tape.add(
            e.ToolCalled(
                call_id=call_id, action_id="a", name=e.ToolName("calculator"), version=1,
                digest=e.BuildDigest("d"), arguments=arguments,
            )
        )  # fmt: skip
        tape.add(e.ToolReturned(call_id=call_id, report=RunReport(status="ok", result={"value": 7})))
    tape.add(e.TaskFinished(task_id=e.TaskId("t"), outcome="answered", answer="done"))
    (item,) = recipe(tuple(tape.envelopes), e.TaskId("t"))
    return replace(item, source_session=session)


def gross(number: int, session: str) -> MemoryItem:
    return done(
        f"What do {number} boxes cost with the tax?", session,
        {"expression": "n * 9", "variables": {"n": number}}, {"expression": "x * 1.19", "variables": {"x": 7}},
    )  # fmt: skip


def added(number: int, session: str) -> MemoryItem:
    return done(f"What is the sum of {number} and 4?", session, {"expression": f"{number} + 4"})


@pytest.fixture
def kept(tmp_path: Path) -> Recollection:
    memory = Recollection(DocumentTable(tmp_path / "memory.json", "items"))
    for number, session in enumerate(("a", "b", "c"), start=20):
        memory.write(gross(number, session))
    memory.write(added(31, "d"))
    return memory


def test_another_use_of_the_same_tool_does_not_replace_a_recipe(kept: Recollection) -> None:
    several, one = kept.remembered()
    assert (several.worked, len(several.steps), one.worked, len(one.steps)) == (3, 2, 1, 1)
    assert offerable(several) and not offerable(one)
    (found,) = kept.recall("What do 44 boxes cost with the tax?")
    assert found.item_id == several.item.item_id and "boxes" in found.text and "sum" not in found.text
    assert kept.record(("calculator",)) == (4, 0), "a plan names tools alone"


def test_forgetting_a_recipe_leaves_the_others_of_its_tools(kept: Recollection) -> None:
    several, one = kept.remembered()
    kept.forget(one.item.item_id)
    assert kept.write(added(77, "later")) is None and kept.write(gross(50, "later")) == ()
    assert [found.item.item_id for found in kept.remembered()] == [several.item.item_id]


def test_what_an_earlier_version_forgot_stays_forgotten(tmp_path: Path) -> None:
    """It told recipes apart by their tools alone."""
    table = DocumentTable(tmp_path / "memory.json", "items")
    old = Recollection(table)
    old.write(MemoryItem(item_id="recipe:old", memory="procedural", text="sum", tools=("calculator",)))
    old.forget("recipe:old")
    assert id_digest("recipe:old") in str(table.all())
    assert Recollection(table).write(added(31, "later")) is None


def test_more_calls_of_the_same_kind_are_the_same_recipe(tmp_path: Path) -> None:
    memory = Recollection(DocumentTable(tmp_path / "memory.json", "items"))
    memory.write(done("Add up 3 lists.", "a", *[{"expression": "1"}] * 3))
    memory.write(done("Add up 5 lists.", "b", *[{"expression": "1"}] * 5))
    (only,) = memory.remembered()
    assert only.worked == 2
