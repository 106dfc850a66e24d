"""A client of the real SDK calls approved tools over a real process: each runs in a container, on record."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.llm.scripted import Rule, Script, ScriptReply
from alita_tui.spine.laws import check
from tests.support import mcp_lab as lab
from tests.support.servers.openai_server import OpenAIServer

pytestmark = pytest.mark.podman


def texts(found: Any) -> str:
    return "\n".join(block.text for block in found.content if block.type == "text")


@pytest.mark.parametrize("era", lab.ERAS)
async def test_calls_of_clients_are_recorded(tmp_path: Path, era: str) -> None:
    home = lab.furnished(tmp_path / "home")
    async with lab.client(home, era, name="claude-code\x1b[2J") as one:
        names = [tool.name for tool in (await one.list_tools()).tools]
        assert names == sorted(draft.name for draft in lab.ALL)

        added = await one.call_tool("add_numbers", {"a": 1.5, "b": 2})
        assert added.structured_content == {"sum": 3.5} and not added.is_error
        split = await one.call_tool("split_words", {"text": "a b"})
        assert split.structured_content == {"result": ["a", "b"]} and texts(split) == '["a","b"]'

        failed = await one.call_tool("always_fails", {"why": "no such row"})
        assert (
            failed.is_error and "RuntimeError: no such row" in texts(failed) and "\x1b" not in texts(failed)
        )
        lied = await one.call_tool("says_otherwise", {})
        assert lied.is_error and "not what the tool promises" in texts(lied) and '"seven"' in texts(lied)
        for wrong in ({"a": 1}, {"a": 1, "b": "x"}, {"a": 1, "b": 2, "c": 3}, {"a": None, "b": 1}):
            refused = await one.call_tool("add_numbers", wrong)
            assert refused.is_error, wrong
        with pytest.raises(MCPError, match="Unknown tool"):
            await one.call_tool("no_such_tool", {})

        drawn = await one.call_tool("draw_chart", {})
        kinds = [block.type for block in drawn.content]
        assert kinds == ["text", "image", "resource_link", "resource_link"] and texts(drawn) == "drawn"
        links = {block.name: block.uri for block in drawn.content if block.type == "resource_link"}
        (table,) = (await one.read_resource(links["table.csv"])).contents
        assert (
            getattr(table, "text", "") == "a,b\n1,2\n[redacted GitHub token]"
            and table.mime_type == "text/csv"
        )
        (picture,) = (await one.read_resource(links["chart.png"])).contents
        assert base64.b64decode(getattr(picture, "blob", "")) == bytes.fromhex(lab.PNG)
        assert {one.name for one in (await one.list_resources()).resources} == {"table.csv", "chart.png"}
        for nowhere in (
            "alita://artefact/../../etc/passwd",
            "file:///etc/passwd",
            f"alita://artefact/{'0' * 64}",
        ):
            with pytest.raises(MCPError, match="not found"):
                await one.read_resource(nowhere)

        given = "data:text/csv;name=x.csv;base64," + base64.b64encode(b"one,two\n3,4\n").decode()
        assert (await one.call_tool("first_line", {"table": given})).structured_content == {
            "result": "one,two"
        }
        again = await one.call_tool("first_line", {"table": links["table.csv"]})
        assert again.structured_content == {"result": "a,b"}
        for path in ("/etc/passwd", "file:///etc/passwd", "../home/config.toml", "data:;base64,%%%"):
            refused = await one.call_tool("first_line", {"table": path})
            assert refused.is_error and "root:" not in texts(refused), path

    app = AppContext.open(home)
    (kept,) = lab.sessions(home)
    record = recording(app, kept.stem)
    assert check(record, complete=True) == []
    opened = record[0].event
    assert isinstance(opened, e.SessionOpened) and opened.title == "claude-code over MCP"
    called = [one.event for one in record if isinstance(one.event, e.ToolCalled)]
    assert [one.name for one in called] == [
        "add_numbers", "split_words", "always_fails", "says_otherwise", "draw_chart", "first_line", "first_line",
    ]  # fmt: skip
    assert isinstance(record[-1].event, e.SessionClosed)
    assert not any("one,two" in str(one.arguments) for one in called), "a file is recorded by its handle"
    grades = {name: [o.grade for o in app.library.track(name, 1).outcomes] for name in ("add_numbers", "says_otherwise", "always_fails")}  # fmt: skip
    assert grades == {"add_numbers": ["ran"], "says_otherwise": ["misfit"], "always_fails": ["failed"]}
    assert {str(one.draft.name): (one.runs, one.failures) for one in app.library.records()}[
        "always_fails"
    ] == (
        1,
        1,
    )
    app.close()


@asynccontextmanager
async def reached(home: Path, era: str, wire: str) -> AsyncIterator[Client]:
    """A client of this home, over pipes or over HTTP."""
    if wire == "pipes":
        async with lab.client(home, era) as one:
            yield one
    else:
        async with lab.http_server(home) as url, lab.http_client(home, url, era) as one:
            yield one


@pytest.mark.parametrize("wire", ["pipes", pytest.param("http", marks=pytest.mark.walk)])
@pytest.mark.parametrize("era", [lab.ERAS[0], pytest.param(lab.ERAS[1], marks=pytest.mark.walk)])
async def test_a_long_call_reports_progress_and_can_be_cancelled(tmp_path: Path, era: str, wire: str) -> None:
    home = lab.furnished(tmp_path / "home", lab.SLOW)
    said: list[str] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or "")

    async with reached(home, era, wire) as one:
        done = await one.call_tool("take_time", {"seconds": 2.5}, progress_callback=tell)
        assert done.structured_content == {"result": "done"} and "still at it" in said
        begun = len(said)
        calling = asyncio.create_task(one.call_tool("take_time", {"seconds": 15}, progress_callback=tell))
        await lab.until(lambda: said[begun:].count("still at it"))
        calling.cancel()
        await asyncio.wait((calling,))
        (path,) = (home / "data" / "sessions").glob("*.journal")
        await lab.until(lambda: b'"interrupted"' in path.read_bytes())
        assert (await one.call_tool("take_time", {"seconds": 0.1})).structured_content == {"result": "done"}
    (kept,) = lab.sessions(home)
    ends = [one for one in lab.recorded(home, kept) if isinstance(one, e.ToolFailed | e.ToolReturned)]
    assert [getattr(one, "reason", "ok") for one in ends] == ["ok", "interrupted", "ok"]


ASKS = lab.tool(
    "ask_model",
    "import json, os, urllib.error, urllib.request\n\n\ndef run() -> list[str]:\n    said = []\n    for _ in range(3):\n"
    "        data = json.dumps({'prompt': 'Say the word.'}).encode()\n        try:\n"
    "            with urllib.request.urlopen(os.environ['ALITA_BROKER'] + '/model', data=data) as answer:\n"
    "                said.append(json.load(answer)['text'])\n"
    "        except urllib.error.HTTPError as error:\n            said.append(error.read().decode())\n    return said\n",
    lab.schema(), {"type": "array", "items": lab.TEXT}, capabilities=e.Capabilities(model_calls=2),
)  # fmt: skip


@pytest.mark.walk
async def test_a_call_obeys_the_limits_of_tool_session_and_time(tmp_path: Path) -> None:
    words = Rule(role="orchestrator", match="Say the word", replies=(ScriptReply(text="swordfish"),) * 9)
    script = Script(format="alita-script/1", name="caps", rules=(words,))
    model = {"ALITA_MODEL": "openai:test-model", "OPENAI_API_KEY": "sk-not-a-real-key"}

    async def called(label: str, settings: str, name: str, **arguments: Any) -> tuple[bool, str]:
        home = lab.furnished(tmp_path / label, ASKS, lab.SLOW, settings=lab.SERVED + settings)
        with OpenAIServer(script) as server:
            async with lab.client(home, **model, ALITA_MODEL_BASE_URL=server.base_url) as one:
                found = await one.call_tool(name, arguments)
        return found.is_error or False, texts(found)

    failed, said = await called("calls", "", "ask_model")
    assert not failed and said.count("swordfish") == 2 and "2 model calls are granted" in said
    failed, said = await called("money", "[budget]\nsession_usd = 0.000001\n", "ask_model")
    assert "swordfish" not in said and said.count("for the session are spent") == 2
    failed, said = await called("time", "[sandbox]\nwall_seconds = 2\n", "take_time", seconds=60)
    assert failed and "longer than 2 s" in said


async def test_a_client_that_leaves_during_a_call_ends_it_and_this_is_recorded(tmp_path: Path) -> None:
    home = lab.furnished(tmp_path / "home", lab.SLOW)
    async with lab.client(home) as one:
        calling = asyncio.create_task(one.call_tool("take_time", {"seconds": 15}))
        await lab.until(lambda: any(b"tool_called" in path.read_bytes() for path in (home / "data" / "sessions").glob("*.journal")))  # fmt: skip
    await asyncio.wait((calling,))
    (kept,) = lab.sessions(home)
    found = lab.recorded(home, kept)
    assert isinstance(found[-1], e.SessionClosed)
    ends = [one.reason for one in found if isinstance(one, e.ToolFailed)]
    assert ends == ["interrupted"], [type(one).__name__ for one in found]
