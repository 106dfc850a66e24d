"""Code with a browser that helps the page: it crashes a renderer, lets pages do what `browse` forbids, and listens."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from alita_tui.sandbox.settings import EngineSettings
from tests.sandbox.browser_lab import Browsing
from tests.sandbox.sign_in_site import PAGES, Site, serving

pytestmark = [pytest.mark.podman, pytest.mark.walk]
OPENED = """
import os, socket
from playwright.sync_api import Error, sync_playwright

def opened(url, work, *args, **context):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["ALITA_BROWSER"], args=[*args])
        page = browser.new_context(**context).new_page()
        page.goto(url)
        return work(page)
"""
CRASH = (
    OPENED
    + """
def run(url: str) -> str:
    def crash(page):
        try:
            page.goto("chrome://crash")
        except Error as error:
            return str(error)
        return "it goes on"
    return opened(url, crash)
"""
)
ASKED = """async port => { const found = []; for (const at of ['127.0.0.1', 'site.example']) {
  const peer = new RTCPeerConnection({iceServers: [{urls: `stun:${at}:${port}`}, {urls: `turn:${at}:${port}?transport=udp`,
    username: 'u', credential: 'c'}]});
  peer.createDataChannel('c'); peer.onicecandidate = event => event.candidate && found.push(event.candidate.candidate);
  await peer.setLocalDescription(await peer.createOffer());
  await new Promise(end => { const look = () => peer.iceGatheringState === 'complete' ? end() : setTimeout(look, 50);
    look(); setTimeout(end, 12000) }) }
  return found }"""
UDP = (
    OPENED
    + f"""
def run(url: str, port: int) -> dict:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.bind(("127.0.0.1", 0))
        door.setblocking(False)
        def ask(page):
            page.evaluate({ASKED!r}, port)
            return page.evaluate({ASKED!r}, door.getsockname()[1])
        found = opened(url, ask, "--allow-loopback-in-peer-connection")  # there is no other interface
        packets = 0
        try:
            while door.recv(4096):
                packets += 1
        except BlockingIOError:
            return {{"packets": packets, "candidates": found}}
"""
)
WORKER = (
    OPENED
    + """
def run(url: str, allowed: str) -> list:
    return opened(url, lambda page: page.evaluate(
        "async () => [isSecureContext, await navigator.serviceWorker.register('/service.js').then(() => 'yes', String)]"),
        service_workers=allowed)
"""
)
LEAVE = (
    "<a href='/file' download='../../out.csv'>get</a><script>for (const name of ['/env/x', '../../../tmp/tool/x.py', 'C:x'])"
    "{ const a = document.createElement('a'); a.href = '/file?' + name; a.download = name; document.body.append(a); a.click() }"
    "</script>"
)
POPUPS = (
    "<title>mine</title><body>one<script>for (let n = 0; n < 4; n++) open('/other?' + n); "
    "document.onclick = () => open('/other?clicked'); window.onblur = () => { document.body.textContent = 'blurred' }</script>"
)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for path, text in {
        "/leave": LEAVE,
        "/popups": POPUPS,
        "/other": "<title>theirs</title>theirs",
        "/file": "a,b\n1,2\n",
    }.items():
        monkeypatch.setitem(PAGES, path, text)
    with serving("site.example") as found:
        yield found


@pytest.fixture
async def browse(settings: EngineSettings, site: Site) -> AsyncIterator[Browsing]:
    browsing = Browsing(settings, site.base, PIN="not used here")
    yield browsing
    await browsing.sandbox.close()


async def test_a_crash_of_the_renderer_is_reported_and_the_next_run_works(
    browse: Browsing, site: Site
) -> None:
    crashed = await browse.run(CRASH, url=site.base + "/")
    assert crashed.status in ("ok", "error"), crashed
    assert "rash" in f"{crashed.result} {crashed.error}", crashed
    refused = await browse("/", {"do": "open", "url": "chrome://crash"})
    assert refused.status == "error" and "http:// or https://" in refused.error
    assert (await browse("/")).status == "ok"


async def test_no_packet_of_webrtc_leaves_the_browser(browse: Browsing, site: Site) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.bind(("127.0.0.1", 0))
        door.setblocking(False)
        done = await browse.run(UDP, url=site.base + "/", port=door.getsockname()[1])
        assert done.status == "ok", done
        assert done.result["packets"] == 0, "not even inside of the container"
        with pytest.raises(BlockingIOError):
            door.recv(4096)


async def test_no_page_of_browse_has_a_service_worker(browse: Browsing, site: Site) -> None:
    """The container ends with its run, so one that code of another kind allows ends with it, too."""
    blocked = await browse.run(WORKER, url=site.base + "/", allowed="block")
    assert blocked.status == "ok" and blocked.result[0] is True, blocked
    assert b"/service.js" not in site.heard
    await browse.run(WORKER, url=site.base + "/", allowed="allow")
    assert b"/service.js" in site.heard, "without `browse`'s own setting the page would have asked for it"


async def test_only_requested_downloads_are_returned(browse: Browsing, site: Site, tmp_path: Path) -> None:
    for steps, wanted in (((), ()), (({"do": "download", "on": "a", "save_as": "mine.csv"},), ("mine.csv",))):
        folder = tmp_path / f"{len(steps)}"
        folder.mkdir()
        done = await browse(
            "/leave", *steps, {"do": "wait", "seconds": 1}, {"do": "extract"}, out=str(folder)
        )
        assert done.status == "ok", done.error
        left = {file.name for file in done.files} - {"requests.jsonl", "console.jsonl"}
        assert left == {*wanted} and len([*folder.iterdir()]) == len(done.files)


async def test_popups_to_a_granted_host_change_nothing(browse: Browsing, site: Site) -> None:
    done = await browse(
        "/popups", {"do": "click", "on": "body"}, {"do": "wait", "seconds": 1}, {"do": "extract"}
    )
    assert done.status == "ok", done.error
    assert done.result["url"].endswith("/popups") and done.result["title"] == "mine"
    assert "theirs" not in str(done.result["extracted"])
