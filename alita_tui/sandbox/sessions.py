"""Containers that an approved tool keeps for a session, because it is called again and again.

Only for code whose digest a person approved. Each call has a process and a user id of its own; in
between every process is killed and /tmp emptied. Whatever is not an ordinary end costs the container. It
has a user id for so many calls; its successor is made while it has half of them left.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from alita_tui.sandbox.container import Container, Kind
from alita_tui.sandbox.containers import Containers
from alita_tui.sandbox.report import converse
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports import Job, OnOutput
from alita_tui.spine.values import RunReport

if TYPE_CHECKING:
    from alita_tui.sandbox.broker.broker import Broker

_AFTER = 2
"""A session container is started for the second call of a digest."""
_CALLS = 500
_MOST = 2
_PATIENCE_SECONDS = 0.5
"""A call waits this long for a session container to be ready again, then a fresh one takes it."""
_ORDINARY = ("ok", "error", "exit", "bad_result")


class _Open:
    """A session container and whether it can take a job."""

    def __init__(self, container: Container, ready: asyncio.Task[bool]) -> None:
        self.container = container
        self.ready = ready
        self.busy = False
        self.last = False
        """True when it is not to be used again."""
        self.left = container.kind.calls
        """How many calls it has a user id for."""
        self.successor: _Open | None = None


class Sessions:
    """Session containers by digest and kind; those called longest ago go first."""

    def __init__(self, containers: Containers, broker: Broker | None = None) -> None:
        self._containers = containers
        self._broker = broker
        self._counts: Counter[tuple[str, Kind]] = Counter()
        self._open: OrderedDict[tuple[str, Kind], _Open] = OrderedDict()
        self._starting: set[tuple[str, Kind]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(
        self, kind: Kind, imports: frozenset[str], job: Job, on_output: OnOutput
    ) -> RunReport | None:
        """The job's report, or None where a fresh container has to take it. Raises SandboxUnavailable."""
        key = (job.digest, kind)
        self._counts[key] += 1
        if self._counts[key] < _AFTER:
            return None
        found = self._open.get(key)
        if found is None:
            self._start(key, imports)
            return None
        if found.busy:
            return None
        found.busy = True
        try:
            await asyncio.wait((found.ready,), timeout=_PATIENCE_SECONDS)
        except BaseException:
            found.busy = False
            raise
        if not found.ready.done():
            found.busy = False
            return None
        if not found.ready.result():
            self._spawn(self._containers.end(self._passed(key, found)))
            return None
        if key in self._open:
            self._open.move_to_end(key)
        try:
            report = await converse(found.container, job, on_output, self._broker)
        except BaseException:
            await asyncio.shield(self._drop(key, found))
            raise
        found.left -= 1
        if report.status in _ORDINARY and found.left and not found.last:
            found.ready = asyncio.create_task(_ready(found.container))
            found.busy = False
            if found.left == found.container.kind.calls // 2:
                self._start(key, imports)
        else:
            self._spawn(self._containers.end(self._passed(key, found)))
        return report

    async def empty(self) -> None:
        """End those that are idle now, and the others after the call that they have."""
        for key, session in list(self._open.items()):
            session.last = True
            successor, session.successor = session.successor, None
            if successor is not None:
                await self._drop(key, successor)
            if not session.busy:
                await self._drop(key, session)

    async def close(self) -> None:
        """End them all."""
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)
        for key in list(self._open):
            while session := self._open.get(key):  # its successor, too
                await self._drop(key, session)

    def _start(self, key: tuple[str, Kind], imports: frozenset[str]) -> None:
        if key not in self._starting:
            self._starting.add(key)
            self._spawn(self._make(key, imports))

    async def _make(self, key: tuple[str, Kind], imports: frozenset[str]) -> None:
        """Start one in the background. A failure is left to fresh containers, which report it."""
        kind = Kind(environment=key[1].environment, limits=key[1].limits, calls=_CALLS)
        try:
            container = await self._containers.make(kind)
            try:
                problem = await container.preload(imports)
            except BaseException:
                await self._containers.end(container)
                raise
        except (SandboxUnavailable, TimeoutError, OSError):
            return
        finally:
            self._starting.discard(key)
        if problem:
            self._counts[key] = -_CALLS  # its imports are not safe to do ahead: not soon again
            await self._containers.end(container)
            return
        session = _Open(container, asyncio.create_task(asyncio.sleep(0, True)))
        current = self._open.get(key)
        if current is not None:
            if current.last:
                await self._containers.end(container)
            else:
                current.successor = session
            return
        self._open[key] = session
        while len(self._open) > _MOST:
            oldest = next((one for one, session in self._open.items() if not session.busy), key)
            while passed := self._open.get(oldest):
                await self._drop(oldest, passed)

    async def _drop(self, key: tuple[str, Kind], session: _Open) -> None:
        await self._containers.end(self._passed(key, session))

    def _passed(self, key: tuple[str, Kind], session: _Open) -> Container:
        """Its container, which is not used any more; from this moment its successor is."""
        if self._open.get(key) is session:
            del self._open[key]
            if session.successor is not None:
                self._open[key] = session.successor
        session.ready.cancel()
        return session.container

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _ready(container: Container) -> bool:
    try:
        return not await container.ready()
    except (TimeoutError, OSError, SandboxUnavailable):
        return False
