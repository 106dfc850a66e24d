"""Servers on loopback for tools to talk to through the broker, and a broker that knows their names."""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from typing import Any
from urllib.parse import parse_qs, urlsplit

from alita_tui.events import BrokerAnswered, PageLogged
from alita_tui.sandbox.broker.broker import Broker
from alita_tui.sandbox.broker.tls import Authority
from alita_tui.spine.address import AddressPolicy
from tests.support.disguising import FORMS, PACKED

ROOT = Authority()
"""Signs the test servers' certificates."""


@dataclass
class Site:
    """One server and what reached it."""

    port: int = 0
    seen: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0
    heard: str = ""
    """The value that a request brought last."""


def handler(site: Site) -> type[BaseHTTPRequestHandler]:  # noqa: C901  # one match over all paths
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            site.connections += 1

        def answer(self) -> None:
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else b""
            if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            said = {
                "method": self.command,
                "path": self.path,
                "headers": {k.lower(): v for k, v in self.headers.items()},
                "body": body.decode("latin-1"),
            }
            site.seen.append(said)
            match url.path:
                case "/redirect":
                    self.send_response(302)
                    self.send_header("Location", query["to"])
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                case "/big":
                    self.reply(b"x" * int(query["n"]))
                case "/chunked":
                    self.send_response(200)
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    for piece in (b"one", b"two" * 30_000, b"three"):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.write(b"0\r\n\r\n")
                case "/form":
                    site.heard = (self.headers.get("Authorization") or "").removeprefix(
                        "Bearer "
                    ) or site.heard
                    forms = {**FORMS, **PACKED}
                    self.reply(forms[query["form"]][0](site.heard))
                case "/no-http":
                    self.wfile.write(f"HTTP/1.1 what? {self.headers.get('Authorization')}\r\n\r\n".encode())
                    self.close_connection = True
                case "/endless-headers":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-Long: y\r\n" * 10_000 + b"\r\n")
                case "/cut":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                    self.close_connection = True
                case _:
                    self.reply(json.dumps(said).encode(), repeated=self.headers.get("Authorization") or "")

        def reply(self, content: bytes, *, repeated: str = "") -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            if repeated:
                self.send_header("X-Repeated", repeated)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_CONNECT = answer

        def log_message(self, *_: object) -> None:
            return

    return Handler


class Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        """Clients that hang up are what some tests are about."""


@contextmanager
def answering(server: Quiet) -> Iterator[None]:
    """The server answers while this lasts."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving(name: str = "") -> Iterator[Site]:
    """A server; with a name it speaks TLS under it."""
    site = Site()
    server = Quiet(("127.0.0.1", 0), handler(site))
    site.port = server.server_address[1]
    if name:
        server.socket = ROOT.context(name).wrap_socket(server.socket, server_side=True)
    with answering(server):
        yield site


@dataclass
class Middle:
    """A proxy that leads every name to loopback, and what it was asked."""

    port: int = 0
    asked: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)


@contextmanager
def proxying(answer: int = 200) -> Iterator[Middle]:
    """A forward proxy, for tunnels and for plain requests."""
    middle = Middle()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            first = self.rfile.readline().decode()
            lines = list(takewhile(bytes.strip, iter(self.rfile.readline, b"")))
            if not first:  # hung up without a word
                return
            middle.asked.append(" ".join(first.split()[:2]))
            middle.known += [
                line.decode().split(": ")[1].strip()
                for line in lines
                if line.lower().startswith(b"proxy-authorization")
            ]
            tunnel = first.startswith("CONNECT")
            place = first.split()[1] if tunnel else urlsplit(first.split()[1]).netloc
            if answer != 200:
                self.wfile.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % answer)
                return
            with socket.create_connection(("127.0.0.1", int(place.rpartition(":")[2]))) as host:
                if tunnel:
                    self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    host.sendall(
                        "".join([first.replace(f"http://{place}", "", 1)]).encode()
                        + b"".join(lines)
                        + b"\r\n"
                    )
                back = threading.Thread(target=pour, args=(host, self.connection))
                back.start()
                pour(self.connection, host)
                back.join()

    def pour(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, *_: object) -> None:
            """Clients that hang up are what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    middle.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield middle
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def closed_door() -> Iterator[socket.socket]:
    """A port of the host that nobody may reach."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        door.setblocking(False)
        yield door


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=ROOT.certificate)


class Told(list[BrokerAnswered]):
    """Every request that a broker told of."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[PageLogged] = []
        """What pages wrote to their consoles."""

    async def __call__(self, answered: BrokerAnswered | PageLogged) -> None:
        if isinstance(answered, PageLogged):
            self.pages.append(answered)
        else:
            self.append(answered)


def broker(
    told: Told,
    names: dict[str, Any] | None = None,
    allowed: tuple[str, ...] = (),
    *,
    asked: dict[str, int] | None = None,
    both: dict[str, tuple[str, ...]] | None = None,
    **more: Any,
) -> Broker:
    """A broker whose names resolve as given: to an address, or to one after the other at each question.

    Names in `both` have several addresses; how often each name was asked for is counted in `asked`.
    """
    answers = {
        name: [found] if isinstance(found, str) else list(found) for name, found in (names or {}).items()
    }
    counts = {} if asked is None else asked

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        counts[host] = counts.get(host, 0) + 1
        if both and host in both:
            return both[host]
        if host not in answers:
            raise OSError("no such name")
        return (answers[host].pop(0) if len(answers[host]) > 1 else answers[host][0],)

    return Broker(
        AddressPolicy(resolve, allowed, setting="sandbox.allowed_private"), told, trust=trusting(), **more
    )
