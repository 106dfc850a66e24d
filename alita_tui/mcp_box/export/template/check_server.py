"""Tests the server as a client: it lists its tools, and each returns for its example what it returned when approved."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

_PACKAGE = next(Path(__file__).parent.parent.glob("src/*/tools.json")).parent
_FACTS: dict[str, Any] = json.loads((_PACKAGE / "tools.json").read_text("utf-8"))
_SERVER = StdioServerParameters(command=sys.executable, args=["-m", f"{_PACKAGE.name}.server"])


async def _called() -> None:
    async with Client(_SERVER, mode="legacy") as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {facts["descriptor"]["name"] for facts in _FACTS["tools"]}
        for facts in _FACTS["tools"]:
            name, example = facts["descriptor"]["name"], facts["example"]
            if example is not None:
                answer = await client.call_tool(name, example["arguments"])
                assert not answer.is_error, answer.content
                expected = {"result": example["result"]} if facts["wrapped"] else example["result"]
                assert answer.structured_content == expected
            wrong = await client.call_tool(name, {"no such argument \u00e9": 1})
            assert wrong.is_error or facts["takes"].get("additionalProperties") is not False
        assert (await client.call_tool("no_such_tool", {})).is_error


def test_a_client_lists_and_calls_the_tools() -> None:
    """Each tool answers its example."""
    asyncio.run(_called())
