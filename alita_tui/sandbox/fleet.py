"""All engines that the settings name, as one sandbox with one policy.

A run goes to the engine with the least load per processor. An engine that cannot take it is left alone for a while, and
the next one is tried; a run that was lost half way is reported, never repeated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from copy import copy
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import msgspec

from alita_tui.events import Enforcement, Lock, RunReport, SandboxStatus
from alita_tui.sandbox.containers import CLOSE_SECONDS
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.sandbox.programs import RunningProgram
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import NotAllowedHere, SandboxUnavailable, UsageError
from alita_tui.spine.inventory import ContainerRow, EnvironmentRow, Inventory
from alita_tui.spine.ports.sandbox import Job, Limits, OnOutput, Program
from alita_tui.spine.ports.servers import ServerCalls, ServerUnavailable
from alita_tui.spine.ports.stream import Progress

if TYPE_CHECKING:
    from alita_tui.sandbox.broker.broker import Broker

_REST_SECONDS = 30.0
T = TypeVar("T")


class _Load:
    """The number of an engine's current jobs, from all sessions, and the time until which it is left alone."""

    def __init__(self) -> None:
        self.running = 0
        self.rests_until = 0.0


class _Member:
    """An engine and its load."""

    def __init__(self, sandbox: PodmanSandbox, load: _Load | None = None) -> None:
        self.sandbox = sandbox
        self.load = load or _Load()


class Fleet:
    """A `Sandbox` of one engine or several."""

    def __init__(self, settings: EngineSettings, session_id: str, *, broker: Broker | None = None) -> None:
        """Without a `broker` nothing is granted to any tool. Raise UsageError for an address that is no engine's."""
        if not settings.engines:
            raise UsageError("sandbox.engines names no engine.", hint='Write engines = ["local"].')
        self._settings = settings
        self.servers: ServerCalls | None = None
        """Calls tools of MCP servers. It starts the servers in this sandbox, so it is set after construction."""
        names = tuple(dict.fromkeys(settings.engines))
        self._members = [
            _Member(PodmanSandbox(settings, session_id, engine=name, broker=broker)) for name in names
        ]

    def guest(self, broker: Broker | None = None) -> Fleet:
        """Return the same engines for another session; it is closed before this one (`PodmanSandbox.guest`)."""
        guest = copy(self)
        guest.servers = None
        guest._members = [_Member(member.sandbox.guest(broker), member.load) for member in self._members]
        return guest

    @property
    def engines(self) -> tuple[PodmanSandbox, ...]:
        """Return the engines in the order of the settings."""
        return tuple(member.sandbox for member in self._members)

    async def status(self, *, fresh: bool = False) -> SandboxStatus:
        """Return the state of the sandbox: for several engines, what the weakest one enforces."""
        return together((await self.statuses(fresh=fresh)).values())

    async def statuses(self, *, fresh: bool = False) -> dict[str, SandboxStatus]:
        """Return the state of each engine, by its name in the settings."""
        statuses = await asyncio.gather(*(engine.status(fresh=fresh) for engine in self.engines))
        return {engine.name: status for engine, status in zip(self.engines, statuses, strict=True)}

    async def prepare(self, progress: Progress) -> None:
        """Prepare one engine; one that is ready is enough. Raise SandboxUnavailable."""
        await self._first(lambda engine: engine.prepare(progress))

    async def has_browser(self) -> bool:
        """Return whether an engine has the image with a browser; it is not made. Raise SandboxUnavailable."""
        return await self._first(lambda engine: engine.has_browser())

    async def lock(self, requirements: Sequence[str], progress: Progress, *, browser: bool = False) -> Lock:
        """Return the lock of requirements, the same for all engines, which have the same images.

        Raise RequirementsError.
        """
        return await self._first(lambda engine: engine.lock(requirements, progress, browser=browser))

    async def run(self, job: Job, on_output: OnOutput, progress: Progress) -> RunReport:
        """Run a job on the least loaded engine and return the report. Raise SandboxUnavailable, RequirementsError.

        A call of a remote tool goes to its server. Raise ServerUnavailable.
        """
        if job.remote:
            if self.servers is None:
                raise ServerUnavailable(f"{job.module} is a tool of a server, and servers are not used here.")
            return await self.servers.call(job)
        return await self._first(lambda engine: engine.run(job, on_output, progress))

    async def installed(self, lock: Lock, progress: Progress) -> str:
        """Return the folder of this machine with these wheels. Raise RequirementsError, SandboxUnavailable."""
        return await self._first(lambda engine: engine.installed(lock, progress))

    async def open_program(self, program: Program, progress: Progress) -> RunningProgram:
        """Start a program on the least loaded engine and return it.

        Raise SandboxUnavailable, RequirementsError, UsageError.
        """
        return await self._first(lambda engine: engine.open_program(program, progress))

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """End everything that runs on any engine; wait up to `seconds` for the removal of containers."""
        if self.servers is not None:
            await self.servers.close()
        results = await asyncio.gather(
            *(engine.close(seconds) for engine in self.engines), return_exceptions=True
        )
        for error in results:
            if error is not None:
                raise error

    async def warm_up(self, limits: Limits, progress: Progress) -> None:
        """Fill the pool of the first engine that can. Raise SandboxUnavailable."""
        await self._first(lambda engine: engine.warm_up(limits, progress))

    async def inventory(self) -> Inventory:
        """Return the current containers, pool and environments. Raise SandboxUnavailable when no engine answers."""
        containers: list[ContainerRow] = []
        environments: dict[str, EnvironmentRow] = {}
        answers = await self._each(lambda engine: engine.overview())
        for rows, installed in answers.values():
            containers += rows
            environments.update({row.environment: row for row in installed})
        return Inventory(
            at=time.time(),
            containers=tuple(containers),
            pool=tuple(
                msgspec.structs.replace(row, engine=engine.name)
                for engine in self.engines
                for row in engine.waiting()
            ),
            environments=tuple(environments.values()),
            silent=tuple(engine.name for engine in self.engines if engine.name not in answers),
            hot=self._settings.pool_hot,
            warm=self._settings.pool_warm,
            room_bytes=self._settings.environments_mb << 20,
        )

    async def reap(self) -> tuple[int, int]:
        """Remove what ended sessions left; return how many containers and folders. Raise SandboxUnavailable."""
        counts = (await self._each(lambda engine: engine.reap())).values()
        return sum(containers for containers, _ in counts), sum(folders for _, folders in counts)

    async def rebuild(self, progress: Progress) -> dict[str, SandboxUnavailable]:
        """Make the base image anew here and copy it to the other engines; return the errors by engine.

        One engine after the other, because the image made here is copied there. An engine that fails keeps its image.
        """
        errors: dict[str, SandboxUnavailable] = {}
        for engine in self.engines:
            try:
                await engine.rebuild(progress)
            except SandboxUnavailable as error:
                errors[engine.name] = error
        return errors

    async def _first(self, work: Callable[[PodmanSandbox], Awaitable[T]]) -> T:
        """Return what the least loaded engine, or the next that can, returns. Raise SandboxUnavailable."""
        errors: list[SandboxUnavailable] = []
        for member in self._order():
            member.load.running += 1
            try:
                result = await work(member.sandbox)
            except NotAllowedHere:
                raise  # by the settings, which are the same for every engine
            except SandboxUnavailable as error:
                member.sandbox.doubt()
                member.load.rests_until = asyncio.get_running_loop().time() + _REST_SECONDS
                if isinstance(error, EngineLost):
                    raise
                errors.append(error)
            else:
                member.load.rests_until = 0.0
                return result
            finally:
                member.load.running -= 1
        if len(errors) == 1:
            raise errors[0]
        raise SandboxUnavailable(
            "No engine can take it. " + " | ".join(error.message for error in errors), hint=errors[0].hint
        )

    def _order(self) -> list[_Member]:
        """Return the members, the least loaded first and the resting ones last."""
        now = asyncio.get_running_loop().time()

        def load(member: _Member) -> tuple[bool, float]:
            return member.load.rests_until > now, member.load.running / member.sandbox.processors

        return sorted(self._members, key=load)

    async def _each(self, work: Callable[[PodmanSandbox], Awaitable[T]]) -> dict[str, T]:
        """Return the results of all engines that answer, by name. Raise SandboxUnavailable when none does."""
        results = await asyncio.gather(*(work(engine) for engine in self.engines), return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        for error in errors:
            if len(errors) == len(results) or not isinstance(error, SandboxUnavailable):
                raise error
        named = zip(self.engines, results, strict=True)
        return {engine.name: result for engine, result in named if not isinstance(result, BaseException)}


def together(statuses: Collection[SandboxStatus]) -> SandboxStatus:
    """Return what the weakest available engine enforces, and what is wrong with the others."""
    available = [status for status in statuses if status.available]
    if len(statuses) == 1 or not available:
        return next(iter(statuses))
    return msgspec.structs.replace(
        available[0],
        engine="; ".join(status.engine for status in available),
        enforcement=_weakest([status.enforcement for status in available]),
        problem=" ".join(status.problem for status in statuses if not status.available),
    )


def _weakest(tables: Sequence[Sequence[Enforcement]]) -> tuple[Enforcement, ...]:
    """Return for each resource the row of the engine that enforces it least."""
    weakest: dict[str, Enforcement] = {}
    for row in chain.from_iterable(tables):
        if row.resource not in weakest or not row.strong:
            weakest[row.resource] = row
    return tuple(weakest.values())
