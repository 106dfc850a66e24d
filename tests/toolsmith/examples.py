"""The examples of the toolsmith's prompt."""

from __future__ import annotations

import json
import re
from typing import Any

from alita_tui.events import ToolDraft
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.toolsmith.contract import draft_from, normalise
from alita_tui.toolsmith.tool_specs import toolsmith_prompt

PROMPT = toolsmith_prompt(Limits())


_EXAMPLE = re.compile(
    r"```json\n(?P<form>.*?)```\n```python\n(?P<code>.*?)```\n```python\n(?P<tests>.*?)```", re.DOTALL
)


def examples() -> dict[str, ToolDraft]:
    found: dict[str, ToolDraft] = {}
    for match in _EXAMPLE.finditer(PROMPT):
        form: dict[str, Any] = json.loads(match["form"])
        draft = normalise(draft_from({**form, "code": match["code"], "tests": match["tests"]}))
        found[str(draft.name)] = draft
    return found


EXAMPLES = examples()
