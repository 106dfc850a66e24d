"""What clients may read besides tools: nothing, unless the settings offer it; never a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from alita_tui.app.context import AppContext
from alita_tui.app.serving.library import Serving
from alita_tui.events import MemoryItem
from alita_tui.events.memory import RecipeStep
from alita_tui.mcp_box.serve.server import ToolServer
from tests.cli.audited import SESSION, TOOL, Shell
from tests.support import mcp_lab as lab

OFFERED = '[mcp]\nserve = ["*"]\noffers = ["recipes", "transcripts", "audit"]\n'
SECRET = "hunter2-hunter2"


def remember(home: Path) -> None:
    app = AppContext.open(home)
    for number, tool in enumerate((TOOL, "withdrawn_tool")):
        step = RecipeStep(tool=tool, arguments={"addresses": {"$param": "addresses"}})  # type: ignore[arg-type]
        app.memory.write(MemoryItem(item_id=f"r{number}", memory="procedural", text=f"Check {SECRET} addresses", tools=(tool,), steps=(step,)))  # fmt: skip
    app.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Shell(tmp_path)
    monkeypatch.setenv("MY_WORD", SECRET)
    remember(tmp_path)
    (tmp_path / "config.toml").write_text(f'{OFFERED}[privacy]\nredact = ["$MY_WORD"]\n')
    return tmp_path


async def text_of(one: Client, uri: str) -> str:
    (content,) = (await one.read_resource(uri)).contents
    return str(getattr(content, "text", ""))


async def test_recipes_transcripts_and_audits_are_read_where_they_are_offered(home: Path) -> None:
    serving = Serving(AppContext.open(home))
    async with Client(ToolServer(serving, "1", listed=30).server) as one:
        (prompt,) = (await one.list_prompts()).prompts
        assert [one.name for one in prompt.arguments or ()] == ["addresses"], (
            "a recipe of a tool that is served"
        )
        found = await one.get_prompt(prompt.name, {"addresses": "a@b.org"})
        said: Any = found.messages[0].content
        assert TOOL in said.text and "a@b.org" in said.text and SECRET not in said.text
        with pytest.raises(MCPError, match="needs addresses"):
            await one.get_prompt(prompt.name, {})
        uris = {str(one.uri) for one in (await one.list_resources()).resources}
        assert f"alita://transcript/{SESSION}" in uris and f"alita://audit/{TOOL}" in uris
        transcript = await text_of(one, f"alita://transcript/{SESSION}")
        assert TOOL in transcript and "\x1b" not in transcript
        audit = await text_of(one, f"alita://audit/{TOOL}")
        assert "approved by" in audit and "sha256" in audit
        for nowhere in ("alita://audit/nobody", "alita://transcript/../../x", "alita://transcript/20200101-000000-aaaa", "alita://audit/", "alita://config/x"):  # fmt: skip
            with pytest.raises(MCPError, match="not found"):
                await one.read_resource(nowhere)
    await serving.close()


async def test_transcripts_audits_and_recipes_are_not_offered_by_default(home: Path) -> None:
    (home / "config.toml").write_text('[mcp]\nserve = ["*"]\n')
    serving = Serving(AppContext.open(home))
    async with Client(ToolServer(serving, "1", listed=30).server) as one:
        assert (await one.list_prompts()).prompts == [] and (await one.list_resources()).resources == []
        for kept in (f"alita://transcript/{SESSION}", f"alita://audit/{TOOL}"):
            with pytest.raises(MCPError, match="not found"):
                await one.read_resource(kept)
        with pytest.raises(MCPError, match="Unknown prompt"):
            await one.get_prompt("recipe_00000000", {})
    await serving.close()


def test_importing_the_command_imports_no_sdk() -> None:
    import subprocess
    import sys

    words = "import sys, alita_tui.cli.mcp, alita_tui.app.serving.install; sys.exit('mcp' in sys.modules or 'mcp_types' in sys.modules)"  # fmt: skip
    assert (
        subprocess.run(
            [sys.executable, "-c", words], env=lab.environ(Path("/nowhere")), check=False
        ).returncode
        == 0
    )
