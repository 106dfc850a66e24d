"""Programs that live in a container of their own and speak over stdin and stdout: MCP servers.

A container is created, attested and granted capabilities as for any run; the warden starts the program and forwards its
pipes (`warden/program.py`). Grants hold only while a call runs: between calls every request is refused and every
connection is closed, so each request belongs to one call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from alita_tui.events import ready
from alita_tui.sandbox.broker.streams import FRAMES, Stream, Violation
from alita_tui.sandbox.channel import parse
from alita_tui.sandbox.container import Container
from alita_tui.sandbox.memory_watch import beyond
from alita_tui.sandbox.warden.program import STDIO
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, Program

if TYPE_CHECKING:
    from alita_tui.sandbox.broker.broker import Broker, RunBroker

_TAIL = 16_000
_THROUGH_PROXY = {"NODE_USE_ENV_PROXY": "1", "NODE_EXTRA_CA_CERTS": "/tmp/tool/broker.pem"}  # noqa: S108
"""What node needs besides the usual variables to reach the broker."""


class RunningProgram:
    """Implements `spine.ports.sandbox.RunningProgram`."""

    def __init__(
        self,
        container: Container,
        end: Callable[[], Awaitable[None]],
        run: RunBroker | None,
        program: Program,
    ) -> None:
        self._container = container
        self._end = end
        self._run = run
        self._program = program
        self._stdio = Stream(STDIO, container.channel.send)
        self._tasks: list[asyncio.Task[None]] = []
        self._closing: asyncio.Task[None] | None = None
        self.stderr_tail = bytearray()
        """The tail of its stderr."""
        self.ended = ""
        """Why it ended, in one line; empty while it lives."""

    async def start(self) -> None:
        """Have the warden start it. Raise ConnectionError where the container is gone."""
        if problem := await self._container.preload(frozenset()):
            raise ConnectionError(problem)
        door = json.loads(self._run.settings) if self._run is not None else None
        if door and door["environment"].get("http_proxy"):
            door["environment"].update(
                {name: value for name, value in _THROUGH_PROXY.items() if name[5] == "U" or door["files"]}
            )
        order = {"argv": self._program.argv, "env": dict(self._program.env), "door": door}
        await self._container.channel.send(b"S", json.dumps(order).encode())
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._within_memory())]

    async def read(self) -> bytes:
        """Return some bytes of its stdout; none at the end."""
        return await self._stdio.read()

    async def write(self, data: bytes) -> None:
        """Write to its stdin, waiting until the warden takes it. Raise ConnectionError where it has ended."""
        if self.ended:
            raise ConnectionError(self.ended)
        await self._stdio.write(data)

    async def finish_input(self) -> None:
        """End its standard input."""
        await self._stdio.end()

    def begin(self, call_id: str) -> None:
        """Grant it its capabilities for this call."""
        if self._run is not None:
            self._run.grants.begin(call_id)

    async def finish(self) -> None:
        """Withdraw the grants: requests are refused from now on, and connections are closed."""
        if self._run is not None:
            self._run.grants.end()
            await self._run.connections.cut()
            await self._run.grants.record_rest()

    async def close(self) -> None:
        """End everything in its container."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self.ended = self.ended or "it was stopped"
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._end_streams()
        if self._run is not None:
            await self._run.close()
        await self._end()

    async def _listen(self) -> None:
        try:
            while (frame := await self._container.channel.receive()) is not None:
                kind, payload = frame
                if kind == b"D":
                    self.ended = _end_reason(payload)
                    break
                if kind == b"E":
                    self.stderr_tail = (self.stderr_tail + payload)[-_TAIL:]
                elif kind in FRAMES and payload[:4] == STDIO.to_bytes(4, "big"):
                    self._stdio.take(kind, payload[4:])
                elif kind in FRAMES and self._run is not None:
                    self._run.connections.take(kind, payload)
        except (Violation, SandboxUnavailable) as error:
            self.ended = str(error)
        self.ended = self.ended or "its container ended"
        self._end_streams()

    def _end_streams(self) -> None:
        """Wake readers, who then see the end, and writers."""
        with suppress(Violation):
            self._stdio.take(b"X", b"")
        self._stdio.take(b"K", (1 << 30).to_bytes(4, "big"))

    async def _within_memory(self) -> None:
        if self._container.pid:
            bytes_held = await beyond(self._container.pid, self._program.limits)
            self.ended = f"its container held {bytes_held >> 20} MB, and was ended from outside"
            await self._container.end()


def job_of(program: Program) -> Job:
    """Return a job without a call that represents a program to the broker."""
    return Job(run_id="", module="server", code="", capabilities=program.capabilities, limits=program.limits)


async def opened(
    container: Container, end: Callable[[], Awaitable[None]], broker: Broker | None, program: Program
) -> RunningProgram:
    """Return a program that runs in this container. Raise SandboxUnavailable; the container is then ended."""
    run: RunBroker | None = None
    try:
        if broker is not None and not program.capabilities.none:
            run = await broker.open(job_of(program), container.channel.send, lambda _: None)
        running = RunningProgram(container, end, run, program)
        await running.start()
        return running
    except (ConnectionError, TimeoutError) as error:
        raise SandboxUnavailable(f"The container was gone before its program began: {error}") from error


def _end_reason(payload: bytes) -> str:
    try:
        report = msgspec.convert(parse(payload), ready(dict[str, object]))
    except (ValueError, msgspec.ValidationError):
        return "it ended, and its report cannot be read"
    if limits_hit := report.get("limits_hit"):
        return f"it exceeded its limit of {str(limits_hit)[2:-2][:20]}"
    if report.get("signal") is not None:
        return f"it was killed by signal {report['signal']}"
    return f"it ended with exit code {report.get('exit_code')}"
