"""A new version of a tool is held against the tests of the tools that call it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from alita_tui.events import BuildId, Capabilities, Lock, ToolDraft, ToolName
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.spine.ports.builds import FailedCall
from alita_tui.toolsmith.checks.callers import BREAKS, Callers
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.replay import STILL, ReplayCheck
from alita_tui.toolsmith.checks.workbench import Workbench
from alita_tui.toolsmith.kinship import comparable, kinship
from alita_tui.toolsmith.pinning import pinned
from tests.support.limits import ROOMY
from tests.toolsmith.checked import draft

pytestmark = pytest.mark.podman

CALLER = '''"""Twice what odd_one gives."""

import json
import os
import urllib.request


def run(x: int) -> int:
    """Ask odd_one, and double it."""
    asked = json.dumps({"x": x}).encode()
    with urllib.request.urlopen(os.environ["ALITA_BROKER"] + "/tools/odd_one", data=asked) as answer:
        return 2 * json.load(answer)
'''
TESTS = """from __future__ import annotations

import hosts
from caller import run

hosts.tool("odd_one", 7)


def test_three():
    assert run(3) == 14


def test_others():
    hosts.tool("odd_one", 1, arguments={"x": 0})
    hosts.tool("odd_one", -3, arguments={"x": -2})
    assert run(0) == 2
    assert run(-2) == -6
"""


@pytest.fixture
def bench(podman: PodmanSandbox) -> Workbench:
    return Workbench(podman, ROOMY)


def with_caller(shelf: ToolLibrary, tests: str = TESTS) -> TaskLibrary:
    """A library with odd_one and a tool that calls it."""
    old = draft()
    shelf.register(old, Lock(), approval_id="p1", digest=old.digest, sources=())  # type: ignore[arg-type]
    task = TaskLibrary(shelf)
    caller = ToolDraft(
        name=ToolName("caller"), description="Twice odd_one.", code=CALLER, tests=tests,
        input_schema=old.input_schema, output_schema=old.output_schema, capabilities=Capabilities(tools=("odd_one",)),
    )  # fmt: skip
    caller = pinned(caller, task)
    shelf.register(caller, Lock(), approval_id="p2", digest=caller.digest, sources=())  # type: ignore[arg-type]
    return task


def case(**changes: Any) -> Case:
    new = msgspec.structs.replace(draft(), **changes)
    return Case(build_id=BuildId("b1"), draft=new, parent=draft())


async def test_a_caller_with_unchanged_answers_is_reported_as_such(
    bench: Workbench, shelf: ToolLibrary
) -> None:
    rows = await Callers(bench, with_caller(shelf)).rows(case(code=draft().code + "\n# the same\n"))
    (row,) = rows
    assert (row.label, row.tone) == ("caller v1, which calls it", "good"), row
    assert "its tests pass again; 3 calls that they make are answered as before" in row.text


async def test_changed_answers_and_refused_calls_break_a_caller(bench: Workbench, shelf: ToolLibrary) -> None:
    callers = Callers(bench, with_caller(shelf))
    (row,) = await callers.rows(case(code=draft().code.replace("2 * x + 1", "2 * x + 2")))
    assert row.tone == "bad" and row.label.startswith(BREAKS) and "→ 8, before 7" in row.text
    renamed = {"type": "object", "properties": {"y": {"type": "integer"}}, "required": ["y"]}
    (row,) = await callers.rows(case(input_schema=renamed))
    assert row.tone == "bad" and "x is none of its parameters" in row.text
    (row,) = await callers.rows(case(code=draft().code.replace("return", "raise ValueError(x)\n    return")))
    assert "→ ValueError, before 7" in row.text


async def test_tests_without_stand_ins_give_no_verdict(bench: Workbench, shelf: ToolLibrary) -> None:
    alone = "from caller import run\n\n\ndef test_a():\n    assert run\n"
    (row,) = await Callers(bench, with_caller(shelf, alone)).rows(case())
    assert row.tone == "warn" and "nothing is known" in row.text


async def test_a_tool_without_callers_and_a_first_version_have_no_rows(
    bench: Workbench, shelf: ToolLibrary
) -> None:
    assert await Callers(bench, TaskLibrary(shelf)).rows(case()) == []
    first = msgspec.structs.replace(case(), parent=None)
    assert await Callers(bench, with_caller(shelf)).rows(first) == []


async def test_the_check_of_recorded_calls_carries_callers_and_failed_calls(
    bench: Workbench, shelf: ToolLibrary
) -> None:
    failures = (
        FailedCall(version=1, arguments={"x": 5}, error="Traceback\nValueError: no fives"),
        FailedCall(version=1, arguments={"x": "five"}, error="TypeError: text"),
    )
    check = ReplayCheck(bench, lambda _: (), lambda _: failures, Callers(bench, with_caller(shelf)).rows)
    found = await check.check(case())
    assert found.state == "failed"
    assert "of the calls that failed before 1 of 2 still fail" in found.summary
    assert "of the tools that call it all of them do as before" in found.summary
    mended, still = found.rows[:2]
    assert (mended.tone, mended.text) == ("good", "→ 11, before ValueError: no fives")
    assert still.tone == "bad" and still.label.startswith(STILL)


async def test_similarity_of_two_tools_is_measured(bench: Workbench, shelf: ToolLibrary) -> None:
    def registered(one: ToolDraft, approval: str) -> Any:
        return shelf.register(one, Lock(), approval_id=approval, digest=one.digest, sources=())  # type: ignore[arg-type]

    one = registered(draft(), "p1")
    same = registered(draft(draft().code.replace("2 * x + 1", "x + x + 1"), name="same_one"), "p2")
    nearly = registered(
        draft("def run(x: int) -> int:\n    return 2 * x + (1 if x > 0 else 2)\n", name="near_one"), "p3"
    )
    assert comparable(one.draft, same.draft)
    alike, probes = await kinship(bench, one, same)
    assert alike == probes >= 4
    some, probes = await kinship(bench, one, nearly)
    assert 0 < some < probes
    other = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    assert not comparable(one.draft, msgspec.structs.replace(same.draft, input_schema=other))
