import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from alita_tui.spine.ports.web import WebSettings
from alita_tui.web.client import WebRoom

Answer = tuple[int, dict[str, str], bytes]


class Site:
    """A loopback web server; routes map paths to answers or to functions of the handler."""

    def __init__(self) -> None:
        self.routes: dict[str, Answer | Callable[[BaseHTTPRequestHandler], Answer | None]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.do_GET()

            def do_GET(self):
                site.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                route = site.routes.get(urlsplit(self.path).path, (404, {}, b"nothing here"))
                answer = route(self) if callable(route) else route
                if answer is not None:
                    status, headers, body = answer
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(body)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *args):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request, client_address):
                pass  # the client hung up, which several tests want

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})

    def start(self) -> "Site":
        self._thread.start()
        return self

    def html(self, path: str, body: str | bytes, kind: str = "text/html; charset=utf-8") -> str:
        data = body.encode() if isinstance(body, str) else body
        self.routes[path] = (200, {"Content-Type": kind}, data)
        return self.url + path

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def site():
    one = Site().start()
    yield one
    one.stop()


@pytest.fixture
def other_site():
    one = Site().start()
    yield one
    one.stop()


@pytest.fixture
async def make_room():
    """Makes rooms that see an empty environment, and closes them; only those of which it is wanted ask robots.txt."""
    rooms = []

    def make(*, environ=None, resolver=None, pages=None, keys=None, clock=None, **values) -> WebRoom:
        given = {"resolver": resolver, "pages": pages, "clock": clock}
        more = {name: value for name, value in given.items() if value}
        more |= {name: values.pop(name) for name in ("max_chars", "results") if name in values}
        secret = (keys or {}).get
        values.setdefault("robots", False)
        rooms.append(WebRoom(WebSettings(**values), environ=environ or {}, secret=secret, **more))
        return rooms[-1]

    yield make
    for room in rooms:
        await room.close()


@pytest.fixture
def room(site, make_room):
    """A room that may read the site."""
    return make_room(allowed_private=(site.host,), timeout=60.0)
