"""Containers that are started ahead: each is used once, then ended and replaced.

Hot ones have imported the modules of the last tool, warm ones none; both answer at once. They are created in the
background, preferably while nothing runs.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress

from alita_tui.sandbox.container import Container, Kind
from alita_tui.sandbox.containers import Containers, spawn
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.inventory import PoolRow

_AT_ONCE = 2
_PATIENCE_SECONDS = 0.25
"""How long a refill waits for current runs to end: a long run must not starve the pool."""


class Stock:
    """The waiting containers of one kind."""

    def __init__(self) -> None:
        self.containers: list[Container] = []
        self.making = 0
        self.heating = 0
        self.imports: frozenset[str] = frozenset()
        """Imports of the last job."""
        self.previous: frozenset[str] = frozenset()
        """Imports of the job before that."""
        self.refused: set[frozenset[str]] = set()
        """Sets of imports that are not safe to do ahead."""

    def fitting(self, imports: frozenset[str]) -> Container | None:
        """Take out and return the container with most of these imports done and no others; None if there is none."""
        candidates = [
            container for container in self.containers if container.imports <= imports and container.alive
        ]
        if not candidates:
            return None
        best = max(candidates, key=lambda container: len(container.imports))
        self.containers.remove(best)
        return best

    def spare(self) -> list[Container]:
        """Take out and return the containers that died, and those made hot for a tool that is no longer in use."""
        unchanged = self.imports == self.previous
        removed = [
            container
            for container in self.containers
            if not container.alive or (unchanged and container.imports and container.imports != self.imports)
        ]
        self.containers = [container for container in self.containers if container not in removed]
        return removed


class Pool:
    """Hands out containers and creates new ones in the background."""

    def __init__(self, containers: Containers, *, hot: int, warm: int, environments: int) -> None:
        self._containers = containers
        self._hot = hot
        self._warm = warm
        self._most_environments = max(environments, 1)
        self._stocks: OrderedDict[Kind, Stock] = OrderedDict()
        self._makers: set[asyncio.Task[None]] = set()
        self._enders: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._busy = 0
        self._calm = asyncio.Event()
        self._calm.set()
        self._closed = False

    def rows(self) -> tuple[PoolRow, ...]:
        """Return what waits now, the most recently used environment first."""
        return tuple(
            PoolRow(
                environment=kind.name,
                hot=sum(bool(container.imports) and container.alive for container in stock.containers),
                warm=sum(not container.imports and container.alive for container in stock.containers),
                making=stock.making,
                imports=tuple(sorted(stock.imports)),
            )
            for kind, stock in reversed(self._stocks.items())
        )

    def ids(self) -> frozenset[str]:
        """Return the ids of the waiting containers."""
        return frozenset(container.id for stock in self._stocks.values() for container in stock.containers)

    async def empty(self) -> None:
        """End everything that waits, all at once; what is being created is not kept either."""
        while self._stocks:
            stocks = list(self._stocks.values())
            self._stocks.clear()
            await asyncio.gather(*map(self._drop, stocks))

    async def fill(self, kind: Kind) -> None:
        """Fill the pool with containers of this kind; return when they wait."""
        self._refill(kind, self._stock(kind))
        while self._makers:
            await asyncio.wait(self._makers)

    async def take(self, kind: Kind, imports: frozenset[str] | None) -> Container:
        """Return a container for one job, from the pool or a new one. Raise SandboxUnavailable.

        `imports` is None for a job that cannot use imports done ahead; it does not change what is made hot.
        """
        stock = self._stock(kind)
        if imports is not None:
            stock.previous, stock.imports = stock.imports, imports
        self._busy += 1
        self._calm.clear()
        try:
            return stock.fitting(imports or frozenset()) or await self._containers.make(kind)
        except BaseException:
            self._returned(kind)
            raise

    async def end(self, container: Container) -> None:
        """End a container after its job; return when no process of it is left."""
        await self._containers.end(container)
        self._returned(container.kind)

    def discard(self, container: Container) -> None:
        """End a container in the background."""
        spawn(self.end(container), self._enders)

    async def close(self) -> None:
        """End everything that waits."""
        self._closed = True
        for maker in self._makers:
            maker.cancel()
        while self._makers or self._enders:
            await asyncio.wait(self._makers | self._enders)
        await self.empty()

    def _returned(self, kind: Kind) -> None:
        self._busy -= 1
        if not self._busy:
            self._calm.set()
        self._refill(kind, self._stock(kind))

    def _stock(self, kind: Kind) -> Stock:
        stock = self._stocks.setdefault(kind, Stock())
        self._stocks.move_to_end(kind)
        if len(self._stocks) > self._most_environments:
            spawn(self._drop(self._stocks.popitem(last=False)[1]), self._enders)
        return stock

    async def _drop(self, stock: Stock) -> None:
        containers, stock.containers = stock.containers, []
        await asyncio.gather(*map(self._containers.end, containers))

    def _refill(self, kind: Kind, stock: Stock) -> None:
        if self._closed:
            return
        for container in stock.spare():
            spawn(self._containers.end(container), self._enders)
        missing = self._hot + self._warm - len(stock.containers) - stock.making
        for _ in range(missing):
            stock.making += 1
            spawn(self._make(kind, stock), self._makers)

    async def _make(self, kind: Kind, stock: Stock) -> None:
        """Create a container in the background. The next run reports a failure."""
        safe = True
        try:
            async with self._slots:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        await self._calm.wait()
                container = await self._containers.make(kind)
                try:
                    safe = await self._heat(container, stock)
                except BaseException:
                    await self._containers.end(container)
                    raise
                if safe and not self._closed and self._stocks.get(kind) is stock:
                    stock.containers.append(container)
                else:
                    await self._containers.end(container)
        except (SandboxUnavailable, TimeoutError, OSError):
            pass
        finally:
            stock.making -= 1
        if not safe:
            self._refill(kind, stock)  # without imports this time

    async def _heat(self, container: Container, stock: Stock) -> bool:
        """Do the imports ahead where a hot container is missing; return False when that is not safe."""
        imports = stock.imports
        hot = stock.heating + sum(waiting.imports == imports for waiting in stock.containers)
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
