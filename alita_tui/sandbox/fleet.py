"""Every engine that the settings name, as one sandbox: same policy everywhere, nothing of a tool shared.

A run goes to the engine that is least loaded for its size. An engine that cannot take it rests for a
while and the next one is asked; a run that was lost half way is reported, never repeated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from alita_tui.events import Enforcement, Lock, RunReport, SandboxStatus
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.sandbox.policy import SandboxSettings
from alita_tui.spine.errors import SandboxUnavailable, UsageError
from alita_tui.spine.inventory import ContainerRow, EnvironmentRow, Inventory, PoolRow
from alita_tui.spine.ports.sandbox import Job, Limits, OnOutput
from alita_tui.spine.ports.stream import Progress

if TYPE_CHECKING:
    from alita_tui.sandbox.broker.broker import Broker

_REST_SECONDS = 30.0
T = TypeVar("T")


class _Member:
    """An engine, what it is doing, and until when it is left alone."""

    def __init__(self, sandbox: PodmanSandbox) -> None:
        self.sandbox = sandbox
        self.running = 0
        self.rests_until = 0.0


class Fleet:
    """Meets `Sandbox` with one engine or several."""

    def __init__(self, settings: SandboxSettings, session_id: str, *, broker: Broker | None = None) -> None:
        """Without a `broker` nothing is granted to any tool. Raises UsageError for an engine that is none."""
        if not settings.engines:
            raise UsageError("sandbox.engines names no engine.", hint='Write engines = ["local"].')
        self._settings = settings
        names = tuple(dict.fromkeys(settings.engines))
        self._members = [
            _Member(PodmanSandbox(settings, session_id, engine=name, broker=broker)) for name in names
        ]

    @property
    def engines(self) -> tuple[PodmanSandbox, ...]:
        """The engines in the order of the settings."""
        return tuple(member.sandbox for member in self._members)

    # --- Sandbox --------------------------------------------------------------------------

    async def status(self, *, fresh: bool = False) -> SandboxStatus:
        """See `Sandbox.status`: of several engines, what holds on the weakest."""
        return together((await self.statuses(fresh=fresh)).values())

    async def statuses(self, *, fresh: bool = False) -> dict[str, SandboxStatus]:
        """What each engine says of itself, by its name in the settings."""
        found = await asyncio.gather(*(engine.status(fresh=fresh) for engine in self.engines))
        return {engine.name: one for engine, one in zip(self.engines, found, strict=True)}

    async def prepare(self, progress: Progress) -> None:
        """See `Sandbox.prepare`; one engine that is ready is enough."""
        await self._first(lambda engine: engine.prepare(progress))

    async def lock(self, requirements: Sequence[str], progress: Progress) -> Lock:
        """See `Sandbox.lock`; all engines have the same base image."""
        return await self._first(lambda engine: engine.lock(requirements, progress))

    async def run(self, job: Job, on_output: OnOutput, progress: Progress) -> RunReport:
        """See `Sandbox.run`."""
        return await self._first(lambda engine: engine.run(job, on_output, progress))

    async def close(self) -> None:
        """See `Sandbox.close`."""
        done = await asyncio.gather(*(engine.close() for engine in self.engines), return_exceptions=True)
        for error in done:
            if error is not None:
                raise error

    # --- the pool and housekeeping --------------------------------------------------------

    async def warm_up(self, wanted: Limits, progress: Progress) -> None:
        """Have containers wait on the first engine that can. Raises SandboxUnavailable."""
        await self._first(lambda engine: engine.warm_up(wanted, progress))

    def waiting(self) -> tuple[PoolRow, ...]:
        """What waits in the pools."""
        return tuple(
            msgspec.structs.replace(row, engine=engine.name)
            for engine in self.engines
            for row in engine.waiting()
        )

    async def overview(self) -> tuple[tuple[ContainerRow, ...], tuple[EnvironmentRow, ...]]:
        """Containers on every engine that answers, and installed requirements. Raises SandboxUnavailable."""
        found = await self.inventory()
        return found.containers, found.environments

    async def inventory(self) -> Inventory:
        """What is there and what waits, at this moment. Raises SandboxUnavailable when no engine answers."""
        containers: list[ContainerRow] = []
        environments: dict[str, EnvironmentRow] = {}
        answers = await self._each(lambda engine: engine.overview())
        for rows, installed in answers.values():
            containers += rows
            environments.update({row.environment: row for row in installed})
        return Inventory(
            at=time.time(),
            containers=tuple(containers),
            pool=self.waiting(),
            environments=tuple(environments.values()),
            silent=tuple(engine.name for engine in self.engines if engine.name not in answers),
            hot=self._settings.pool_hot,
            warm=self._settings.pool_warm,
            room_bytes=self._settings.environments_mb << 20,
        )

    async def reap(self) -> tuple[int, int]:
        """Remove what dead sessions left: how many containers and folders. Raises SandboxUnavailable."""
        gone = (await self._each(lambda engine: engine.reap())).values()
        return sum(containers for containers, _ in gone), sum(folders for _, folders in gone)

    async def rebuild(self, progress: Progress) -> dict[str, SandboxUnavailable]:
        """Make the base image anew here, and have the other engines take it; where that failed, and why.

        One engine after the other, because what is made here is what is copied there. An engine that failed
        keeps the image that it had.
        """
        failed: dict[str, SandboxUnavailable] = {}
        for engine in self.engines:
            try:
                await engine.rebuild(progress)
            except SandboxUnavailable as error:
                failed[engine.name] = error
        return failed

    # --- inside ---------------------------------------------------------------------------

    async def _first(self, work: Callable[[PodmanSandbox], Awaitable[T]]) -> T:
        """Have the least loaded engine do it, or the next where one cannot. Raises SandboxUnavailable."""
        refused: list[SandboxUnavailable] = []
        for member in self._order():
            member.running += 1
            try:
                done = await work(member.sandbox)
            except SandboxUnavailable as error:
                member.rests_until = asyncio.get_running_loop().time() + _REST_SECONDS
                if isinstance(error, EngineLost):
                    raise
                refused.append(error)
            else:
                member.rests_until = 0.0
                return done
            finally:
                member.running -= 1
        if len(refused) == 1:
            raise refused[0]
        raise SandboxUnavailable(
            "No engine can take it. " + " | ".join(error.message for error in refused), hint=refused[0].hint
        )

    def _order(self) -> list[_Member]:
        """The least loaded first; those that rest come last."""
        now = asyncio.get_running_loop().time()
        return sorted(
            self._members, key=lambda one: (one.rests_until > now, one.running / one.sandbox.processors)
        )

    async def _each(self, work: Callable[[PodmanSandbox], Awaitable[T]]) -> dict[str, T]:
        """What every engine that can says, by its name. Raises SandboxUnavailable when none can."""
        done = await asyncio.gather(*(work(engine) for engine in self.engines), return_exceptions=True)
        failed = [one for one in done if isinstance(one, BaseException)]
        for error in failed:
            if len(failed) == len(done) or not isinstance(error, SandboxUnavailable):
                raise error
        named = zip(self.engines, done, strict=True)
        return {engine.name: one for engine, one in named if not isinstance(one, BaseException)}


def together(statuses: Collection[SandboxStatus]) -> SandboxStatus:
    """What holds on the weakest of the engines that are there, and what is wrong with the others."""
    found = tuple(statuses)
    good = [one for one in found if one.available]
    if len(found) == 1 or not good:
        return found[0]
    return msgspec.structs.replace(
        good[0],
        engine="; ".join(one.engine for one in good),
        enforcement=_weakest([one.enforcement for one in good]),
        problem=" ".join(one.problem for one in found if not one.available),
    )


def _weakest(tables: Sequence[Sequence[Enforcement]]) -> tuple[Enforcement, ...]:
    """For each resource the row of the engine that holds it least."""
    found: dict[str, Enforcement] = {}
    for row in (row for rows in tables for row in rows):
        if row.resource not in found or not row.strong:
            found[row.resource] = row
    return tuple(found.values())
