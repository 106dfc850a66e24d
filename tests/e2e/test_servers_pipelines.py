"""Approved tools of a server beside other tools: called by a tool, by name of a result, and by an MCP client."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.toolsmith.pinning import pinned
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_jobs import both, call, run, script
from tests.e2e.test_servers import SERVER, offered, told
from tests.support import mcp_lab as lab

pytestmark = [pytest.mark.podman, pytest.mark.slow]
CALLER = '''
import json
import os
import urllib.request


def run(text: str) -> dict[str, str]:
    """Return what the server says, in capitals."""
    asked = json.dumps({"text": text}).encode()
    with urllib.request.urlopen(os.environ["ALITA_BROKER"] + "/tools/speaker_echo", data=asked) as answer:
        return {"said": json.load(answer).upper()}
'''


def furnished(shell: Any, tmp_path: Path) -> None:
    """Add a server and approve its tool, a tool that calls it, and one that takes a text."""
    folder = tmp_path / "server"
    folder.mkdir()
    shutil.copy(SERVER, folder / "main.py")
    done = shell("mcp", "add", "speaker", "--folder", str(folder), "--", "python", "main.py")
    assert done.returncode == 0, done.stderr
    digest = offered(shell, "speaker")["speaker_echo"]["digest"]
    assert shell("mcp", "approve", "speaker", "--digest", digest).returncode == 0
    (shell.home / "config.toml").write_text(lab.SERVED)
    gives = lab.schema("said", said=lab.TEXT)
    loud = lab.tool("loud", CALLER, lab.schema("text", text=lab.TEXT), gives, "Says it in capitals.",
                    capabilities=e.Capabilities(tools=("speaker_echo",)))  # fmt: skip
    app = lab.approve(shell.home, lab.WORDS)
    lab.approve(shell.home, pinned(loud, TaskLibrary(app.library))).close()
    app.close()


@pytest.mark.walk
async def test_a_client_calls_it_and_a_tool_that_calls_it(shell: Any, tmp_path: Path) -> None:
    furnished(shell, tmp_path)
    async with lab.client(
        shell.home, **{k: v for k, v in shell.environ.items() if k.startswith("ALITA_")}
    ) as one:
        (listed,) = [tool for tool in (await one.list_tools()).tools if tool.name == "speaker_echo"]
        assert listed.annotations is not None and listed.annotations.open_world_hint is True
        said = await one.call_tool("speaker_echo", {"text": "one two"})
        assert not said.is_error and "one two" in str(said.content[0])
        loud = await one.call_tool("loud", {"text": "three"})
        assert loud.structured_content == {"said": "{'TEXT': 'THREE'}"}, loud
        wrong = await one.call_tool("speaker_echo", {"text": 5})
        assert wrong.is_error and "was not run" in str(wrong.content[0])
    kept = lab.recorded(shell.home, lab.sessions(shell.home)[0])
    called = [one for one in kept if isinstance(one, e.ToolCalled)]
    assert [(one.name, one.server, one.depth) for one in called] == [
        ("speaker_echo", "speaker", 0), ("loud", "", 0), ("speaker_echo", "speaker", 1),
    ]  # fmt: skip
    assert [type(one).__name__ for one in kept].count("ServerStarted") == 1, "one start serves them all"
    assert shell("sessions", "verify").returncode == 0
    history = json.loads(shell("tools", "history", "speaker_echo", "--json").stdout)
    assert history["versions"][0]["runs"] == 2


@pytest.mark.walk
def test_the_agent_hands_its_result_on_by_reference(shell: Any, provider: str, tmp_path: Path) -> None:
    furnished(shell, tmp_path)
    replies = (
        both(run("speaker_echo", text="one two"), run("split_words", text={"$ref": "speaker_echo#"})),
        call("answer", text="The parts are in the result."),
    )
    with SERVERS[provider][0](script(*replies)) as server:
        told(shell, server, provider)
        done = shell("run", "Have it said, and split it.")
        assert done.returncode == 0, done.stderr
    events = shell.events()
    results = [one["report"]["result"] for one in events if one["kind"] == "tool_returned"]
    assert results == ["{'text': 'one two'}", ["{'text':", "'one", "two'}"]]
    second = [one for one in events if one["kind"] == "tool_called"][1]
    assert second["references"], "it is on record where the argument came from"
    assert shell("sessions", "verify").returncode == 0
