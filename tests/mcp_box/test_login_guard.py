"""A server says where to log in: it cannot have anything sent into the network of the person, nor sent without end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.responses import RedirectResponse, StreamingResponse

from alita_tui.app.logins import StoredLogin
from alita_tui.mcp_box.remote.http import over_http
from alita_tui.mcp_box.remote.link import Link, LinkError
from alita_tui.mcp_box.remote.oauth import login
from alita_tui.spine.address import AddressPolicy
from alita_tui.web.dns import system_resolver
from tests.mcp_box.web_lab import OAuth, oauth_lab, running
from tests.sandbox.loopback import ROOT

NAMES = ("far.test", "login.test")
"""Names of servers that speak TLS; both are at home on loopback, as far as the resolver of these tests knows."""


class Inside:
    """Something of the person's own network, and what reached it."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.seen.append(scope["path"])
            await RedirectResponse("/")(scope, receive, send)


async def names(host: str, port: int) -> tuple[str, ...]:
    if host in (*NAMES, "localhost"):
        return ("127.0.0.1",)
    if host == "inside.test":
        return ("10.0.0.5",)
    raise OSError(host)


@contextmanager
def far_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[OAuth, AddressPolicy]]:
    """A server that is not on loopback, as far as anybody can tell, and its authorization server."""
    root = tmp_path / "root.pem"
    root.write_text(ROOT.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(root))
    lab = OAuth()
    with (
        running(lab.resource, tls=ROOT.context("far.test")) as one,
        running(lab.authorization, tls=ROOT.context("login.test")) as other,
    ):
        lab.resource_url, lab.issuer = f"https://far.test:{one}", f"https://login.test:{other}"
        yield lab, AddressPolicy(names, (f"login.test:{other}",))


async def logged_in(lab: OAuth, policy: AddressPolicy, folder: Path) -> list[str]:
    """Log in and use the server; return the pages that the person was sent to."""
    url, pages = lab.resource_url + "/mcp", []
    kept = StoredLogin(folder / "logins", url)

    async def browser(page: str) -> None:
        pages.append(page)
        async with httpx2.AsyncClient() as client:
            there = page.replace("https://login.test", "https://127.0.0.1")
            answer = await client.get(there, headers={"Host": "x"}, extensions={"sni_hostname": "login.test"})
            await client.get(answer.headers["location"])

    async with login(url, kept, kept.lock, browser, policy, lambda *_: None) as auth:
        one = Link(over_http(url, {}, policy, auth), lambda _: None)
        await one.open(60)
        try:
            assert [tool["name"] for tool in await one.tools()] == ["hi"]
        finally:
            await one.close()
    return pages


async def test_a_login_far_away_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with far_lab(tmp_path, monkeypatch) as (lab, policy):
        (page,) = await logged_in(lab, policy, tmp_path)
        assert page.startswith(lab.issuer + "/a?")


PLACES = (
    "challenge",
    "authorization_endpoint",
    "token_endpoint",
    "registration_endpoint",
    "issuer",
    "redirect",
)
ADDRESSES = ("http://127.0.0.1:{}", "https://127.0.0.1:{}", "http://localhost:{}", "http://login.test:{}")


@pytest.mark.parametrize("place", PLACES)
async def test_a_far_server_reaches_nothing_inside(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = Inside()
    with far_lab(tmp_path, monkeypatch) as (lab, policy), running(inside) as port:
        for number, address in enumerate(ADDRESSES):
            there = address.format(port)
            lab.challenge, lab.about, lab.token_answer = "", {}, None
            issuer = lab.issuer
            if place == "challenge":
                lab.challenge = there + "/metadata"
            elif place == "issuer":
                lab.issuer = there
            elif place == "redirect":
                lab.token_answer = RedirectResponse(there + "/t", status_code=307)
            else:
                lab.about = {place: there + "/x"}
            with pytest.raises(LinkError) as caught:
                await logged_in(lab, policy, tmp_path / str(number))
            lab.issuer = issuer
            if place != "redirect":
                assert "not a public address" in str(caught.value) or "TLS" in str(caught.value)
            assert inside.seen == [], f"{place} at {address}"


@pytest.mark.parametrize(
    "there",
    ["https://10.0.0.5/t", "http://169.254.169.254/t", "https://inside.test/t", "https://[fd00::1]/t"],
)
async def test_a_server_on_loopback_may_redirect_to_loopback_only(there: str, tmp_path: Path) -> None:
    async def resolved(host: str, port: int) -> tuple[str, ...]:
        return await (names if host.endswith(".test") else system_resolver)(host, port)

    with oauth_lab() as lab:
        lab.about = {"token_endpoint": there}
        with pytest.raises(LinkError, match="not a public address|TLS"):
            await logged_in(lab, AddressPolicy(resolved), tmp_path)
        lab.about = {}
        await logged_in(lab, AddressPolicy(resolved), tmp_path / "again")


class Endless:
    """An answer that never ends, in as large pieces as are read."""

    def __init__(self) -> None:
        self.sent = 0

    async def __aiter__(self) -> Any:
        yield b'{"access_token": "'
        while self.sent < 64 << 20:
            self.sent += 1 << 16
            yield b"x" * (1 << 16)
            await asyncio.sleep(0)


async def test_the_answer_to_a_login_is_bounded(tmp_path: Path) -> None:
    with oauth_lab() as lab:
        endless = Endless()
        lab.token_answer = StreamingResponse(endless.__aiter__(), media_type="application/json")
        with pytest.raises(LinkError, match="larger than 256 kB"):
            await logged_in(lab, AddressPolicy(system_resolver), tmp_path)
        assert endless.sent < 32 << 20
