"""What the broker adds to a request of a tool: the same code and server, from a container and without one.

Run alone: python -m tests.benchmarks.bench_sandbox_broker
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from alita_tui.events import BrokerAnswered, Capabilities, PageLogged
from alita_tui.sandbox.broker.broker import Broker
from alita_tui.sandbox.broker.grants import Caps
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.ports.sandbox import Job
from alita_tui.web.dns import system_resolver

Row = dict[str, float | str | None]
REQUESTS, ROUNDS, BULK = 40, 9, 20_000_000
SERVER = (
    "import http.server\n"
    "class Quick(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        content = b'x' * int(self.path[1:])\n"
    "        self.send_response(200); self.send_header('Content-Length', str(len(content))); self.end_headers(); self.wfile.write(content)\n"
    "    def log_message(self, *_): pass\n"
    "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quick)\n"
    "print(server.server_port, flush=True)\n"
    "server.serve_forever()\n"
)
TOOL = (
    "import time, urllib.request\n"
    "def run(url, times):\n"
    "    taken = []\n"
    "    for path in ['/100'] * times + ['/LARGE']:\n"
    "        started = time.perf_counter()\n"
    "        urllib.request.urlopen(url + path).read()\n"
    "        taken.append((time.perf_counter() - started) * 1000)\n"
    "    return taken\n"
).replace("LARGE", str(BULK))


async def measured(
    settings: EngineSettings, port: int
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Milliseconds of small requests (medians of rounds) and of a large one, brokered and direct in turns."""

    async def tell(_: BrokerAnswered | PageLogged) -> None:
        return

    url = f"http://127.0.0.1:{port}"
    caps = Caps(burst=10_000, requests=10_000)  # the time a request takes, not the time it is held back
    broker = Broker(AddressPolicy(system_resolver, (f"127.0.0.1:{port}",)), tell, caps=caps)
    sandbox = PodmanSandbox(settings, "bench", broker=broker)
    granted = Capabilities(network=(f"127.0.0.1:{port}",))
    job = Job(
        run_id="bench",
        module="bench_tool",
        code=TOOL,
        digest="bench",
        arguments={"url": url, "times": REQUESTS},
        capabilities=granted,
    )
    script = f"{TOOL}\nimport json\nprint(json.dumps(run({url!r}, {REQUESTS})))\n"
    ours: list[float] = []
    direct: list[float] = []
    bulk: list[float] = []
    bulk_direct: list[float] = []
    try:
        for _ in range(ROUNDS):
            report = await sandbox.run(job, lambda *_: None, lambda *_: None)
            assert report.status == "ok", report
            *small, large = report.result
            ours.append(statistics.median(small[1:]))
            bulk.append(large)
            bare = await asyncio.to_thread(
                subprocess.run, [sys.executable, "-I", "-c", script], capture_output=True, check=True
            )
            *small, large = json.loads(bare.stdout)
            direct.append(statistics.median(small[1:]))
            bulk_direct.append(large)
    finally:
        await sandbox.close()
    return ours, direct, bulk, bulk_direct


def broker(results: dict[str, Row], row: Callable[..., Row]) -> None:
    """The broker's figures."""
    server = subprocess.Popen([sys.executable, "-I", "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory(prefix="alita-bench-") as name:
            settings = EngineSettings(cache_dir=str(Path(name) / "cache"))
            ours, direct, bulk, bulk_direct = asyncio.run(measured(settings, port))
    finally:
        server.kill()
        server.wait()
        assert server.stdout is not None
        server.stdout.close()
    # A request is handed on between six processes: of the rounds the one counts that nobody else cut in on.
    bare = min(direct)
    results["sandbox.broker_ms"] = row(min(ours) - bare, "ms", bare)
    speeds = [BULK / 1000 / min(taken) for taken in (bulk, bulk_direct)]
    results["sandbox.broker_mb_per_second"] = row(speeds[0], "MB/s", speeds[1])


if __name__ == "__main__":

    def plain(value: float, unit: str, baseline: float | None = None) -> Row:
        return {"value": round(value, 3), "unit": unit, "baseline": baseline and round(baseline, 3)}

    figures: dict[str, Row] = {}
    broker(figures, plain)
    for label, one in figures.items():
        print(f"{label:32} {one}")
