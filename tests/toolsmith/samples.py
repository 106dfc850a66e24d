"""A good tool, and how to write others like it."""

from __future__ import annotations

from typing import Any

from alita_tui.events import ToolDraft, ToolName

RUN = 'def run(x: int, times: int = 2) -> int:\n    """Multiply."""\n    return x * times\n'


TESTS = """from multiply import run


def test_twice():
    assert run(2) == 4


def test_thrice():
    assert run(2, 3) == 6
"""


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "times": {"type": "integer"}},
    "required": ["x"],
}


GOOD = ToolDraft(
    name=ToolName("multiply"),
    description="Multiply a number.",
    code=RUN,
    tests=TESTS,
    input_schema=SCHEMA,
    output_schema={"type": "integer"},
)
