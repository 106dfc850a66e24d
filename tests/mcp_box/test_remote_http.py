"""Servers by their address, over real HTTP: headers stay where they belong, answers are bounded, logins survive."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import keyring
import pytest

from alita_tui.app.logins import StoredLogin
from alita_tui.mcp_box.remote.http import over_http
from alita_tui.mcp_box.remote.link import Link, LinkError
from alita_tui.mcp_box.remote.oauth import login, quiet_login
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.ports.servers import ServerUnavailable
from alita_tui.web.dns import system_resolver
from tests.llm.keyrings import Drawer
from tests.mcp_box.web_lab import OAuth, Remote, oauth_lab, running

POLICY = AddressPolicy(system_resolver)


def unlearned(_: str, __: str) -> None:
    """No record is kept here that could hold a secret."""


def link(
    url: str,
    headers: dict[str, str] | None = None,
    auth: httpx2.Auth | None = None,
    policy: AddressPolicy = POLICY,
) -> Link:
    return Link(over_http(url, headers or {}, policy, auth), lambda _: None)


async def hello(one: Link) -> str:
    await one.open(20)
    try:
        assert [tool["name"] for tool in await one.tools()] == ["hi"]
        return str((await one.call("hi", {}, 20))["content"][0]["text"])
    finally:
        await one.close()


async def test_headers_go_to_the_server_and_nowhere_else() -> None:
    remote, other = Remote(), Remote()
    with running(remote) as port, running(other) as elsewhere:
        url = f"http://127.0.0.1:{port}/mcp"
        assert await hello(link(url, {"X-Key": "verysecret"})) == "hello"
        assert all(seen["x-key"] == "verysecret" for seen in remote.seen)
        remote.mode, remote.elsewhere = "redirect", f"http://127.0.0.1:{elsewhere}/mcp"
        with pytest.raises(LinkError):
            await link(url, {"X-Key": "verysecret"}).open(20)
    assert other.seen == []


@pytest.mark.parametrize("mode", ["bomb", "huge", "down"])
async def test_an_oversized_or_missing_answer_is_an_error(mode: str) -> None:
    remote = Remote()
    remote.mode = mode
    with running(remote) as port:
        with pytest.raises(LinkError):
            await link(f"http://127.0.0.1:{port}/mcp").open(20)


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_an_endless_event_is_read_up_to_the_limit(method: str) -> None:
    remote = Remote()
    remote.mode = f"endless {method}"
    with running(remote) as port:
        one = link(f"http://127.0.0.1:{port}/mcp")
        if method == "POST":
            with pytest.raises(LinkError):
                await one.open(60)
        else:  # the stream beside the calls: they go on without it
            await one.open(60)
            assert await asyncio.to_thread(remote.given_up.wait, 180)
            assert [tool["name"] for tool in await one.tools()] == ["hi"]
        await one.close()
    assert 0 < remote.sent < 64 << 20


async def test_an_answer_of_some_megabytes_is_accepted() -> None:
    remote = Remote()
    remote.mode = "long"
    with running(remote) as port:
        assert await hello(link(f"http://127.0.0.1:{port}/mcp")) == "hello" * 10**6


async def test_a_closed_port_is_an_error_at_once() -> None:
    with running(Remote()) as port:
        pass
    with pytest.raises(LinkError):
        await link(f"http://127.0.0.1:{port}/mcp").open(20)


async def browser(url: str) -> None:
    """What a person's browser does: it follows redirects to our own port."""
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        await client.get(url)


async def log_in(lab: OAuth, kept: StoredLogin) -> str:
    url = lab.resource_url + "/mcp"
    async with login(url, kept, kept.lock, browser, POLICY, unlearned) as auth:
        return await hello(link(url, auth=auth))


async def quietly(lab: OAuth, kept: StoredLogin) -> str:
    url = lab.resource_url + "/mcp"
    return await hello(link(url, auth=await quiet_login(url, kept, kept.lock, "far", unlearned)))


async def test_a_login_survives_restarts_and_is_refreshed_at_its_own_server(tmp_path: Path) -> None:
    with oauth_lab(lifetime=12.0) as lab:  # refreshed ten seconds early
        kept = StoredLogin(tmp_path / "logins", lab.resource_url + "/mcp")
        with pytest.raises(LinkError, match="asks for a login"):
            await quietly(lab, kept)
        lab.log.clear()
        assert await log_in(lab, kept) == "hello"
        assert [one for one in lab.log if one in ("register", "authorize", "authorization_code")] == [
            "register", "authorize", "authorization_code"
        ]  # fmt: skip
        (file,) = (tmp_path / "logins").glob("*.json")
        assert file.stat().st_mode & 0o777 == 0o600
        lab.log.clear()
        await asyncio.sleep(2.1)
        assert await quietly(lab, kept) == "hello"
        assert lab.log == ["refresh_token"], "silently, and at the authorization server"


async def test_a_server_may_require_a_second_login_during_the_first(tmp_path: Path) -> None:
    with oauth_lab() as lab:
        kept = StoredLogin(tmp_path / "logins", kept_url(lab))
        async with login(kept_url(lab), kept, kept.lock, browser, POLICY, unlearned) as auth:
            assert await hello(link(kept_url(lab), auth=auth)) == "hello"
            lab.expire()
            assert await hello(link(kept_url(lab), auth=auth)) == "hello"
        assert lab.log.count("authorization_code") == 2


async def test_two_processes_refresh_once(tmp_path: Path) -> None:
    with oauth_lab(lifetime=11.5) as lab:
        kept = StoredLogin(tmp_path / "logins", lab.resource_url + "/mcp")
        assert await log_in(lab, kept) == "hello"
        await asyncio.sleep(1.7)
        lab.lifetime = 60.0
        lab.log.clear()
        both = await asyncio.gather(
            *(quietly(lab, StoredLogin(tmp_path / "logins", kept_url(lab))) for _ in range(2))
        )
        assert both == ["hello", "hello"]
        assert lab.log == ["refresh_token"]


def kept_url(lab: OAuth) -> str:
    return lab.resource_url + "/mcp"


def without_tokens(kept: StoredLogin) -> int:
    """Take the tokens of a login away, as a server does that revokes them; return the port that was registered."""
    stored = json.loads(kept.read())
    kept.write(json.dumps({key: value for key, value in stored.items() if key not in ("tokens", "expires")}))
    return int(stored["port"])


async def test_a_login_comes_back_to_the_port_that_was_registered_or_registers_another(
    tmp_path: Path,
) -> None:
    with oauth_lab() as lab:
        kept = StoredLogin(tmp_path / "logins", kept_url(lab))
        assert await log_in(lab, kept) == "hello"
        for _ in range(5):  # on a busy machine another program may have got the port meanwhile
            port = without_tokens(kept)
            lab.log.clear()
            assert await log_in(lab, kept) == "hello"
            if "register" not in lab.log:
                break
        assert "register" not in lab.log and "authorize" in lab.log
        assert without_tokens(kept) == port
        lab.log.clear()
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):  # then it is taken already
                other.bind(("127.0.0.1", port))
                other.listen()
            assert await log_in(lab, kept) == "hello"
        assert "register" in lab.log and "authorize" in lab.log
        assert without_tokens(kept) != port


async def test_only_the_expected_redirect_is_accepted_and_then_the_port_is_closed(tmp_path: Path) -> None:
    """Any page that is open in a browser can send a request to a port of this machine."""
    said: list[tuple[str, int]] = []

    async def beset(page: str) -> None:
        back = parse_qs(urlsplit(page).query)["redirect_uri"][0]
        async with httpx2.AsyncClient() as client:
            for path in ("/?code=stolen", "/other?code=stolen", "/callback", "/callback/x?code=stolen"):
                answer = await client.get(urljoin(back, path))
                said.append((path, answer.status_code))
        await browser(page)

    async def foreign(page: str) -> None:
        back = parse_qs(urlsplit(page).query)["redirect_uri"][0]
        await browser(f"{back}?code=stolen&state=guessed")

    with oauth_lab() as lab:
        kept = StoredLogin(tmp_path / "logins", kept_url(lab))
        async with login(kept_url(lab), kept, kept.lock, foreign, POLICY, unlearned) as auth:
            with pytest.raises(LinkError, match="[Ss]tate"):
                await link(kept_url(lab), auth=auth).open(60)
        assert "authorization_code" not in lab.log, "a code that was not asked for is not handed in"
        async with login(kept_url(lab), kept, kept.lock, beset, POLICY, unlearned) as auth:
            assert await hello(link(kept_url(lab), auth=auth)) == "hello"
        assert [status for _, status in said] == [404] * 4
        port = json.loads(kept.read())["port"]
        with pytest.raises(ConnectionError):
            await asyncio.open_connection("127.0.0.1", port)


async def test_tokens_are_stored_in_the_keyring_if_there_is_one(tmp_path: Path) -> None:
    before, drawer = keyring.get_keyring(), Drawer()
    keyring.set_keyring(drawer)
    try:
        with oauth_lab() as lab:
            kept = StoredLogin(tmp_path / "logins", kept_url(lab))
            assert await log_in(lab, kept) == "hello"
            assert "access_token" in json.loads(kept.read())["tokens"]
            assert await quietly(lab, StoredLogin(tmp_path / "logins", kept_url(lab))) == "hello"
            assert not list((tmp_path / "logins").glob("*.json"))
            kept.forget()
            assert kept.read() == ""
    finally:
        keyring.set_keyring(before)


def test_a_remote_tool_from_its_address_to_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the commands: nothing of it needs a container, and the secret of the header is nowhere written."""
    from typer.testing import CliRunner

    from alita_tui.app.context import close_all
    from alita_tui.cli.main import cli

    monkeypatch.setenv("FAR_KEY", "verysecretvalue")
    home = str(tmp_path / "home")

    def alita(*words: str) -> str:
        done = CliRunner().invoke(cli, ["--home", home, *words])
        close_all()
        wrong = done.exception
        assert wrong is None or isinstance(wrong, SystemExit | ServerUnavailable), wrong
        return f"{done.output}{wrong or ''}"

    remote = Remote()
    with running(remote) as port:
        added = alita("mcp", "add", "far", f"http://127.0.0.1:{port}/mcp", "--header", "X-Key=FAR_KEY")
        assert "far_hi" in added and "remote-code" in added
        (offer,) = json.loads(alita("mcp", "show", "far", "--json"))["tools"]
        accepted = [word for name in ("remote-code", "network", "secret") for word in ("--accept", name)]
        assert "approved: far_hi v1" in alita("mcp", "approve", "far", "--digest", offer["digest"], *accepted)
        assert "hello" in alita("tools", "run", "far_hi")
        assert all(seen["x-key"] == "verysecretvalue" for seen in remote.seen)
        assert "1 approved" in alita("mcp", "list")
        alita("mcp", "disable", "far")
        remote.seen.clear()
        assert "switched off" in alita("tools", "run", "far_hi") and not remote.seen
        alita("mcp", "enable", "far")
        assert "hello" in alita("tools", "run", "far_hi")
    written = [path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert not any(b"verysecretvalue" in one for one in written)
