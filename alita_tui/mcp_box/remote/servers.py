"""The servers in use: started when one of their tools is called, compared with their approvals, stopped when idle.

The pinned descriptor of the called tool names the server. The server's list of tools is compared with what was
approved after connecting, after a reported change, and before a call if a minute has passed. Calls of a server in a
container run one at a time, so that each of its requests to a granted host belongs to one call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from alita_tui import events as e
from alita_tui.events import Lock, RunReport, Value, ready
from alita_tui.mcp_box.remote.answering import Answering
from alita_tui.mcp_box.remote.link import Link, LinkError
from alita_tui.mcp_box.remote.pinning import Listing, listing
from alita_tui.mcp_box.remote.results import report_of
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.sandbox import Job, RunningProgram
from alita_tui.spine.ports.servers import ServerUnavailable
from alita_tui.spine.servers import Pinned, ServerSpec
from alita_tui.spine.text import one_line

ServerEvent = e.ServerStarted | e.ServerStopped | e.ServerAsked | e.ToolSuspended
Tell = Callable[[ServerEvent], Awaitable[object]]
_FRESH_SECONDS = 60.0
_AT_ONCE = 8
_MOST_RECORDED = 20
"""Most requests recorded per start of a server, so that a flood does not fill the log."""
_ENDING_SECONDS = 1.0
_PAUSES = (5.0, 30.0, 120.0, 600.0)
"""Seconds without a new attempt after the third failure in a row, after the fourth, and so on."""


class Patience(Value, frozen=True):
    """How long to wait for a server."""

    connect_seconds: float = 45.0
    call_seconds: float = 120.0
    idle_seconds: float = 600.0


class Opening(Protocol):
    """Starts a server or connects to it. `app` provides the implementation, because it joins several packages."""

    async def __call__(
        self, spec: ServerSpec, lock: Lock, on_request: Callable[[str], None], start_id: str
    ) -> tuple[Link, RunningProgram | None]:
        """Return a link to be opened, and its program if the server runs on this machine.

        Raises AlitaError if it cannot be started.
        """


class Book(Protocol):
    """The records about servers. `app` implements it. Its methods block on the disk."""

    def check(self, spec: ServerSpec) -> None:
        """Raise UsageError for a server that is switched off or differs from what the person typed; StoreError."""

    def listed(self, spec: ServerSpec, offered: Listing, protocol: str) -> tuple[tuple[str, int, str], ...]:
        """Store what a server lists, and suspend its approved tools that have changed.

        Returns name, version and reason of each suspended tool.
        """


class _Server:
    """One server in use."""

    def __init__(self, link: Link, program: RunningProgram | None) -> None:
        self.link = link
        self.program = program
        # With one call at a time, each of the server's own requests belongs to that call.
        one_at_a_time = program is not None or link.answering is not None
        self.room = asyncio.Semaphore(1 if one_at_a_time else _AT_ONCE)
        self.current: dict[str, str] = {}
        """Code of each tool as listed now, by its name on the server."""
        self.compared_at = float("-inf")
        self.comparing = asyncio.Lock()
        self.busy = 0
        self.used_at = time.monotonic()


class Servers:
    """Implements `ServerCalls`."""

    def __init__(
        self,
        opening: Opening,
        book: Book,
        tell: Tell,
        new_id: Callable[[], str],
        patience: Patience = Patience(),  # noqa: B008  # frozen
        holds_secret: Callable[[str], bool] = lambda _: False,
        answering: Callable[[ServerSpec], Answering] | None = None,
    ) -> None:
        """`holds_secret` returns True if a listed text holds a secret value. `answering` answers a server's own
        requests; without it all of them are refused.
        """
        self._opening = opening
        self._book = book
        self._tell = tell
        self._new_id = new_id
        self._patience = patience
        self._holds_secret = holds_secret
        self._answering = answering
        self._servers: dict[str, _Server] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._failures: dict[str, tuple[int, float, str]] = {}
        """By server: failures in a row, the time of the next try, and the last reason."""
        self._background: set[asyncio.Future[object]] = set()
        self._idling: asyncio.Task[None] | None = None

    async def call(self, job: Job) -> RunReport:
        """Call the tool whose pinned descriptor is the job's code, and return the report. Raises ServerUnavailable."""
        try:
            pinned = msgspec.json.decode(job.code.encode(), type=ready(Pinned))
        except (msgspec.MsgspecError, UnicodeEncodeError) as error:
            raise ServerUnavailable(f"{job.module} is no tool of a server.") from error
        spec = pinned.server
        try:
            await asyncio.to_thread(self._book.check, spec)
        except AlitaError as error:
            raise ServerUnavailable(error.message, hint=error.hint) from error
        while True:
            server = await self._connected(spec, job.lock)
            server.busy += 1
            try:
                async with server.room:
                    if server.link.alive:  # it may have failed while this call waited for its turn
                        return await self._called(pinned, server, job)
            finally:
                server.busy -= 1
                server.used_at = time.monotonic()

    async def _called(self, pinned: Pinned, server: _Server, job: Job) -> RunReport:
        """Call a tool if it is still the approved one, and return the report. Raises ServerUnavailable."""
        await self._require_listed(pinned, server, job)
        began = time.monotonic()
        try:
            if server.program is not None:
                server.program.begin(job.run_id)
            try:
                seconds = self._patience.call_seconds
                raw = await server.link.call(pinned.tool_name, job.arguments or {}, seconds, job.run_id)
            finally:
                if server.program is not None:
                    await server.program.finish()
        except LinkError as error:
            return await self._failed(pinned.server, server, error, (time.monotonic() - began) * 1000)
        self._failures.pop(pinned.server.digest, None)
        return await asyncio.to_thread(
            report_of,
            raw,
            structured=bool(pinned.tool.get("outputSchema")),
            limits=job.limits,
            landing=Path(job.outputs) if job.outputs else None,
            milliseconds=(time.monotonic() - began) * 1000,
        )

    async def look(self, spec: ServerSpec, lock: Lock) -> tuple[Listing, str, float]:
        """Return what a server lists now, its protocol version, and the milliseconds that starting it took.

        Raises ServerUnavailable.
        """
        began = time.monotonic()
        server = await self._connected(spec, lock)
        milliseconds = (time.monotonic() - began) * 1000
        try:
            tools = await server.link.tools()
        except LinkError as error:
            raise await self._unavailable(spec, str(error)) from error
        return self._listing(spec, server, tools), server.link.protocol, milliseconds

    async def close(self) -> None:
        """End every server that was started."""
        for task in (self._idling, *self._background):
            if task is not None:
                task.cancel()
        servers, self._servers = list(self._servers.values()), {}
        await asyncio.gather(*map(_end, servers), return_exceptions=True)

    # --- one server -----------------------------------------------------------------------------

    async def _require_listed(self, pinned: Pinned, server: _Server, job: Job) -> None:
        """Raise ServerUnavailable unless the server still lists exactly this tool."""
        spec = pinned.server
        async with server.comparing:
            stale = time.monotonic() - server.compared_at > _FRESH_SECONDS
            if stale or server.link.tap.changed:
                await self._compare(spec, server)
        if server.current.get(pinned.tool_name) != job.code:
            missing = pinned.tool_name not in server.current
            raise ServerUnavailable(
                f"The server {spec.name} {'no longer has' if missing else 'has changed'} the tool "
                f"{one_line(pinned.tool_name, 80)}{'' if missing else ' since it was approved'}, so it was not called.",
                hint=f"A person looks at it and decides: alita mcp show {spec.name}",
            )

    async def _connected(self, spec: ServerSpec, lock: Lock) -> _Server:
        async with self._locks.setdefault(spec.digest, asyncio.Lock()):
            server = self._servers.get(spec.digest)
            if server is not None and server.link.alive:
                return server
            if server is not None:
                await self._drop(spec, server, server.link.broken, fault=True)
            count, until, reason = self._failures.get(spec.digest, (0, 0.0, ""))
            if time.monotonic() < until:
                wait = until - time.monotonic()
                raise ServerUnavailable(
                    f"The server {spec.name} failed {count} times in a row ({reason}). "
                    f"It is tried again in {wait:.0f} s."
                )
            return await self._start(spec, lock)

    async def _start(self, spec: ServerSpec, lock: Lock) -> _Server:
        start_id = self._new_id()
        await self._tell(
            e.ServerStarted(start_id=start_id, server=spec.name, where=spec.where, identity=spec.digest)
        )

        count = 0
        answered = spec.granted_requests if self._answering is not None else ()

        def on_request(request: str) -> None:
            nonlocal count
            count += request not in answered
            if request not in answered and count <= _MOST_RECORDED:
                self._refused(spec, request)

        try:
            link, program = await self._opening(spec, lock, on_request, start_id)
        except ServerUnavailable:
            raise
        except Exception as error:
            raise await self._unavailable(spec, getattr(error, "message", "") or str(error)) from error
        if self._answering is not None and answered:
            link.answering = self._answering(spec)
        server = _Server(link, program)
        try:
            await link.open(self._patience.connect_seconds)
        except (LinkError, asyncio.CancelledError) as error:
            reason = await _explained(str(error), program)
            await _end(server)
            if isinstance(error, asyncio.CancelledError):
                raise
            raise await self._unavailable(spec, reason) from error
        if program is not None:
            await program.finish()
        self._servers[spec.digest] = server
        if self._idling is None:
            self._idling = asyncio.create_task(self._idle())
        return server

    async def _compare(self, spec: ServerSpec, server: _Server) -> None:
        """List the tools again and suspend those that changed. Raises ServerUnavailable."""
        try:
            offered = self._listing(spec, server, await server.link.tools())
        except LinkError as error:
            if error.lost:
                await self._drop(spec, server, str(error), fault=True)
            raise await self._unavailable(spec, str(error)) from error
        server.compared_at = time.monotonic()
        names = offered.names
        server.current = {names[str(draft.name)]: draft.code for draft in offered.drafts}
        for name, version, reason in await asyncio.to_thread(
            self._book.listed, spec, offered, server.link.protocol
        ):
            await self._tell(
                e.ToolSuspended(name=e.ToolName(name), version=version, server=spec.name, reason=reason)
            )

    def _listing(self, spec: ServerSpec, server: _Server, tools: list[Any]) -> Listing:
        return listing(spec, server.link.calls_itself, tools, self._holds_secret)

    async def _failed(
        self, spec: ServerSpec, server: _Server, error: LinkError, milliseconds: float
    ) -> RunReport:
        """Return the report of a call without a result."""
        maybe = " It may have run." if error.sent else ""
        explanation = await _explained(str(error), server.program if error.lost else None)
        text = f"The server {spec.name}: {explanation}.{maybe}"
        if error.lost:
            self._count_failure(spec, str(error))
            await self._drop(spec, server, explanation, fault=True)
            return RunReport(status="killed", error=text, duration_ms=milliseconds)
        if error.timeout:
            return RunReport(status="timeout", error=text, limits_hit=("wall",), duration_ms=milliseconds)
        return RunReport(status="error", error=text, duration_ms=milliseconds)

    async def _unavailable(self, spec: ServerSpec, reason: str) -> ServerUnavailable:
        self._count_failure(spec, reason)
        await self._tell(e.ServerStopped(server=spec.name, reason=one_line(reason, 300), fault=True))
        return ServerUnavailable(
            f"The server {spec.name} cannot be used: {one_line(reason, 400)}",
            hint=f"alita mcp test {spec.name}",
        )

    def _count_failure(self, spec: ServerSpec, reason: str) -> None:
        count = self._failures.get(spec.digest, (0, 0.0, ""))[0] + 1
        pause = _PAUSES[min(count - 3, len(_PAUSES) - 1)] if count >= 3 else 0.0
        self._failures[spec.digest] = (count, time.monotonic() + pause, one_line(reason, 120))

    async def _drop(self, spec: ServerSpec, server: _Server, reason: str, *, fault: bool) -> None:
        if self._servers.get(spec.digest) is server:
            del self._servers[spec.digest]
            await self._tell(e.ServerStopped(server=spec.name, reason=one_line(reason, 300), fault=fault))
        await _end(server)

    def _refused(self, spec: ServerSpec, request: str) -> None:
        """Record a request of a server that the SDK has refused."""
        task = asyncio.ensure_future(
            self._tell(e.ServerAsked(server=spec.name, request=one_line(request, 80)))
        )
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _idle(self) -> None:
        """Stop servers that have been idle for too long, until cancelled."""
        while True:
            await asyncio.sleep(min(self._patience.idle_seconds / 4, 30.0))
            for digest, server in list(self._servers.items()):
                if not server.busy and time.monotonic() - server.used_at > self._patience.idle_seconds:
                    del self._servers[digest]
                    await _end(server)


async def _end(server: _Server) -> None:
    if server.program is not None:
        await server.program.close()
    await server.link.close()


async def _explained(reason: str, program: RunningProgram | None) -> str:
    """Return a reason, extended by how the program ended and by the last line of its stderr."""
    if program is None:
        return reason
    deadline = time.monotonic() + _ENDING_SECONDS  # its output ends a moment before the process does
    while not program.ended and time.monotonic() < deadline:  # noqa: ASYNC110  # no event reports it
        await asyncio.sleep(0.02)
    lines = bytes(program.stderr_tail).decode("utf-8", "replace").strip().splitlines()
    parts = [program.ended or reason, *([f"its last words: {one_line(lines[-1], 200)}"] if lines else [])]
    return "; ".join(parts)
