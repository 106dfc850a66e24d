"""What the toolsmith is told: from the tables of the walls, with examples that pass every check there is."""

from __future__ import annotations

import re

import msgspec
import pytest

from alita_tui.events import Capabilities
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.broker.requests import _OWN
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.spine.grants import BROWSER, FILES, MODEL, REACHED, TOOLS, offered
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.toolsmith.review import review
from alita_tui.toolsmith.tool_specs import tool_spec, toolsmith_prompt
from tests.support.limits import ROOMY
from tests.toolsmith.examples import EXAMPLES, PROMPT
from tests.toolsmith.trial import Known, Reviewer, Trial, said_against

TABLE = {"a.csv": "n,m\n1,2\n3,4\n"}
KNOWN: dict[str, Known] = {
    "column_sum": (
        ({"path": "a.csv", "column": "n", "@files": TABLE}, 4, False),
        ({"path": "a.csv", "column": "m", "@files": TABLE}, 6, False),
        ({"path": "b.csv", "column": "n", "@files": {"b.csv": "n\n"}}, 0, False),
        ({"path": "a.csv", "column": "x", "@files": TABLE}, None, True),
        ({"path": "none.csv", "column": "n"}, None, True),
    ),
    "csv_rows_above": (
        (
            {"table": "a.csv", "column": "n", "limit": 2, "@files": TABLE},
            {"rows": 1, "file": "above.csv"},
            False,
        ),
        (
            {"table": "a.csv", "column": "m", "limit": 9, "@files": TABLE},
            {"rows": 0, "file": "above.csv"},
            False,
        ),
        ({"table": "a.csv", "column": "x", "limit": 9, "@files": TABLE}, None, True),
        ({"table": "none.csv", "column": "n", "limit": 1}, None, True),
    ),
    "city_temperature": (
        ({"city": ""}, None, True),
        ({"city": " "}, None, True),
        ({"city": "\t"}, None, True),
    ),
    "group_shares": (
        ({"rows": [], "group": "city"}, None, True),
        ({"rows": [{"city": "Oslo"}], "group": ""}, None, True),
        ({"rows": [{"city": "Oslo"}], "group": " "}, None, True),
    ),
}


def test_every_slot_is_filled_from_the_tables() -> None:
    assert not re.search(r"\{\{\w+\}\}", PROMPT)
    limits = Limits(wall_seconds=7, memory_bytes=123 << 20, scratch_bytes=45 << 20, result_bytes=67 << 10)
    said = toolsmith_prompt(limits)
    assert "7 s, 123 MB of memory, 45 MB of files below /tmp and 67 kB of result" in said
    assert all(f"- `{field}`: {how}" in said for field, how in REACHED.items())


def test_the_tables_list_what_exists() -> None:
    named = [field.name for field in msgspec.structs.fields(Capabilities)]
    assert [*offered(browser=True)] == named and "browser" not in offered(browser=False)
    assert _OWN.fullmatch(f"{FILES}x".encode()) and _OWN.fullmatch(MODEL.encode())
    assert _OWN.fullmatch(f"{TOOLS}x".encode())
    asked = tool_spec("submit_tool").parameters["properties"]["capabilities"]["properties"]
    assert {field: form["description"] for field, form in asked.items()} == REACHED
    with_one = tool_spec("submit_tool", browser=True).parameters["properties"]["capabilities"]["properties"]
    assert {field: form["description"] for field, form in with_one.items()} == offered(browser=True)
    assert with_one["browser"]["type"] == "boolean"


def test_the_prompt_mentions_the_browser_only_if_tools_may_have_one() -> None:
    said = toolsmith_prompt(Limits(), browser=True)
    assert BROWSER in said and "# A browser" in said and offered(browser=True)["browser"] in said
    assert BROWSER not in PROMPT and "browser" not in PROMPT.lower()


def test_there_is_an_example_of_each_kind() -> None:
    assert set(EXAMPLES) == set(KNOWN) and PROMPT.count("# Example") == len(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_have_no_serious_finding(name: str) -> None:
    found = review(EXAMPLES[name])
    assert [finding for finding in found.findings if finding.severity in ("medium", "high")] == []
    assert [finding for finding in found.findings if finding.rule == "B310" and name == "column_sum"] == []


@pytest.mark.podman
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_example_passes_every_check(podman: PodmanSandbox, shelf: ToolLibrary, name: str) -> None:
    trial = Trial(podman, TaskLibrary(shelf), Reviewer(KNOWN), limits=ROOMY)
    verdict = await trial.judge(EXAMPLES[name], "Do it for Oslo and 'prices.csv'")
    assert verdict.problem == ""
    assert said_against(verdict.gates) == []


def test_a_model_that_may_not_write_python_gets_no_python_instructions() -> None:
    assert "one small Python tool" in PROMPT and "# Languages" not in PROMPT
    both = toolsmith_prompt(Limits(), ("python", "bash"))
    assert "Python tool" not in both and "one of these: Python, Bash." in both
    assert "allows no tools" not in both
    without = toolsmith_prompt(Limits(), ("bash", "javascript"))
    assert "Python tool" not in without and "one of these: Bash, JavaScript." in without
    assert "allows no tools\nin Python" in without
