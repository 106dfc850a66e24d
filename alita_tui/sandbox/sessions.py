"""Containers that an approved tool keeps for a session, because it is called again and again.

Only for code whose digest a person approved. Each call has a process and a user id of its own; in
between every process is killed and /tmp emptied. Whatever is not an ordinary end costs the container.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from alita_tui.sandbox.box import Box, Boxes, Kind
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
_ORDINARY = ("ok", "error", "exit", "bad_result")


class _Open:
    """A session container and whether it can take a job."""

    def __init__(self, box: Box, ready: asyncio.Task[bool]) -> None:
        self.box = box
        self.ready = ready
        self.busy = False
        self.last = False
        """True when it is not to be used again."""


class Sessions:
    """Session containers by digest and kind; those called longest ago go first."""

    def __init__(self, boxes: Boxes, broker: Broker | None = None) -> None:
        self._boxes = boxes
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
        if not await found.ready:
            await self._drop(key)
            return None
        self._open.move_to_end(key)
        try:
            report = await converse(found.box, job, on_output, self._broker)
        except BaseException:
            await asyncio.shield(self._drop(key))
            raise
        if report.status in _ORDINARY and not found.last:
            found.ready = asyncio.create_task(_ready(found.box))
            found.busy = False
        else:
            self._spawn(self._drop(key))
        return report

    async def empty(self) -> None:
        """End those that are idle now, and the others after the call that they have."""
        for key, session in list(self._open.items()):
            session.last = True
            if not session.busy:
                await self._drop(key)

    async def close(self) -> None:
        """End them all."""
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)
        for key in list(self._open):
            await self._drop(key)

    def _start(self, key: tuple[str, Kind], imports: frozenset[str]) -> None:
        if key not in self._starting:
            self._starting.add(key)
            self._spawn(self._make(key, imports))

    async def _make(self, key: tuple[str, Kind], imports: frozenset[str]) -> None:
        """Start one in the background. A failure is left to fresh containers, which report it."""
        kind = Kind(environment=key[1].environment, limits=key[1].limits, calls=_CALLS)
        try:
            box = await self._boxes.make(kind)
            try:
                problem = await box.preload(imports)
            except BaseException:
                await self._boxes.end(box)
                raise
        except (SandboxUnavailable, TimeoutError, OSError):
            return
        finally:
            self._starting.discard(key)
        if problem:
            self._counts[key] = -_CALLS  # its imports are not safe to do ahead: not soon again
            await self._boxes.end(box)
            return
        ready: asyncio.Task[bool] = asyncio.create_task(asyncio.sleep(0, True))
        self._open[key] = _Open(box, ready)
        while len(self._open) > _MOST:
            oldest = next((one for one, session in self._open.items() if not session.busy), key)
            await self._drop(oldest)

    async def _drop(self, key: tuple[str, Kind]) -> None:
        session = self._open.pop(key, None)
        if session is not None:
            session.ready.cancel()
            await self._boxes.end(session.box)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _ready(box: Box) -> bool:
    try:
        return not await box.ready()
    except (TimeoutError, OSError, SandboxUnavailable):
        return False
