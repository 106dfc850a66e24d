"""Over HTTP: several clients and processes share a home, and only who shows the token is let in."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.cli.main import cli
from alita_tui.mcp_box.serve.http import application
from alita_tui.mcp_box.serve.server import ToolServer
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.laws import check
from tests.support import mcp_lab as lab

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}  # fmt: skip
TAKES = {"Accept": "application/json, text/event-stream"}


@pytest.mark.podman
async def test_clients_of_two_processes_and_a_console_share_a_home(tmp_path: Path) -> None:
    home = lab.furnished(tmp_path / "home", lab.ADD, lab.CHART)

    async def many(url: str, era: str, name: str, number: int) -> list[Any]:
        async with lab.http_client(home, url, era, name) as one:
            calls = (one.call_tool("add_numbers", {"a": number, "b": n}) for n in range(4))
            return [found.structured_content for found in await asyncio.gather(*calls)]

    async with lab.http_server(home) as first, lab.http_server(home) as second:
        work = [
            many(url, era, f"client {place % 2}", place)
            for place, (url, era) in enumerate((url, era) for url in (first, second) for era in lab.ERAS)
        ]
        found = await asyncio.gather(*work)
        assert found == [[{"sum": place + n} for n in range(4)] for place in range(4)]
        async with lab.http_client(home, first, name="client 0") as one, lab.http_client(home, first, name="client 1") as other:  # fmt: skip
            drawn = await one.call_tool("draw_chart", {})
            uri = next(block.uri for block in drawn.content if block.type == "resource_link")
            assert (await one.read_resource(uri)).contents
            with pytest.raises(Exception, match="not found"):
                await other.read_resource(uri)
    app = AppContext.open(home)
    assert {one.draft.name: one.runs for one in app.library.records()} == {"add_numbers": 16, "draw_chart": 1}
    for path in lab.sessions(home):
        assert check(recording(app, path.stem), complete=True) == []
    assert len(lab.sessions(home)) == 4, "one of each client name in each process"
    app.close()


async def test_every_request_without_the_token_is_refused(tmp_path: Path) -> None:
    home = lab.furnished(tmp_path / "home", lab.ADD)
    async with lab.http_server(home) as url, httpx.AsyncClient() as web:
        kept = home / "mcp.token"
        token = kept.read_text().strip()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600 and len(token) >= 32
        port = url.split(":")[2].split("/")[0]

        async def status(auth: str | None = f"Bearer {token}", **headers: str) -> int:
            told = {**TAKES, **headers} | ({"Authorization": auth} if auth is not None else {})
            return (await web.post(url, json=HELLO, headers=told)).status_code

        assert await status() == 200
        for other in (None, "", "Bearer", f"Bearer {token[:-1]}", f"bearer  {token}", f"Basic {token}", token, f"Bearer {token}x"):  # fmt: skip
            assert await status(other) == 401, other
        right, wrong = ("Authorization", f"Bearer {token}"), ("Authorization", "Bearer x")
        for twice in ((right, wrong), (wrong, right), (right, right)):
            assert (await web.post(url, json=HELLO, headers=[*twice, *TAKES.items()])).status_code == 401
        assert (await web.post(f"{url}?token={token}", json=HELLO, headers=TAKES)).status_code == 401
        assert (
            await web.post(url, json=HELLO, headers={**TAKES, "Cookie": f"token={token}"})
        ).status_code == 401

        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"localhost.evil:{port}", "127.0.0.1:1", f"127.0.0.1.nip.io:{port}"):  # fmt: skip
            assert await status(Host=host) == 421, host
        assert await status(Host=f"localhost:{port}") == 200
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", "http://localhost:1", f"http://localhost:{port}.evil", "http://127.0.0.1"):  # fmt: skip
            assert await status(Origin=origin) == 403, origin
        assert await status(Origin=f"http://localhost:{port}") == 200

        mine = await web.post(url, json=HELLO, headers={**TAKES, "Authorization": f"Bearer {token}"})
        session = mine.headers["mcp-session-id"]
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        stolen = await web.post(url, json=listing, headers={**TAKES, "Mcp-Session-Id": session})
        assert stolen.status_code == 401, "a session's id opens nothing"
        for path in ("/", "/mcp/../x", "/docs", "/openapi.json"):
            assert (await web.get(url[: url.rindex("/")] + path)).status_code == 401
        huge = await web.post(
            url, content=b" " * (17 << 20), headers={**TAKES, "Authorization": f"Bearer {token}"}
        )
        assert huge.status_code == 413


def refused(home: Path, *words: str) -> str:
    done = CliRunner().invoke(cli, ["--home", str(home), "mcp", "serve", *words])
    assert isinstance(done.exception, AlitaError), done.output
    return str(done.exception)


def test_an_address_that_cannot_be_served_is_reported(tmp_path: Path) -> None:
    home = lab.furnished(tmp_path / "home", lab.ADD)
    assert "without a token" in refused(home, "--http", "0.0.0.0:0", "--no-token")
    assert "without a token" in refused(home, "--http", "[::]:0", "--no-token")
    assert "not an address" in refused(home, "--http", "127.0.0.1")
    assert "--http" in refused(home, "127.0.0.1:0")
    token = home / "mcp.token"
    token.write_text("x" * 40)
    token.chmod(0o644)
    assert "Others can read" in refused(home, "--http", "127.0.0.1:0")
    token.chmod(0o600)
    token.write_text("short")
    assert "holds no token" in refused(home, "--http", "127.0.0.1:0")
    token.unlink()
    token.symlink_to(home / "config.toml")
    assert "cannot be read" in refused(home, "--http", "127.0.0.1:0")


async def test_silent_connections_do_not_block_others(tmp_path: Path) -> None:
    """Any account of this machine can connect; without a request it is cut off before it takes the room of others."""
    home = lab.furnished(tmp_path / "home", lab.ADD)
    async with lab.http_server(home) as url:
        port = int(url.rsplit(":", 1)[1].partition("/")[0])
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(256)]
        async with asyncio.timeout(180):
            for reader, _ in silent:
                assert await reader.read() == b""
        for _, writer in silent:
            writer.close()
        async with lab.http_client(home, url) as one:
            assert (await one.list_tools()).tools


def test_a_configured_host_name_is_accepted_behind_tls() -> None:
    tools = ToolServer(cast(Any, None), "1", listed=30)
    app = application(tools, "", "0.0.0.0", 8765, ("alita.example.org",))
    with TestClient(app) as web:
        for origin, code in (("https://alita.example.org", 200), ("https://evil.example", 403), ("", 200)):
            headers = {**TAKES, "Host": "alita.example.org", **({"Origin": origin} if origin else {})}
            assert web.post("/mcp", json=HELLO, headers=headers).status_code == code, origin
        assert web.post("/mcp", json=HELLO, headers={**TAKES, "Host": "evil.example"}).status_code == 421
