"""Containers that an approved tool keeps for a session, because it is called again and again.

Only for code whose digest a person approved. Each call has its own process and user id; after each call every process
is killed and /tmp is emptied. An irregular end of a call ends the container. It has user ids for a number of calls; its
successor is created while some of them are left. A tool with parallel calls may have one container in each lane. Where
many calls are expected, the first one in each lane waits for its container.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from alita_tui.events import RunReport
from alita_tui.sandbox.container import Container, Kind
from alita_tui.sandbox.containers import Containers, spawn
from alita_tui.sandbox.conversation import converse
from alita_tui.sandbox.policy import USER_IDS
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, OnOutput

if TYPE_CHECKING:
    from alita_tui.sandbox.broker.broker import Broker

_FIRST_CALL = 2
"""A session container is started for the second call of a digest."""
_CALLS = 2000
"""Calls that a session container takes at most: starting one costs as much as many calls."""
_CALLS_FOR_SUCCESSOR = 250
"""Calls that a container has left when its successor is created; half of all its calls if that is less."""
_MOST_CONTAINERS = 2
_PATIENCE_SECONDS = 0.5
"""How long a call waits for a session container to be ready again before a fresh container takes it."""
_Key = tuple[str, Kind, int]
"""Digest, kind and lane."""
_ORDINARY = ("ok", "error", "exit", "bad_result")


class _SessionContainer:
    """A session container, whether it is ready, and how many calls it has left."""

    def __init__(self, container: Container, ready: asyncio.Task[bool]) -> None:
        self.container = container
        self.ready = ready
        self.busy = False
        self.last = False
        """True when it must not be used again."""
        self.calls_left = container.kind.calls
        """How many calls it still has user ids for."""
        self.successor: _SessionContainer | None = None


class Sessions:
    """Session containers by digest, kind and lane; the least recently called are ended first."""

    def __init__(
        self,
        containers: Containers,
        broker: Broker | None = None,
        lanes: int = 1,
        *,
        many_calls: bool = False,
    ) -> None:
        self._containers = containers
        self._broker = broker
        self._lanes = lanes
        self._many_calls = many_calls
        self._tried: set[_Key] = set()
        """Lanes in which a container was started."""
        self._counts: Counter[tuple[str, Kind]] = Counter()
        self._open: OrderedDict[_Key, _SessionContainer] = OrderedDict()
        self._starting: set[_Key] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(
        self, kind: Kind, imports: frozenset[str], job: Job, on_output: OnOutput
    ) -> RunReport | None:
        """Return the job's report, or None where a fresh container has to take it. Raise SandboxUnavailable."""
        self._counts[job.digest, kind] += 1
        if self._counts[job.digest, kind] < (1 if self._many_calls else _FIRST_CALL):
            return None
        key = await self._lane([(job.digest, kind, lane) for lane in range(self._lanes)], imports)
        if key is None:
            return None
        session = self._open[key]
        session.busy = True
        try:
            await asyncio.wait((session.ready,), timeout=_PATIENCE_SECONDS)
        except BaseException:
            session.busy = False
            raise
        if not session.ready.done():
            session.busy = False
            return None
        if not session.ready.result() or not session.container.alive:
            spawn(self._containers.end(self._retire(key, session)), self._tasks)
            return None
        if key in self._open:
            self._open.move_to_end(key)
        try:
            report = await converse(session.container, job, on_output, self._broker)
        except BaseException:
            await asyncio.shield(self._drop(key, session))
            raise
        session.calls_left -= 1
        if report.status in _ORDINARY and session.calls_left and not session.last:
            session.ready = asyncio.create_task(_ready(session.container))
            session.busy = False
            needs_successor = session.calls_left == min(
                session.container.kind.calls // 2, _CALLS_FOR_SUCCESSOR
            )
            if needs_successor and key not in self._starting:
                self._start(key, imports)
        else:
            spawn(self._containers.end(self._retire(key, session)), self._tasks)
        return report

    async def empty(self) -> None:
        """End the idle ones now, the others after their current call."""
        for key, session in list(self._open.items()):
            session.last = True
            successor, session.successor = session.successor, None
            if successor is not None:
                await self._drop(key, successor)
            if not session.busy:
                await self._drop(key, session)

    async def close(self) -> None:
        """End all of them."""
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.gather(*map(self._empty_lane, list(self._open)))

    async def _lane(self, lanes: Sequence[_Key], imports: frozenset[str]) -> _Key | None:
        """Return a lane whose container is idle, or None; start a container in a lane that has none.

        Where many calls are expected, the first start in each lane is waited for: a fresh container would take as long
        to start, and would serve one call only.
        """
        while True:
            for lane in lanes:
                if lane in self._open and not self._open[lane].busy:
                    return lane
            empty_lanes = [lane for lane in lanes if lane not in self._open and lane not in self._starting]
            if not empty_lanes:
                return None
            must_wait = self._many_calls and empty_lanes[0] not in self._tried
            start = self._start(empty_lanes[0], imports)
            if not must_wait:
                return None
            await asyncio.wait((start,))
            if empty_lanes[0] not in self._open:
                return None

    def _start(self, key: _Key, imports: frozenset[str]) -> asyncio.Task[None]:
        """Start a container in the background, in a lane in which none is being started; return the task."""
        self._starting.add(key)
        self._tried.add(key)
        return spawn(self._make(key, imports), self._tasks)

    async def _make(self, key: _Key, imports: frozenset[str]) -> None:
        """Create one in the background. The fresh container of the next call reports a failure."""
        kind = msgspec.structs.replace(key[1], calls=min(_CALLS, calls_per_container(self._lanes)))
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
            self._counts[key[:2]] = -_CALLS  # its imports are not safe to do ahead: do not try again soon
            await self._containers.end(container)
            return
        session = _SessionContainer(container, asyncio.create_task(asyncio.sleep(0, True)))
        current = self._open.get(key)
        if current is not None:
            if current.last:
                await self._containers.end(container)
            else:
                current.successor = session
            return
        self._open[key] = session
        while len(self._open) > max(_MOST_CONTAINERS, self._lanes):
            oldest = next((idle for idle, session in self._open.items() if not session.busy), key)
            await self._empty_lane(oldest)

    async def _empty_lane(self, key: _Key) -> None:
        """End a lane's container and its successor."""
        while session := self._open.get(key):
            await self._drop(key, session)

    async def _drop(self, key: _Key, session: _SessionContainer) -> None:
        await self._containers.end(self._retire(key, session))

    def _retire(self, key: _Key, session: _SessionContainer) -> Container:
        """Return its container and put its successor in its place."""
        if self._open.get(key) is session:
            del self._open[key]
            if session.successor is not None:
                self._open[key] = session.successor
        session.ready.cancel()
        return session.container


def calls_per_container(lanes: int) -> int:
    """Return how many calls user ids suffice for: all lanes, with their successors, take less than half of the ids."""
    return max(len(USER_IDS) * 2 // 5 // (2 * lanes), 1)


async def _ready(container: Container) -> bool:
    try:
        return not await container.ready()
    except (TimeoutError, OSError, SandboxUnavailable):
        return False
