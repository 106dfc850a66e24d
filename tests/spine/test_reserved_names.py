"""What no tool may be called is one table, and the same one for everybody."""

from __future__ import annotations

import pytest

from alita_tui.agent.actions import ACTIONS, MalformedAction, parse
from alita_tui.config.paths import shipped
from alita_tui.events import ToolRequest
from alita_tui.registry.starters import Starters
from alita_tui.runtimes.port import ContractError
from alita_tui.spine.reserved_names import ACTION_NAMES, STARTER_NAMES, reserved
from alita_tui.toolsmith.contract import draft_from

FIELDS = {
    "description": "Do it.", "code": "def run(x: int) -> int:\n    return x\n", "tests": "pass\n", "input_schema": {},
    "output_schema": {}, "requirements": [],
}  # fmt: skip


def test_the_tables_match_the_actions_and_the_starters() -> None:
    assert {*ACTIONS, "look_back"} == set(ACTION_NAMES)  # as an older version called `look`
    assert Starters(shipped("starters")).names() == STARTER_NAMES


@pytest.mark.parametrize(
    "name", [*ACTION_NAMES, *STARTER_NAMES, "json", "antigravity", "sum", "match", "class", "await"]
)
def test_no_tool_has_a_reserved_name(name: str) -> None:
    with pytest.raises(ContractError) as refused:
        draft_from({**FIELDS, "name": name})
    (problem,) = refused.value.problems
    assert reserved(name) in problem and "choose one that says what the tool does" in problem
    request = ToolRequest(call_id="c", name="build_tool", arguments={"name": name, "goal": "x"})
    with pytest.raises(MalformedAction, match="Choose another name"):
        parse(request)


@pytest.mark.parametrize(
    ("name", "requirement"),
    [("beautifulsoup4", "beautifulsoup4>=4"), ("python_dateutil", "Python.DateUtil"), ("attrs", "attrs")],
)
def test_no_tool_has_the_name_of_a_package_that_it_requires(name: str, requirement: str) -> None:
    with pytest.raises(ContractError, match="what the package"):
        draft_from({**FIELDS, "name": name, "requirements": [requirement]})
    assert (
        draft_from({**FIELDS, "name": f"{name}_tool", "requirements": [requirement]}).name == f"{name}_tool"
    )
