"""A page that needs scripts, read by the starter `browse` in the sandbox and by the same code and browser outside of it.

Run alone: make bench SECTIONS=browser
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

import msgspec

from alita_tui.config.paths import shipped
from alita_tui.events import Capabilities
from alita_tui.registry.starters import Starters
from alita_tui.sandbox import image
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from alita_tui.spine.ports.sandbox import Job
from tests.benchmarks.bench_sandbox import MakeRow, Row, nothing, settled
from tests.replay.browser import find
from tests.sandbox.loopback import Quiet, Told, broker

CALLS = 8
PAGE = (
    b"<!doctype html><title>Stock</title><ul id=list></ul><script>for (let n = 0; n < 500; n++) "
    b"list.insertAdjacentHTML('beforeend', `<li>item ${n}`)</script>"
)


@contextmanager
def site() -> Iterator[int]:
    """A page on the loopback; its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *_: object) -> None:
            return

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def outside(script: Path, environment: str, url: str) -> float:
    """Seconds of the starter as a program of this machine, with this machine's Chromium."""
    environ = {**os.environ, "PYTHONPATH": environment, "ALITA_BROWSER": find()}
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(script)], input=json.dumps({"url": url}), capture_output=True, text=True,
            check=True, env=environ, cwd=folder,
        )  # fmt: skip
    took = time.perf_counter() - started
    assert "item 499" in done.stdout
    return took


async def _read(settings: EngineSettings, row: MakeRow, folder: Path, port: int) -> Row:
    """Seconds from a page's address to its text, in turns with the same outside."""
    draft = Starters(shipped("starters")).draft("browse", (f"site.example:{port}",))
    script = folder / "browse.py"
    script.write_text(draft.code)
    made = broker(Told(), {"site.example": "127.0.0.1"}, ("127.0.0.0/8",))
    sandbox = PodmanSandbox(settings, "bench", broker=made)
    try:
        lock = await sandbox.lock(draft.requirements, nothing, browser=True)
        environment = await sandbox.installed(lock, nothing)
        job = Job(
            run_id="bench", module="browse", code=draft.code, digest=draft.digest, lock=lock,
            arguments={"url": f"http://site.example:{port}/"},
            capabilities=Capabilities(network=(f"site.example:{port}",), browser=True),
        )  # fmt: skip
        ours, theirs = [], []
        for _ in range(CALLS + 1):
            started = time.perf_counter()
            report = await sandbox.run(job, nothing, nothing)
            ours.append(time.perf_counter() - started)
            assert report.status == "ok" and "item 499" in report.result["extracted"][0], report
            await settled(sandbox)
            theirs.append(await asyncio.to_thread(outside, script, environment, f"http://127.0.0.1:{port}/"))
        return row(statistics.median(ours[1:]), "s", statistics.median(theirs[1:]))
    finally:
        await sandbox.close()


async def _first_use(settings: EngineSettings, results: dict[str, Row], row: MakeRow) -> None:
    """Seconds and size of each image, made anew under a name of its own."""
    host = Host(settings)
    for name, recipe in (("base", image.base(settings)), ("browser", image.with_browser(settings))):
        trial = msgspec.structs.replace(recipe, tag=f"localhost/alita-bench-{name}:{os.getpid()}")
        started = time.perf_counter()
        made = await image.rebuild(host, nothing, trial)
        results[f"image.{name}_first_use_seconds"] = row(time.perf_counter() - started, "s")
        listed = await host.output("podman", "image", "inspect", "--format", "{{.Size}}", made.reference)
        results[f"image.{name}_first_use_mb"] = row(int(listed.split()[-1]) / 1e6, "MB")
        await host.output("podman", "rmi", quote(made.reference, safe="/:"))


async def _measure(results: dict[str, Row], row: MakeRow, folder: Path) -> None:
    settings = EngineSettings(cache_dir=str(folder / "cache"))
    await repair(settings, nothing)
    settings = msgspec.structs.replace(settings, browser=True, pool_hot=1, pool_warm=1)
    with site() as port:
        results["browser.page_to_text_seconds"] = await _read(settings, row, folder, port)
    await _first_use(settings, results, row)


def browser(results: dict[str, Row], row: MakeRow) -> None:
    """A page to its text by a browser in the sandbox and outside; what the first use of each image takes."""
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        asyncio.run(_measure(results, row, Path(folder)))
