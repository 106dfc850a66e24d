"""Drafts for checks that run in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alita_tui.events import BuildId, ToolDraft, ToolName
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.contract import normalise
from tests.toolsmith.trial import Known

WHOLE = {"type": "integer"}


GOOD = "def run(x: int) -> int:\n    return 2 * x + 1\n"


CHECKS = ("run(3) == 7", "run(0) == 1", "run(-2) == -3")


def draft(code: str = GOOD, checks: Sequence[str] = CHECKS, name: str = "odd_one", **more: Any) -> ToolDraft:
    tests = "".join(f"\n\ndef test_{n}():\n    assert {one}\n" for n, one in enumerate(checks))
    fields: dict[str, Any] = {
        "description": "Twice a whole number and one more.",
        "input_schema": {"type": "object", "properties": {"x": WHOLE}, "required": ["x"]},
        "output_schema": WHOLE,
    } | more
    return normalise(
        ToolDraft(name=ToolName(name), code=code, tests=f"from {name} import run\n" + tests, **fields)
    )


def case(*given: Any, **more: Any) -> Case:
    return Case(build_id=BuildId("b1"), draft=draft(*given, **more))


def known(*pairs: tuple[int, Any]) -> Known:
    return tuple(({"x": x}, expect, False) for x, expect in pairs)


RIGHT = known((5, 11), (-1, -1), (100, 201), (7, 15))
