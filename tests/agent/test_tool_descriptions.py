"""What the model is told of a tool before it runs it, and what the host checks before a container is spent."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events import Capabilities, Lock
from alita_tui.spine.examples import example_in_tests, signature
from alita_tui.toolsmith.checks.probes import misfit
from tests.agent.lab import Lab, conversation, say
from tests.agent.replies import BUILD, DONE, RUN, TASK, approve, rules
from tests.support.streams import DRAFT

FIND = say("find_tool", query="double a whole number")


def told(lab: Lab) -> str:
    return "\n".join(entry.message.text for entry in conversation(lab.bus.history))


async def test_after_an_approval_the_model_learns_how_to_call_the_tool(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE))
    await lab.do(TASK, when=approve)
    said = told(lab)
    assert "double_it(x: int) -> int" in said and '"required":["x"]' in said
    assert 'run_tool {"name": "double_it", "arguments": {"x":1}} gives 2' in said


async def test_a_search_shows_signature_schemas_grants_trust_record_and_an_example(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, DONE))
    await lab.do(TASK, when=approve)
    lab.rules[:] = rules(FIND, DONE)
    lab.reopen()
    await lab.do(TASK)
    hit = lab.events(e.ToolSearched)[-1].hits[0]
    assert (hit.worked_at, hit.grants) == ("", ())
    last = conversation(lab.bus.history)
    (shown,) = [one.message.text for one in last if one.name == "find_tool"]
    for part in ("double_it(x: int) -> int", "output schema", "nothing outside its arguments", "provisional",
                 "never run", "example from its tests"):  # fmt: skip
        assert part in shown, part
    lab.rules[:] = rules(RUN, FIND, DONE)
    lab.reopen()
    await lab.do(TASK)
    hit = lab.events(e.ToolSearched)[-1].hits[0]
    assert hit.worked_at and hit.example == {"arguments": {"x": 4}, "result": 4, "tested": False}
    shown = [one.message.text for one in conversation(lab.bus.history) if one.name == "find_tool"][-1]
    assert "1 run, 0 failed, last worked 20" in shown
    assert '"arguments": {"x":4}} gave\n<untrusted source="double_it">\n4\n</untrusted>' in shown


async def test_the_grants_of_a_tool_are_shown(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(FIND, DONE))
    asks = Capabilities(network=("GET api.example.org:443",), secrets=("TOKEN",))
    draft = msgspec.structs.replace(
        DRAFT, name="double_it", description="Double a whole number.", capabilities=asks
    )
    lab.shelf.register(draft, Lock(), approval_id="p1", digest=e.BuildDigest(draft.digest), sources=())
    await lab.do(TASK)
    assert "may use: network:GET api.example.org:443, secret:TOKEN" in told(lab)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "x is missing"),
        ({"x": 1, "times": 2}, "times is none of its parameters"),
        ({"x": "four"}, "$.x: 'four' is not of type 'integer'"),
    ],
)
async def test_arguments_are_checked_before_anything_starts(
    tmp_path: Path, arguments: dict[str, object], problem: str
) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, say("run_tool", name="double_it", arguments=arguments), RUN, DONE))
    await lab.do(TASK, when=approve)
    (failed,) = lab.events(e.ActionFailed)
    assert problem in failed.text and "double_it(x: int) -> int" in failed.hint
    assert len(lab.events(e.ToolCalled)) == 1  # the one that fits
    assert lab.shelf.get("double_it").runs == 1 and lab.shelf.get("double_it").failures == 0


async def test_a_wrong_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    wrong = say("run_tool", name="doubleit", arguments={"x": 4})
    newer = say("run_tool", name="double_it", arguments={"x": 4}, version=9)
    lab = Lab(tmp_path, rules=rules(BUILD, wrong, newer, DONE))
    await lab.do(TASK, when=approve)
    assert [one.hint for one in lab.events(e.ActionFailed)] == [
        "Nearest in the library: double_it.",
        "double_it is there as v1.",
    ]


def test_a_tool_signature_is_written_like_python() -> None:
    takes = {
        "type": "object",
        "properties": {
            "unit": {"enum": ["m", "km"], "default": "m"},
            "values": {"type": "array", "items": {"type": ["number", "null"]}},
            "limit": {"type": "integer"},
        },
        "required": ["values"],
    }
    assert (
        signature("total", takes, {"type": "object"})
        == 'total(values: list[float | None], unit: "m" | "km" = "m", limit: int = ...) -> dict'
    )
    assert signature("odd", [], None) == "odd(...) -> any"


@pytest.mark.parametrize(
    "tests",
    ["def (", "assert run(**x) == 1", "assert run(1, 2, 3) == 1", "assert run(open('x')) == 1", "(" * 5000,
     "assert run(1) == " + "[" * 900 + "]" * 900, "assert run(1) == 10**9999"],
)  # fmt: skip
def test_tests_without_a_readable_example_give_none(tests: str) -> None:
    assert example_in_tests(msgspec.structs.replace(DRAFT, code="def run(x): ...", tests=tests)) is None


def test_an_example_is_found_on_either_side_of_the_assertion() -> None:
    draft = msgspec.structs.replace(
        DRAFT, code="def run(a, b=2): ...", tests="def test():\n    assert [3] == run(1, b=(2, 'x'))\n"
    )
    example = example_in_tests(draft)
    assert example is not None and (example.arguments, example.result) == ({"a": 1, "b": [2, "x"]}, [3])


def test_a_schema_that_cannot_be_applied_stops_nobody() -> None:
    assert misfit({"x": 1}, {"$ref": "#/nowhere"}).startswith("the schema cannot")
