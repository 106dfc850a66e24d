"""A tool's requests to the broker, without a container."""

from __future__ import annotations

from typing import Any

from alita_tui.events import Capabilities, Lock, RunReport
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.loopback import Told, broker

LIMITS = Limits(wall_seconds=60, cpu_seconds=10, memory_bytes=256 << 20, processes=24)


HEAD = "import json, os, socket, ssl, urllib.error, urllib.request\n"


GET = HEAD + (
    "def run(url, **more):\n"
    "    request = urllib.request.Request(url, headers=more.get('headers', {}), method=more.get('method'), data=more['data'].encode() if 'data' in more else None)\n"
    "    try:\n        with urllib.request.urlopen(request) as answer: return [answer.status, dict(answer.headers), answer.read().decode('latin-1')]\n"
    "    except urllib.error.HTTPError as error: return [error.code, {}, error.read().decode()]\n"
    "    except urllib.error.URLError as error: return [0, {}, str(error.reason)]\n"
)


def nothing(*_: object) -> None:
    return


class Bench:
    """A sandbox with a broker, and what was told of."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.told = Told()
        self.sandbox: PodmanSandbox | None = None

    def open(self, names: dict[str, Any] | None = None, allowed: tuple[str, ...] = (), **more: Any) -> None:
        made = broker(self.told, names, allowed, **more)
        self.sandbox = PodmanSandbox(self.settings, "broker", broker=made)

    async def run(
        self,
        code: str,
        granted: Capabilities,
        *,
        digest: str = "approved",
        lock: Lock | None = None,
        limits: Limits = LIMITS,
        **arguments: Any,
    ) -> RunReport:
        assert self.sandbox is not None
        job = Job(
            run_id="call",
            module="tool_t",
            code=code,
            digest=digest,
            limits=limits,
            arguments=arguments,
            capabilities=granted,
            lock=lock or Lock(),
        )
        return await self.sandbox.run(job, nothing, nothing)


def net(*hosts: str, **more: Any) -> Capabilities:
    return Capabilities(network=hosts, **more)
