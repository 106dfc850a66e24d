"""The sandbox: one fresh, attested Podman container per run, taken from a pool and thrown away."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from alita_tui.events import Capabilities, Enforcement, Lock, RunReport, SandboxStatus
from alita_tui.runtimes.languages import not_allowed, runtime_of
from alita_tui.sandbox import browsing, environment, gvisor, image, limits, seals
from alita_tui.sandbox.broker.grants import Caps
from alita_tui.sandbox.call_files import staged, tidy_staged
from alita_tui.sandbox.container import Kind
from alita_tui.sandbox.containers import CLOSE_SECONDS, Containers, Harden
from alita_tui.sandbox.conversation import converse
from alita_tui.sandbox.host import FIX, Host
from alita_tui.sandbox.imports import ahead
from alita_tui.sandbox.overview import HeldEnvironments, container_rows, environment_rows, tidy
from alita_tui.sandbox.owner import machine, me
from alita_tui.sandbox.podman_http import EngineLost, RestError, ServiceLost
from alita_tui.sandbox.podman_service import RETRY_SECONDS, PodmanService
from alita_tui.sandbox.pool import Pool
from alita_tui.sandbox.programs import RunningProgram, opened
from alita_tui.sandbox.remote import Remote, bring
from alita_tui.sandbox.sessions import Sessions
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.supplies import Files, Folders, Volumes
from alita_tui.sandbox.trees import with_tree
from alita_tui.spine.errors import NotAllowedHere, SandboxUnavailable
from alita_tui.spine.inventory import ContainerRow, EnvironmentRow, PoolRow
from alita_tui.spine.ports.sandbox import Job, Limits, OnOutput, Program
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.requirements import NPM

if TYPE_CHECKING:
    from alita_tui.sandbox.broker.broker import Broker


class _Facts:
    """What is known about an engine, shared with its guests."""

    def __init__(self) -> None:
        self.base: image.Base | None = None
        self.pythons: dict[bool, environment.Target] = {}
        """Python and platform of the base image (False) and of the image with a browser (True)."""
        self.status: SandboxStatus | None = None
        self.info: dict[str, Any] | None = None


class PodmanSandbox:
    """One engine: rootless Podman, here or on another machine."""

    def __init__(
        self,
        settings: EngineSettings,
        session_id: str,
        *,
        engine: str = "local",
        broker: Broker | None = None,
        harden: Harden = lambda body: body,
    ) -> None:
        """Without a `broker` nothing is granted to any tool.

        `harden` can change the create request; tests weaken it to prove that attestation refuses the container.
        Raise UsageError for an engine that is neither `local` nor an ssh address.
        """
        self._broker = broker
        self.name = engine
        self._host = Host(settings) if engine == "local" else Remote(settings, engine)
        self._service = PodmanService(self._host)
        labels = {
            "alita.session": session_id,
            "alita.owner": me(),
            "alita.machine": machine(),
            "alita.service": self._service.owner,
        }
        self._files = Files(settings.profile)
        self._volumes = Volumes(self._service, self._files, labels)
        supplies = self._volumes if self._host.elsewhere else Folders(self._host, self._files)
        self._containers = Containers(
            self._service, supplies, labels, harden, elsewhere=self._host.elsewhere, profile=settings.profile
        )
        self._pool = Pool(
            self._containers,
            hot=settings.pool_hot,
            warm=settings.pool_warm,
            environments=settings.pool_environments,
        )
        self._sessions = Sessions(self._containers, broker, settings.lanes, many_calls=settings.many_calls)
        self._facts = _Facts()
        self._held = HeldEnvironments()
        self._preparing = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._guest = False

    def guest(self, broker: Broker | None) -> PodmanSandbox:
        """Return this engine for another session, which has its own `broker`.

        Both share the service, the waiting containers and the facts about the engine, but not session containers.
        Closing a guest ends only its session containers; a guest is closed before its engine.
        """
        guest = copy(self)
        guest._broker = broker
        guest._sessions = Sessions(self._containers, broker, self._host.settings.lanes)
        guest._held = HeldEnvironments()
        guest._guest = True
        return guest

    async def status(self, *, fresh: bool = False) -> SandboxStatus:
        """Return the state of the engine and what enforces each limit; with `fresh` every limit is tried again."""
        if fresh or self._facts.status is None or not self._facts.status.available:
            try:
                self._facts.status = await self._probe(fresh=fresh)
            except SandboxUnavailable as error:
                problem, hint = error.message, error.hint or FIX
                self._facts.status = SandboxStatus(available=False, problem=problem, hint=hint)
        return self._facts.status

    def doubt(self) -> None:
        """Forget what Podman said of itself, so that the next `status` asks it again."""
        self._facts.status, self._facts.info = None, None

    async def prepare(self, progress: Progress) -> None:
        """Start the engine and build or fetch the base image where they are missing. Raise SandboxUnavailable."""
        async with self._preparing:
            if self._facts.base is None:
                await self._describe()
                if isinstance(self._host, Remote):
                    base = await bring(self._host, progress)
                else:
                    base = await image.ensure(self._host, progress)
                self._containers.image = self._volumes.image = base.reference
                await self._tidy()
                self._facts.base = base

    async def _prepare_browser(self, progress: Progress) -> None:
        """Prepare the engine and the image with a browser. Raise SandboxUnavailable."""
        browsing.require(self._host)
        await self.prepare(progress)
        async with self._preparing:
            if not self._containers.browser_image:
                self._containers.browser_image = (await browsing.ensure(self._host, progress)).reference

    async def has_browser(self) -> bool:
        """Return whether the image with a browser exists, without building it. Raise SandboxUnavailable."""
        return bool(self._containers.browser_image) or await browsing.present(self._host)

    async def lock(self, requirements: Sequence[str], progress: Progress, *, browser: bool = False) -> Lock:
        """Return requirements locked to hashed wheels and packages of npm, on the host. Raise RequirementsError.

        With `browser` they are for the image with a browser, which may have another version of Python.
        """
        await (self._prepare_browser(progress) if browser else self.prepare(progress))
        target, install_limits = await self._target(browser=browser), self._host.settings.install_limits
        npm_requirements = sorted({text for text in requirements if text.startswith(NPM)})
        wheel_requirements = [text for text in requirements if text not in npm_requirements]
        lock = await environment.lock(wheel_requirements, target, progress, limits=install_limits)
        if not npm_requirements:
            return lock
        job = Job(run_id="", module="", code="", lock=lock, capabilities=Capabilities(browser=browser))
        node = Path((await self._kind(job, progress)).environment)
        return await environment.lock_npm(lock, node, npm_requirements, progress, limits=install_limits)

    async def run(self, job: Job, on_output: OnOutput, progress: Progress) -> RunReport:
        """Run a job; return its report. Raise SandboxUnavailable, RequirementsError."""
        await self.prepare(progress)
        if job.capabilities.browser:
            await self._prepare_browser(progress)
            job = msgspec.structs.replace(job, limits=browsing.with_room(job.limits))
        kind = await self._kind(job, progress)
        imports = ahead(job, packages=bool(kind.environment))
        if job.inputs:
            return await self._confirmed(await self._run_with_files(kind, job, on_output))
        if job.digest and self._host.settings.session_calls:
            shared = await self._sessions.run(kind, imports, job, on_output)
            if shared is not None:
                return await self._confirmed(shared)
        container = await self._pool.take(kind, None if job.kind in ("test", "judge") else imports)
        try:
            report = await converse(container, job, on_output, self._broker)
        except BaseException:
            await asyncio.shield(self._pool.end(container))  # after an interrupt nothing may be running
            raise
        self._pool.discard(container)  # the warden has killed everything but itself
        if job.kind == "test" and kind.environment:
            provided = await asyncio.to_thread(environment.provided, Path(kind.environment), job.lock)
            report = msgspec.structs.replace(report, provided=provided)
        return await self._confirmed(report)

    async def _run_with_files(self, kind: Kind, job: Job, on_output: OnOutput) -> RunReport:
        """Run a job with input files in a container of its own: mounts are fixed when a container is created."""
        async with staged(self._host, job) as folder:
            container = await self._containers.make(msgspec.structs.replace(kind, inputs=folder))
            try:
                return await converse(container, job, on_output, self._broker)
            finally:
                await asyncio.shield(self._containers.end(container))
                await asyncio.shield(self._containers.forget(folder))

    async def installed(self, lock: Lock, progress: Progress) -> str:
        """Return the folder with these wheels; empty for none. Raise RequirementsError, SandboxUnavailable."""
        await self.prepare(progress)
        return (await self._kind(Job(run_id="", module="", code="", lock=lock), progress)).environment

    async def open_program(self, program: Program, progress: Progress) -> RunningProgram:
        """Return a program started in its own container. Raise SandboxUnavailable, RequirementsError, UsageError."""
        folder = await self.installed(program.lock, progress)
        if program.tree is not None:
            combined = await asyncio.to_thread(with_tree, program.tree, folder, self._environments)
            self._held.hold(combined)
            folder = str(combined)
        container = await self._containers.make(Kind(environment=folder, limits=program.limits))

        async def end() -> None:
            await asyncio.shield(self._containers.end(container))

        try:
            return await opened(container, end, self._broker, program)
        except BaseException:
            await end()
            raise

    async def _confirmed(self, report: RunReport) -> RunReport:
        """Return the report. Raise EngineLost if the engine was lost during the run."""
        if report.status == "killed" and not await self._service.answers():
            raise EngineLost(
                f"{self._host.title} was lost during the run, so nobody knows how far the tool came.",
                hint=self._host.hint,
            )
        return report

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """End everything that still runs, and the engine's service; wait up to `seconds` for removed containers."""
        clean = False
        try:
            await asyncio.gather(self._sessions.close(), *(() if self._guest else (self._pool.close(),)))
            if not self._guest:
                clean = await self._containers.close(seconds)
        finally:
            if not self._guest:
                await self._service.close(clean=clean)
            self._held.close()

    @property
    def processors(self) -> int:
        """Return the number of processors of the engine's machine; 1 while it is unknown."""
        return max(int((self._facts.info or {}).get("host", {}).get("cpus", 1)), 1)

    async def warm_up(self, limits: Limits, progress: Progress) -> None:
        """Fill the pool for tools without requirements. Raise SandboxUnavailable."""
        await self.prepare(progress)
        await self._pool.fill(Kind(limits=limits))

    def waiting(self) -> tuple[PoolRow, ...]:
        """Return the rows of the containers that wait in the pool."""
        return self._pool.rows()

    async def overview(self) -> tuple[tuple[ContainerRow, ...], tuple[EnvironmentRow, ...]]:
        """Return the containers of every alita here, and the installed requirements. Raise SandboxUnavailable."""
        await self._service.ensure()
        try:
            containers = container_rows(await self._containers.listed(), self.name, self._pool.ids())
        except RestError as error:
            raise SandboxUnavailable(f"Podman does not list its containers: {error}", hint=FIX) from error
        return containers, await asyncio.to_thread(environment_rows, self._environments)

    async def reap(self) -> tuple[int, int]:
        """Remove what ended sessions left; return how many containers and folders. Raise SandboxUnavailable."""
        await self._service.ensure()
        return await self._tidy()

    async def rebuild(self, progress: Progress) -> SandboxStatus:
        """Build the base image again, while the old one stays, and return the state. Raise SandboxUnavailable."""
        await self._describe()
        if isinstance(self._host, Remote) and self._host.here is not None:
            await bring(self._host, progress)
        else:
            await image.rebuild(self._host, progress)
            browser = image.with_browser(self._host.settings)
            if self._host.settings.browser and await image.present(self._host, browser) is not None:
                await image.rebuild(self._host, progress, browser)
        self._facts.status = None
        self._facts.pythons.clear()
        await self._sessions.empty()
        await self._pool.empty()
        await self._containers.close()
        await image.forget(self._host)
        return await self.status()

    async def _tidy(self) -> tuple[int, int]:
        containers = 0
        with suppress(RestError):
            containers = await self._containers.reap()
        await image.forget(self._host)
        await asyncio.to_thread(tidy_staged, self._host.area)
        most_bytes = self._host.settings.environments_mb << 20
        if self._host.elsewhere:
            with suppress(RestError):
                return containers, await self._volumes.tidy(most_bytes)
        return containers, await asyncio.to_thread(tidy, self._environments, most_bytes)

    async def _kind(self, job: Job, progress: Progress) -> Kind:
        runtime = runtime_of(job.language)
        start = runtime.start
        refusal, hint = not_allowed(job.language, self._host.settings.languages)
        if refusal:
            raise NotAllowedHere(refusal, hint=hint)
        reserved = start.reserved_bytes if start is not None else 0
        limits, allowed = job.limits, self._host.settings.install_limits
        if reserved > limits.reserved_bytes:
            limits = msgspec.structs.replace(limits, reserved_bytes=reserved)
        browser = job.capabilities.browser
        if not job.lock.packages:
            return Kind(limits=limits, browser=browser)
        target = await self._target(browser=browser)
        try:
            folder = await environment.ensure(job.lock, self._environments, target, progress, limits=allowed)
        except seals.EnvironmentChanged as changed:
            await self._set_aside(changed.folder)
            raise
        self._held.hold(folder)
        return Kind(environment=str(folder), limits=limits, browser=browser)

    async def _set_aside(self, folder: Path) -> None:
        """Set a changed environment aside, and end the idle containers, which may have it mounted."""
        await asyncio.to_thread(self._held.set_aside, folder)
        await self._sessions.empty()
        await self._pool.empty()

    @property
    def _environments(self) -> Path:
        return self._host.area / "environments"

    async def _target(self, *, browser: bool = False) -> environment.Target:
        """Return the Python version and platform of an image, as its interpreter reports them."""
        async with self._asking:
            if browser not in self._facts.pythons:
                container = await self._containers.make(Kind(browser=browser))
                self._facts.pythons[browser] = environment.target(container.warden_report)
                await self._containers.end(container)
            return self._facts.pythons[browser]

    async def _describe(self) -> dict[str, Any]:
        """Return Podman's own description. Raise SandboxUnavailable where it is missing or not rootless."""
        if self._facts.info is None:
            if shutil.which(self._host.program, path=self._host.environ["PATH"]) is None:
                name = self._host.program.capitalize()
                raise SandboxUnavailable(
                    f"{name} is not installed.", hint="`alita doctor --fix` installs it."
                )
            if self._host.settings.profile == "gvisor" and not self._host.elsewhere:
                gvisor.require(self._host.environ["PATH"])
            await self._service.ensure()
            try:
                info = await asyncio.to_thread(_info, self._service.url)
            except ServiceLost:
                await asyncio.sleep(RETRY_SECONDS[-1])
                await self._service.ensure()
                info = await asyncio.to_thread(_info, self._service.url)
            host = info.get("host", {})
            if not host.get("security", {}).get("rootless"):
                raise SandboxUnavailable("Podman does not run rootless.", hint=FIX)
            if host.get("cgroupVersion") == "v2" and self._host.settings.profile != "gvisor":
                self._containers.controllers = frozenset(host.get("cgroupControllers") or ())
            self._facts.info = info
        return self._facts.info

    async def _probe(self, *, fresh: bool) -> SandboxStatus:
        info = await self._describe()
        host = info.get("host", {})
        base = await image.present(self._host)
        runtime = host.get("ociRuntime", {}).get("name", "?")
        if self._host.settings.profile == "gvisor":
            runtime = f"{gvisor.RUNTIME} (gVisor)"
        engine = f"podman {info.get('version', {}).get('Version', '?')}, {runtime}"
        location = f" as {self._host.account}" if self._host.account else ""
        location += f" at {self.name}" if self._host.elsewhere else ""
        if base is None:
            return SandboxStatus(
                available=False,
                engine=f"{engine}, rootless{location}",
                problem="The base image is not here yet; it is prepared before the first run.",
                hint="`alita doctor --fix` prepares it now.",
            )
        return SandboxStatus(
            available=True,
            engine=f"{engine}, rootless{location}",
            image=base.reference,
            image_digest=base.digest,
            image_origin=base.origin,
            enforcement=await self._limits(f"{engine} {base.digest}", fresh=fresh),
        )

    async def _limits(self, engine_and_image: str, *, fresh: bool) -> tuple[Enforcement, ...]:
        """Return what enforces each limit, measured once for this engine, image, kernel and profile."""

        async def run(job: Job) -> RunReport:
            container = await self._containers.make(Kind(limits=job.limits))  # the pool is for tools
            try:
                return await converse(container, job, lambda *_: None)
            finally:
                await asyncio.shield(self._containers.end(container))

        await self.prepare(lambda *_: None)
        controllers = self._containers.controllers
        kernel = str((self._facts.info or {}).get("host", {}).get("kernel", ""))
        key = (engine_and_image, kernel, *sorted(controllers), *self._files.versions)
        profile = self._host.settings.profile
        rows = await limits.recorded(self._host.area, key, run, controllers, fresh=fresh, profile=profile)
        return (*rows, Caps().row)


def _info(url: str) -> dict[str, Any]:
    """Return Podman's own description, through podman-py. Raise ServiceLost."""
    from podman import PodmanClient
    from podman.errors import APIError

    try:
        with PodmanClient(base_url=url, timeout=30) as client:
            info: dict[str, Any] = client.info()  # type: ignore[no-untyped-call]
    except (APIError, OSError) as error:
        raise ServiceLost(f"Podman's service does not answer: {error}") from error
    return info
