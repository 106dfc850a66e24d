"""What the toolsmith's models are told and the forms that they submit, from `prompts/` and the tables of the walls."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from alita_tui.events import ready
from alita_tui.runtimes.python.form import PYTHON
from alita_tui.spine.grants import REACHED
from alita_tui.spine.ports.models import ToolSpec
from alita_tui.spine.ports.sandbox import Limits


@cache
def tool_spec(name: str) -> ToolSpec:
    """Return one form."""
    raw = files("alita_tui.toolsmith.prompts").joinpath(f"{name}.json").read_bytes()
    spec = msgspec.json.decode(raw, type=ready(ToolSpec))
    if asked := spec.parameters.get("properties", {}).get("capabilities"):
        for field, reached in REACHED.items():
            asked["properties"][field]["description"] = reached
    return spec


def toolsmith_prompt(limits: Limits) -> str:
    """Return what the toolsmith's model is told of every tool, from the tables that hold it to that."""
    text = files("alita_tui.toolsmith.prompts").joinpath("toolsmith.md").read_text("utf-8")
    facts = {
        "python": PYTHON.removeprefix(">=") + " and later",
        "seconds": f"{limits.wall_seconds:g}",
        "memory": str(limits.memory_bytes >> 20),
        "scratch": str(limits.scratch_bytes >> 20),
        "result": str(limits.result_bytes >> 10),
        "grants": "\n".join(f"- `{field}`: {reached}" for field, reached in REACHED.items()),
    }
    for name, fact in facts.items():
        text = text.replace(f"{{{{{name}}}}}", fact)
    return text
