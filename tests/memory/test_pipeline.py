"""A recipe as one tool: its name is free, and it has no code that it does not need."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from alita_tui.events import MemoryItem, RecipeStep, ToolName
from alita_tui.memory.pipeline import drafted, name_for
from alita_tui.spine.ports.memory import Remembered
from alita_tui.spine.reserved_names import reserved

SCHEMAS: dict[str, tuple[Any, Any]] = {
    name: ({"type": "object", "properties": {"x": {"type": "number"}}}, {"type": "object"})
    for name in ("calculator", "double_it")
}


def remembered(*tools: str, x: Any = 1) -> Remembered:
    item = MemoryItem(item_id="recipe:1", memory="procedural", text="work it out", tools=tools)
    steps = tuple(RecipeStep(tool=ToolName(tool), arguments={"x": x}) for tool in tools)
    return Remembered(item=item, steps=steps, worked=3, shape_worked=3)


@pytest.mark.parametrize("tools", [("calculator", "calculator"), ("double_it",) * 3])
def test_calls_of_one_tool_are_named_unlike_that_tool(tools: tuple[str, ...]) -> None:
    name = name_for(remembered(*tools))
    assert name not in tools and not reserved(name) and name.isidentifier()
    assert name_for(remembered("double_it", "calculator")) == "double_it_then_calculator"
    assert len(name_for(remembered(*["double_it"] * 8))) <= 64


def test_code_that_takes_a_result_apart_is_only_there_where_one_is() -> None:
    """A line that never runs is a serious finding in the review of the build."""
    plain = drafted(remembered("calculator", "double_it"), "both", SCHEMAS)
    assert "_at" not in plain.code
    taken = drafted(remembered("calculator", "double_it", x={"$ref": "s1#/value"}), "both", SCHEMAS)
    assert not any(isinstance(node, ast.If) for node in ast.walk(ast.parse(taken.code))), "no list is needed"
    assert "def _at(" in taken.code and "_at(s1, 'value')" in taken.code
