"""One container: made, attested, given one job, ended."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from alita_tui.sandbox import gvisor
from alita_tui.sandbox.channel import Channel, parse
from alita_tui.sandbox.judging import task
from alita_tui.sandbox.policy import OOM_SCORE, Place, deviations, fresh_uid, spec
from alita_tui.sandbox.service import RestError, Service, alive, machine
from alita_tui.sandbox.supplies import Supplies
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports import Job, Limits
from alita_tui.spine.values import Value

_START_SECONDS = 30.0
_PRELOAD_SECONDS = 30.0
_END_SECONDS = 5.0
_OWN_REMOVAL = (0.1, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Waits for a container to remove itself; then it is removed."""
_REMOVAL_LOOKS = 100
_SILENT_LOOKS = 5
FIX = "`alita doctor` says what is missing, `alita doctor --fix` installs it."

Harden = Callable[[dict[str, Any]], dict[str, Any]]


class Kind(Value, frozen=True):
    """What containers have to have in common to stand in for each other."""

    environment: str = ""
    """Folder with installed requirements; empty for none."""
    limits: Limits = Limits()
    calls: int = 1
    """How many jobs it takes, one after the other, then it ends; more than one in a session container."""

    @property
    def name(self) -> str:
        """Beginning of the environment's digest; `base` for the bare image."""
        return self.environment.rpartition("/")[2][:12] or "base"


class Box:
    """A started container whose confinement was compared with the profile, waiting for its one job."""

    def __init__(
        self, container: str, channel: Channel, kind: Kind, uids: range, seen: dict[str, Any], pid: int
    ) -> None:
        """`pid` is its first process here, or 0 for one on another machine."""
        self.container = container
        self.channel = channel
        self.kind = kind
        self.seen = seen
        """What the warden reported of itself."""
        self.imports: frozenset[str] = frozenset()
        """Modules that are imported already."""
        self.uids = uids
        self.pid = pid
        self._told = False
        self._pidfd = -1
        self._elsewhere = not pid
        with suppress(OSError):  # it ended already
            self._pidfd = os.pidfd_open(pid) if pid else -1

    @property
    def alive(self) -> bool:
        """False once its first process has ended."""
        if self._elsewhere:
            return not self.channel.ended
        if self._pidfd < 0:
            return False
        looking = select.poll()
        looking.register(self._pidfd, select.POLLIN)
        return not looking.poll(0)

    async def preload(self, imports: frozenset[str]) -> str:
        """Have modules imported; why that is not safe here, or nothing. Raises TimeoutError."""
        await self._tell(imports)
        self.imports = imports
        return await self.ready()

    async def ready(self) -> str:
        """Wait until it can take a job; what is wrong, or nothing. Raises TimeoutError."""
        async with asyncio.timeout(_PRELOAD_SECONDS):
            said = await self.channel.receive()
        if said is None or said[0] != b"R":
            return "the container ended"
        return said[1].decode("utf-8", "replace")

    async def give(self, job: Job, door: bytes = b"") -> None:
        """Hand the job over, after what the tool is told of its door to the broker, if it has one."""
        if not self._told:
            await self._tell(frozenset())
        if job.what in ("test", "judge"):  # the judge is forked before anything of the draft is in here
            await self._judge()
        if door:
            await self.channel.send(b"G", door)
        await self.channel.send(b"J", json.dumps(task(job)).encode())  # escapes lone surrogates

    async def end(self) -> None:
        """Kill it; returns when no process of it is left."""
        self.channel.close()
        pidfd, self._pidfd = self._pidfd, -1
        if pidfd < 0:
            return
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()
        try:
            with suppress(OSError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            loop.add_reader(pidfd, gone.set)
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await gone.wait()
        finally:
            loop.remove_reader(pidfd)
            os.close(pidfd)

    async def _judge(self) -> None:
        """Wait until the judge is there. Raises ConnectionError where the container ends instead."""
        await self.channel.send(b"T", b"")
        async with asyncio.timeout(_PRELOAD_SECONDS):
            while (said := await self.channel.receive()) is not None:
                if said[0] == b"T":
                    return
        raise ConnectionError("the container ended before its judge was there")

    async def _tell(self, imports: frozenset[str]) -> None:
        self._told = True
        limits = self.kind.limits
        asked = {
            "limits": {name: getattr(limits, name) for name in limits.__struct_fields__},
            "imports": sorted(imports),
            "environment": bool(self.kind.environment),
        }
        await self.channel.send(b"L", json.dumps(asked).encode())


class Boxes:
    """Makes containers and sees to it that none stays behind."""

    def __init__(
        self,
        service: Service,
        supplies: Supplies,
        labels: dict[str, str],
        harden: Harden,
        *,
        elsewhere: bool = False,
        profile: str = "draft",
    ) -> None:
        """`elsewhere` when the engine is on another machine, where nothing of this one can be mounted."""
        self._service = service
        self._supplies = supplies
        self._labels = labels
        self._harden = harden
        self._elsewhere = elsewhere
        self._profile = profile
        self._uids: set[int] = set()
        self._going: set[asyncio.Task[None]] = set()
        self.image = ""
        self.controllers: frozenset[str] = frozenset()
        """Controllers of cgroup v2 that are delegated to us."""

    async def make(self, kind: Kind) -> Box:
        """A container that is confined as the profile says. Raises SandboxUnavailable."""
        try:
            warden, seccomp = await self._supplies.warden()
            environment = await self._supplies.environment(kind.environment) if kind.environment else ""
        except RestError as error:
            raise SandboxUnavailable(f"The sandbox's own files could not be handed over: {error}") from error
        uid = fresh_uid(self._uids, len(Place(image="", warden="", seccomp="", calls=kind.calls).uids))
        place = Place(
            image=self.image,
            warden=warden,
            seccomp=seccomp,
            environment=environment,
            elsewhere=self._elsewhere,
            uid=uid,
            calls=kind.calls,
            profile=self._profile,
            labels={**self._labels, "alita.environment": kind.name},
            controllers=self.controllers,
        )
        self._uids.update(place.uids)
        creating = asyncio.ensure_future(self._create(self._harden(spec(place, kind.limits))))
        try:
            container = await asyncio.shield(creating)
        except BaseException:
            self._let_go(self._undo(creating, place.uids))
            raise
        try:
            return await self._start(container, kind, place)
        except BaseException as error:
            self._let_go(self._remove(container, place.uids, ()))
            if isinstance(error, RestError | TimeoutError | OSError | ValueError):
                raise SandboxUnavailable(f"A container could not be started: {error}", hint=FIX) from error
            raise

    async def end(self, box: Box) -> None:
        """Kill everything in it and return when that is done; it is removed in the background."""
        if self._elsewhere:  # its processes cannot be watched from here: it is gone when it is removed
            await box.end()
            await self._remove(box.container, box.uids, ())
            return
        self._let_go(self._remove(box.container, box.uids, _OWN_REMOVAL))
        await box.end()

    async def close(self) -> None:
        """Wait until every container that ended is removed."""
        while self._going:
            await asyncio.wait(self._going)

    async def reap(self) -> int:
        """Remove containers whose maker is gone; how many there were."""
        dead = [
            one
            for one in await self.found()
            if one["Labels"].get("alita.machine", machine()) == machine()
            and not alive(one["Labels"]["alita.owner"])
        ]
        for one in dead:
            await self._remove(one["Id"], range(0), ())
        return len(dead)

    async def found(self) -> list[dict[str, Any]]:
        """Every container that any alita of this account made, as Podman lists them."""
        filters = quote(json.dumps({"label": ["alita.owner"]}))
        return await self._service.request("GET", f"/containers/json?all=true&filters={filters}") or []

    def _let_go(self, removal: Any) -> None:
        task = asyncio.create_task(removal)
        self._going.add(task)
        task.add_done_callback(self._going.discard)

    async def _undo(self, creating: asyncio.Future[str], uids: range) -> None:
        """Remove what Podman makes all the same after the maker was cancelled."""
        try:
            container = await creating
        except (SandboxUnavailable, OSError):
            self._uids.difference_update(uids)
        else:
            await self._remove(container, uids, ())

    async def _start(self, container: str, kind: Kind, place: Place) -> Box:
        channel = Channel(*await self._service.attach(container))
        try:
            await self._service.request("POST", f"/containers/{container}/start")
            async with asyncio.timeout(_START_SECONDS):
                made, said = await asyncio.gather(
                    self._service.request("GET", f"/containers/{container}/json"), channel.receive()
                )
            if said is None or said[0] != b"A":
                words = channel.stray.decode("utf-8", "replace").strip()[-300:]
                raise SandboxUnavailable(
                    f"The container ended before it reported: {words or 'no reason given'}"
                )
            seen = parse(said[1])
            wrong = deviations(seen, place, kind.limits)
            if place.profile == "gvisor":
                wrong += gvisor.outside(made, OOM_SCORE)
            driver = made["HostConfig"]["LogConfig"]["Type"]
            if driver != "none":  # cannot be seen from inside: a log would fill the host's disk
                wrong.append(f"the log driver is {driver}")
            if wrong:
                raise SandboxUnavailable(
                    "The container is not confined as the profile says, so nothing was run in it: "
                    + "; ".join(wrong),
                    hint=FIX,
                )
            pid = 0 if self._elsewhere else int(made["State"]["Pid"])
            return Box(container, channel, kind, place.uids, seen, pid)
        except BaseException:
            channel.close()
            raise

    async def _create(self, body: dict[str, Any]) -> str:
        for attempt in (1, 2):
            try:
                answer = await self._service.request("POST", "/containers/create", body)
                return str(answer["Id"])
            except RestError as error:
                if error.status < 500 or attempt == 2:
                    raise SandboxUnavailable(f"Podman refuses the container: {error}", hint=FIX) from error
        raise AssertionError

    async def _remove(self, container: str, uids: range, patience: tuple[float, ...]) -> None:
        """Wait for it to remove itself as long as there is patience, then remove it until it is gone."""
        silent = 0
        for wait in (*patience, *(0.05,) * _REMOVAL_LOOKS):
            try:
                if wait == 0.05:
                    with suppress(RestError):
                        where = f"/containers/{container}?force=true&timeout=0&ignore=true"
                        await self._service.request("DELETE", where)
                await self._service.request("GET", f"/containers/{container}/exists")
                silent = 0
            except RestError as error:
                if error.status == 404:
                    break
            except (SandboxUnavailable, OSError):
                silent += 1
                if silent == _SILENT_LOOKS:
                    break  # the service is gone: its guard, or the next start, removes what is left
            await asyncio.sleep(wait)
        self._uids.difference_update(uids)
