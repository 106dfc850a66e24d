"""What a remote server is sent stays there: a server that repeats it does not get it on record, nor to a client."""

from __future__ import annotations

import asyncio
import json
import webbrowser
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from alita_tui.app.context import close_all
from alita_tui.cli.main import cli
from tests.mcp_box.web_lab import oauth_lab
from tests.support.mcp_lab import client

KEY = "verysecretvalue"


@pytest.mark.slow
async def test_secrets_that_a_server_repeats_are_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_KEY", KEY)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.setattr(webbrowser, "open", lambda url: httpx2.get(url, follow_redirects=True))
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('[mcp]\nserve = ["provisional"]\n')

    async def alita(*words: str) -> str:
        done = await asyncio.to_thread(CliRunner().invoke, cli, ["--home", str(home), *words])
        close_all()
        assert done.exit_code == 0, done.output
        return str(done.output)

    with oauth_lab() as lab:
        await alita("mcp", "add", "far", lab.resource_url + "/mcp", "--header", "X-Key=FAR_KEY")
        (offer,) = json.loads(await alita("mcp", "show", "far", "--json"))["tools"]
        accepted = [word for name in ("remote-code", "network", "secret") for word in ("--accept", name)]
        await alita("mcp", "approve", "far", "--digest", offer["digest"], *accepted)
        lab.remote.mode = "echo"
        said = await alita("mcp", "test", "far", "hi") + await alita("tools", "run", "far_hi")
        async with client(home) as served:
            answer: Any = await served.call_tool("far_hi", {})
        lab.remote.mode = "tells"
        said += await alita("mcp", "test", "far") + (shown := await alita("mcp", "show", "far", "--json"))
    assert json.loads(shown)["refused"] == [["tells", "its descriptor holds a secret that is kept here"]]
    sent = lab.remote.seen[-1]
    assert sent["x-key"] == KEY and sent["authorization"].startswith("Bearer ")
    (login,) = home.rglob("logins/*.json")
    tokens = json.loads(login.read_text())["tokens"]
    for secret in (KEY, tokens["access_token"], tokens["refresh_token"]):
        assert secret not in said + answer.model_dump_json()
        written = {
            path for path in home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
        }
        assert written <= {login}
    assert "redacted" in answer.content[0].text
