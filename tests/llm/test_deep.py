"""Arguments of thousands of levels: the model is told what is wrong with them, whatever the protocol."""

from __future__ import annotations

import msgspec
import pytest

from alita_tui.llm.assembly import parse
from alita_tui.llm.schemas import unfolded
from alita_tui.spine.redaction import Redactor

SCHEMA = {"properties": {"a": {"type": "object"}}}


def deep(count: int) -> str:
    return '{"a":' + "[" * count + "]" * count + "}"


@pytest.mark.parametrize("count", [101, 900, 50_000])
def test_arguments_that_are_nested_too_deeply_are_a_problem_with_a_name(count: int) -> None:
    call = parse("c1", "run_tool", unfolded(deep(count), SCHEMA))
    assert call.arguments == {} and "nested more than 100 levels deep" in call.problem


def test_an_object_encoded_as_text_is_limited_too() -> None:
    text = msgspec.json.encode({"a": '{"b":' * 5_000 + "1" + "}" * 5_000}).decode()
    assert isinstance(parse("c1", "run_tool", unfolded(text, SCHEMA)).arguments["a"], str)


def test_arguments_of_ninety_levels_pass_and_can_be_walked() -> None:
    call = parse("c1", "run_tool", deep(90))
    assert not call.problem
    assert Redactor([("KEY", "quiet-zebra-crossing")]).value(call.arguments) == call.arguments
