"""A session with a tool that takes files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alita_tui.llm.scripted import ScriptReply
from tests.agent.lab import Lab, say
from tests.agent.replies import DONE, rules

SCHEMA = {
    "type": "object",
    "properties": {
        "table": {"type": "string", "format": "file"},
        "more": {"type": "array", "items": {"type": "string", "format": "file"}},
        "values": {},
    },
    "required": [],
}
SMITH = say(
    "submit_tool",
    name="double_it",
    description="Summarise a table.",
    code='"""Summarise a table."""\n\n\ndef run(table: str = "", more: list[str] | None = None, values: object = None) -> object:\n    """It."""\n    return values\n',
    tests="from double_it import run\n\n\ndef test_a():\n    assert run() is None\n\n\ndef test_b():\n    assert run(values=1) == 1\n",
    requirements=[],
    input_schema=SCHEMA,
    output_schema={},
)
BUILD = say("build_tool", name="double_it", goal="Summarise a table.")


def run(**arguments: Any) -> ScriptReply:
    return say("run_tool", name="double_it", arguments=arguments)


def lab(folder: Path, *replies: ScriptReply) -> Lab:
    return Lab(folder, rules=rules(BUILD, *replies, DONE, smith=(SMITH,)))
