"""The forms that models submit, as the JSON Schemas in `prompts/*.json`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from alita_tui.spine.ports.models import ToolSpec


@cache
def tool_spec(name: str) -> ToolSpec:
    """Return one form."""
    raw = files("alita_tui.toolsmith.prompts").joinpath(f"{name}.json").read_bytes()
    return msgspec.json.decode(raw, type=ToolSpec)
