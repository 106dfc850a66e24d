"""Creates and removes containers; none stays behind, whichever process is killed meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from alita_tui.sandbox import gvisor, leftovers
from alita_tui.sandbox.attestation import deviations
from alita_tui.sandbox.channel import Channel, parse
from alita_tui.sandbox.container import Container, Kind
from alita_tui.sandbox.host import FIX
from alita_tui.sandbox.owner import alive, orphaned
from alita_tui.sandbox.podman_http import RestError, ServiceLost
from alita_tui.sandbox.podman_service import RETRY_SECONDS, PodmanService
from alita_tui.sandbox.policy import OOM_SCORE, ContainerSpec, create_body, fresh_uid
from alita_tui.sandbox.supplies import Supplies
from alita_tui.spine.errors import SandboxUnavailable

_START_SECONDS = 30.0
_SELF_REMOVAL_PAUSES = (0.1, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Pauses for a container to remove itself; after that it is removed."""
_REMOVAL_CHECKS = 100
_REMOVAL_SECONDS = 10.0
"""Limit of one request: Podman waits five seconds for news of a container whose conmon was killed."""
_SILENT_CHECKS = 5
_STUCK_CHECKS, _STUCK_SECONDS = 2, 1.0
"""Checks in a row that find no process left to start a container until it is given up, and the seconds between them."""
CLOSE_SECONDS = 4.0
"""How long closing waits for removals; the service's supervisor removes the containers that are left then."""


class _EndedEarly(SandboxUnavailable):
    """A container ended before it was given a job; the next one may not."""


T = TypeVar("T")
Harden = Callable[[dict[str, Any]], dict[str, Any]]


class Containers:
    """Creates, ends and removes containers."""

    def __init__(
        self,
        service: PodmanService,
        supplies: Supplies,
        labels: dict[str, str],
        harden: Harden,
        *,
        elsewhere: bool = False,
        profile: str = "draft",
    ) -> None:
        """`elsewhere`: the engine is on another machine, where nothing of this one can be mounted."""
        self._service = service
        self._supplies = supplies
        self._labels = labels
        self._harden = harden
        self._elsewhere = elsewhere
        self._profile = profile
        self._uids: set[int] = set()
        self._removals: set[asyncio.Task[None]] = set()
        self._numbers = count(1)
        self.image = ""
        self.browser_image = ""
        """What containers with a browser are made of; empty until it is there."""
        self.controllers: frozenset[str] = frozenset()
        """Controllers of cgroup v2 that are delegated to this account."""

    async def make(self, kind: Kind) -> Container:
        """Return a new container whose confinement matches the profile. Raise SandboxUnavailable."""
        try:
            warden, seccomp = await self._supplies.warden()
            environment = await self._supplies.environment(kind.environment) if kind.environment else ""
            inputs = await self._supplies.inputs(kind.inputs) if kind.inputs else ""
            browser = await self._supplies.browser() if kind.browser else ()
        except RestError as error:
            raise SandboxUnavailable(f"The sandbox's own files could not be handed over: {error}") from error
        spec = ContainerSpec(
            image=self.browser_image if kind.browser else self.image,
            warden=warden,
            seccomp=seccomp,
            environment=environment,
            inputs=inputs,
            browser=browser,
            elsewhere=self._elsewhere,
            calls=kind.calls,
            profile=self._profile,
            labels={**self._labels, "alita.environment": kind.name},
            controllers=self.controllers,
        )
        try:
            return await self._make(kind, spec)
        except (_EndedEarly, ServiceLost):  # it had no job yet, so another attempt is safe
            await asyncio.sleep(RETRY_SECONDS[-1])
        return await self._make(kind, spec)

    async def _make(self, kind: Kind, spec: ContainerSpec) -> Container:
        spec = msgspec.structs.replace(spec, uid=fresh_uid(self._uids, len(spec.uids)))
        self._uids.update(spec.uids)
        # Named here, so that it can be removed even if the answer to the request is lost.
        name = f"{leftovers.PREFIX}{self._service.owner}-{next(self._numbers)}"
        body = {**self._harden(create_body(spec, kind.limits)), "name": name}
        creating = asyncio.ensure_future(self._create(body))
        try:
            container_id = await asyncio.shield(creating)
        except BaseException:
            spawn(self._undo(creating, name, spec.uids), self._removals)
            raise
        try:
            return await self._start(container_id, kind, spec)
        except BaseException as error:
            spawn(self._remove(container_id, spec.uids, ()), self._removals)
            if isinstance(error, RestError | TimeoutError | OSError | ValueError):
                raise _EndedEarly(f"A container could not be started: {error}", hint=FIX) from error
            raise

    async def end(self, container: Container) -> None:
        """Kill everything in it; return when that is done. It is removed in the background."""
        if self._elsewhere:  # its processes cannot be watched from here, so wait for its removal
            await container.end()
            await self._remove(container.id, container.uids, ())
            return
        pauses = _SELF_REMOVAL_PAUSES if container.watched else ()
        spawn(self._remove(container.id, container.uids, pauses), self._removals)
        await container.end()

    async def forget(self, folder: str) -> None:
        """Remove the copy of a call's files once its container is gone."""
        await self._supplies.forget(folder)

    async def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Wait until every ended container is removed; return False where that takes longer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._removals:
                    await asyncio.wait(self._removals)
        clean = not self._removals
        for removal in self._removals:
            removal.cancel()
        while self._removals:
            await asyncio.wait(self._removals)
        return clean

    async def reap(self) -> int:
        """Remove containers whose owner is gone; return how many."""
        ids = {entry["Id"] for entry in await self.listed() if orphaned(entry["Labels"])}
        if not self._elsewhere:
            ids |= await asyncio.to_thread(leftovers.lost, alive)
            await asyncio.to_thread(leftovers.end, ids)
        for container_id in ids:
            await self._remove(container_id, range(0), ())
        return len(ids)

    async def listed(self) -> list[dict[str, Any]]:
        """Return every container that any alita of this account made, as Podman lists them."""
        filters = quote(json.dumps({"label": ["alita.owner"]}))
        return await self._service.request("GET", f"/containers/json?all=true&filters={filters}") or []

    async def _undo(self, creating: asyncio.Future[str], name: str, uids: range) -> None:
        """Remove a container that Podman creates after its request was cancelled or the answer was lost."""
        with suppress(SandboxUnavailable, OSError):
            await creating
        await self._remove(name, uids, ())

    async def _start(self, container_id: str, kind: Kind, spec: ContainerSpec) -> Container:
        # Podman begins a container when it is attached to.
        channel = Channel(*await self._unstuck(container_id, self._service.attach(container_id)))
        try:
            await self._unstuck(
                container_id, self._service.request("POST", f"/containers/{container_id}/start")
            )
            async with asyncio.timeout(_START_SECONDS):
                frame = await channel.receive()
            inspected = await self._service.request("GET", f"/containers/{container_id}/json")
            if frame is None or frame[0] != b"A":
                stderr = channel.stderr.decode("utf-8", "replace").strip()[-300:]
                raise _EndedEarly(f"The container ended before it reported: {stderr or 'no reason given'}")
            report = parse(frame[1])
            problems = deviations(report, spec, kind.limits)
            if spec.profile == "gvisor":
                problems += gvisor.outside(inspected, OOM_SCORE)
            driver = inspected["HostConfig"]["LogConfig"]["Type"]
            if driver != "none":  # cannot be seen from inside: a log would fill the host's disk
                problems.append(f"the log driver is {driver}")
            if problems:
                raise SandboxUnavailable(
                    "The container is not confined as the profile says, so nothing was run in it: "
                    + "; ".join(problems),
                    hint=FIX,
                )
            state = inspected["State"]
            pid, conmon = (0, 0) if self._elsewhere else (int(state["Pid"]), int(state.get("ConmonPid", 0)))
            return Container(container_id, channel, kind, spec.uids, report, pid, conmon)
        except BaseException:
            channel.close()
            raise

    async def _unstuck(self, container_id: str, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns: a request that makes Podman start a container. Raise what it raises.

        When the runtime is killed at the wrong moment, conmon waits for ever for the process that the runtime began,
        and Podman waits for conmon. That process is then killed, and the request fails.
        """
        task = asyncio.ensure_future(work)
        stuck_checks = 0
        try:
            async with asyncio.timeout(_START_SECONDS):
                while not (await asyncio.wait((task,), timeout=_STUCK_SECONDS))[0]:
                    stuck = not self._elsewhere and await asyncio.to_thread(leftovers.stuck, container_id)
                    stuck_checks = stuck_checks + 1 if stuck else 0
                    if stuck_checks == _STUCK_CHECKS:
                        await asyncio.to_thread(leftovers.end, (container_id,))
            return await task
        finally:
            task.cancel()

    async def _create(self, body: dict[str, Any]) -> str:
        for attempt in (1, 2):
            try:
                created = await self._service.request("POST", "/containers/create", body)
                return str(created["Id"])
            except RestError as error:
                if error.status < 500 or attempt == 2:
                    raise SandboxUnavailable(f"Podman refuses the container: {error}", hint=FIX) from error
                with suppress(RestError):  # its name may be taken by now
                    await self._service.request("DELETE", _forced_removal(body["name"]))
        raise AssertionError

    async def _remove(self, container_id: str, uids: range, pauses: tuple[float, ...]) -> None:
        """Wait these pauses for a container to remove itself, then request its removal until it is gone."""
        unanswered = 0
        forced = False
        for pause in (*pauses, *(0.05,) * _REMOVAL_CHECKS):
            try:
                if pause == 0.05:
                    forced = True
                    with suppress(RestError):
                        await self._timed_request("DELETE", _forced_removal(container_id))
                await self._timed_request("GET", f"/containers/{container_id}/exists")
                unanswered = 0
            except RestError as error:
                if error.status == 404:
                    break
            except (SandboxUnavailable, OSError):
                unanswered += 1
                if unanswered == _SILENT_CHECKS:
                    break  # the service is gone: its supervisor or the next start removes the rest
                if not self._elsewhere:
                    await asyncio.to_thread(leftovers.end, (container_id,))
            await asyncio.sleep(pause)
        if forced and not self._elsewhere:  # Podman no longer lists it, but its processes may still run
            await asyncio.to_thread(leftovers.end, (container_id,))
        self._uids.difference_update(uids)

    async def _timed_request(self, method: str, path: str) -> None:
        """Send a request with a time limit. Raise TimeoutError."""
        async with asyncio.timeout(_REMOVAL_SECONDS):
            await self._service.request(method, path)


def spawn(work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> asyncio.Task[None]:
    """Run something in the background and return its task; `tasks` holds it until it is done."""
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task


def _forced_removal(name: str) -> str:
    return f"/containers/{name}?force=true&timeout=0&ignore=true"
