"""Containers that are started ahead: each is used once and thrown away, and another takes its place.

Hot ones have the imports of the last tool done, warm ones nothing; both answer at once. They are
made in the background, when no run is waiting for the processor.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from alita_tui.sandbox.container import Container, Kind
from alita_tui.sandbox.containers import Containers
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.inventory import PoolRow

_AT_ONCE = 2
_PATIENCE_SECONDS = 0.25
"""How long a refill waits for the runs of the moment: a run that lasts must not starve the pool."""


class Stock:
    """The containers that wait for one kind of job."""

    def __init__(self) -> None:
        self.containers: list[Container] = []
        self.making = 0
        self.heating = 0
        self.wanted: frozenset[str] = frozenset()
        """Imports of the last job."""
        self.before: frozenset[str] = frozenset()
        """Imports of the job before that."""
        self.refused: set[frozenset[str]] = set()
        """Imports that are not safe to do ahead."""

    def fitting(self, imports: frozenset[str]) -> Container | None:
        """Take the container with most of these imports done, and none besides."""
        fit = [container for container in self.containers if container.imports <= imports and container.alive]
        if not fit:
            return None
        best = max(fit, key=lambda container: len(container.imports))
        self.containers.remove(best)
        return best

    def spare(self) -> list[Container]:
        """Take out what died, and what was made hot for a tool that is no longer the one in use."""
        settled = self.wanted == self.before
        out = [
            container
            for container in self.containers
            if not container.alive or (settled and container.imports and container.imports != self.wanted)
        ]
        self.containers = [container for container in self.containers if container not in out]
        return out


class Pool:
    """Hands containers out, and makes new ones while nobody waits."""

    def __init__(self, containers: Containers, *, hot: int, warm: int, environments: int) -> None:
        self._containers = containers
        self._hot = hot
        self._warm = warm
        self._most = max(environments, 1)
        self._stocks: OrderedDict[Kind, Stock] = OrderedDict()
        self._makers: set[asyncio.Task[None]] = set()
        self._enders: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._busy = 0
        self._calm = asyncio.Event()
        self._calm.set()
        self._closed = False

    def rows(self) -> tuple[PoolRow, ...]:
        """What waits at this moment, the environment used last first."""
        return tuple(
            PoolRow(
                environment=kind.name,
                hot=sum(bool(container.imports) and container.alive for container in stock.containers),
                warm=sum(not container.imports and container.alive for container in stock.containers),
                making=stock.making,
                imports=tuple(sorted(stock.wanted)),
            )
            for kind, stock in reversed(self._stocks.items())
        )

    def ids(self) -> frozenset[str]:
        """The containers that wait."""
        return frozenset(container.id for stock in self._stocks.values() for container in stock.containers)

    async def empty(self) -> None:
        """End all that waits; what is being made is not kept either."""
        while self._stocks:
            await self._drop(self._stocks.popitem()[1])

    async def fill(self, kind: Kind) -> None:
        """Have containers of this kind wait; returns when they do."""
        self._refill(kind, self._stock(kind))
        while self._makers:
            await asyncio.wait(self._makers)

    async def take(self, kind: Kind, imports: frozenset[str] | None) -> Container:
        """A container for one job, from the pool or made now. Raises SandboxUnavailable.

        None for a job that cannot use imports done ahead: what is made hot stays as it is.
        """
        stock = self._stock(kind)
        if imports is not None:
            stock.before, stock.wanted = stock.wanted, imports
        self._busy += 1
        self._calm.clear()
        try:
            return stock.fitting(imports or frozenset()) or await self._containers.make(kind)
        except BaseException:
            self._rest(kind)
            raise

    async def put(self, container: Container) -> None:
        """Throw a container away after its job; returns when no process of it is left."""
        await self._containers.end(container)
        self._rest(container.kind)

    def discard(self, container: Container) -> None:
        """The same in the background."""
        _spawn(self.put(container), self._enders)

    async def close(self) -> None:
        """End all that waits."""
        self._closed = True
        for maker in self._makers:
            maker.cancel()
        while self._makers or self._enders:
            await asyncio.wait(self._makers | self._enders)
        await self.empty()

    def _rest(self, kind: Kind) -> None:
        self._busy -= 1
        if not self._busy:
            self._calm.set()
        self._refill(kind, self._stock(kind))

    def _stock(self, kind: Kind) -> Stock:
        stock = self._stocks.setdefault(kind, Stock())
        self._stocks.move_to_end(kind)
        if len(self._stocks) > self._most:
            _spawn(self._drop(self._stocks.popitem(last=False)[1]), self._enders)
        return stock

    async def _drop(self, stock: Stock) -> None:
        containers, stock.containers = stock.containers, []
        for container in containers:
            await self._containers.end(container)

    def _refill(self, kind: Kind, stock: Stock) -> None:
        if self._closed:
            return
        for container in stock.spare():
            _spawn(self._containers.end(container), self._enders)
        missing = self._hot + self._warm - len(stock.containers) - stock.making
        for _ in range(missing):
            stock.making += 1
            _spawn(self._make(kind, stock), self._makers)

    async def _make(self, kind: Kind, stock: Stock) -> None:
        """Make one container in the background. A failure is left to the next run, which reports it."""
        good = True
        try:
            async with self._slots:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        await self._calm.wait()
                container = await self._containers.make(kind)
                try:
                    good = await self._heat(container, stock)
                except BaseException:
                    await self._containers.end(container)
                    raise
                if good and not self._closed and self._stocks.get(kind) is stock:
                    stock.containers.append(container)
                else:
                    await self._containers.end(container)
        except (SandboxUnavailable, TimeoutError, OSError):
            pass
        finally:
            stock.making -= 1
        if not good:
            self._refill(kind, stock)  # without imports this time

    async def _heat(self, container: Container, stock: Stock) -> bool:
        """Do the imports ahead where a hot container is missing; false when that is not safe."""
        imports = stock.wanted
        hot = stock.heating + sum(one.imports == imports for one in stock.containers)
        if not imports or imports in stock.refused or hot >= self._hot:
            return True
        stock.heating += 1
        try:
            problem = await container.preload(imports)
        finally:
            stock.heating -= 1
        if problem:
            stock.refused.add(imports)
        return not problem


def _spawn(work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
