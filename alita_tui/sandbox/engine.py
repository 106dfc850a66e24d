"""PodmanSandbox: one fresh, attested container per run; created, attached, started, thrown away."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from alita_tui.sandbox import environment, image
from alita_tui.sandbox.channel import Channel, parse
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.policy import Place, SandboxSettings, deviations, fresh_uid, spec
from alita_tui.sandbox.service import RestError, Service
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports import Job, OnOutput, Progress
from alita_tui.spine.values import Enforcement, Lock, RunReport, SandboxStatus, TestCase

_START_SECONDS = 30.0
_TELL_SECONDS = 1 / 30
"""Live output is handed on at most this often for each stream."""
_REMOVAL_LOOKS = 100
_GRACE_SECONDS = 5.0
"""How long after its own wall limit a container may take to report before it is killed."""
_FIX = "`alita doctor` says what is missing, `alita doctor --fix` installs it."

Harden = Callable[[dict[str, Any]], dict[str, Any]]


class PodmanSandbox:
    """Meets `Sandbox` with rootless Podman."""

    def __init__(
        self, settings: SandboxSettings, session_id: str, *, harden: Harden = lambda body: body
    ) -> None:
        self._settings = settings
        self._session = session_id
        self._host = Host(settings)
        self._service = Service(self._host)
        self._harden = harden
        """Last look at the create body; tests weaken it here to prove that attestation refuses."""
        self._base: image.Base | None = None
        self._python: environment.Target | None = None
        self._status: SandboxStatus | None = None
        self._reaped = False
        self._cgroup = False

    # --- Sandbox --------------------------------------------------------------------------

    async def status(self) -> SandboxStatus:
        """See `Sandbox.status`."""
        if self._status is None or not self._status.available:
            try:
                self._status = await self._probe()
            except SandboxUnavailable as error:
                self._status = SandboxStatus(available=False, problem=error.message, hint=error.hint or _FIX)
        return self._status

    async def prepare(self, progress: Progress) -> None:
        """See `Sandbox.prepare`."""
        await self._service.ensure()
        if self._base is None:
            self._base = await image.ensure(self._host, progress)
        if not self._reaped:
            self._reaped = True
            await self._reap()

    async def lock(self, requirements: Sequence[str], progress: Progress) -> Lock:
        """See `Sandbox.lock`."""
        await self.prepare(progress)
        target = await self._target()
        return await environment.lock(requirements, target, progress)

    async def run(self, job: Job, on_output: OnOutput, progress: Progress) -> RunReport:
        """See `Sandbox.run`."""
        await self.prepare(progress)
        folder = ""
        if job.lock.packages:
            folder = str(
                await environment.ensure(
                    job.lock, self._host.area / "environments", await self._target(), progress
                )
            )
        container, channel, _ = await self._box(job, folder)
        try:
            async with asyncio.timeout(job.limits.wall_seconds + _GRACE_SECONDS):
                return await self._converse(channel, job, bool(folder), on_output)
        except TimeoutError:
            return RunReport(
                status="timeout", error="The container did not answer in time.", limits_hit=("wall",)
            )
        finally:
            channel.close()
            await asyncio.shield(self._remove(container))

    async def close(self) -> None:
        """See `Sandbox.close`."""
        await self._service.close()

    # --- one container --------------------------------------------------------------------

    async def _box(self, job: Job, folder: str) -> tuple[str, Channel, dict[str, Any]]:
        """A started container whose attestation holds. Raises SandboxUnavailable."""
        assert self._base is not None
        warden, seccomp = await asyncio.to_thread(self._files)
        place = Place(
            image=self._base.reference,
            warden=warden,
            seccomp=seccomp,
            environment=folder,
            uid=fresh_uid(),
            labels={"alita.session": self._session, "alita.run": job.run_id, "alita.owner": _me()},
            cgroup_limits=self._cgroup,
        )
        body = self._harden(spec(place, job.limits))
        container = await self._create(body)
        try:
            reader, writer = await self._service.attach(container)
            channel = Channel(reader, writer)
            await self._service.request("POST", f"/containers/{container}/start")
            async with asyncio.timeout(_START_SECONDS):
                said = await channel.receive()
            if said is None or said[0] != b"A":
                words = channel.stray.decode("utf-8", "replace").strip()[-300:]
                raise SandboxUnavailable(
                    f"The container ended before it reported: {words or 'no reason given'}"
                )
            seen = parse(said[1])
            wrong = deviations(seen, place, job.limits) + await self._logged(container)
            if wrong:
                raise SandboxUnavailable(
                    "The container is not confined as the profile says, so nothing was run in it: "
                    + "; ".join(wrong),
                    hint=_FIX,
                )
            return container, channel, seen
        except BaseException as error:
            await asyncio.shield(self._remove(container))
            if isinstance(error, RestError | TimeoutError | OSError | ValueError):
                raise SandboxUnavailable(f"A container could not be started: {error}", hint=_FIX) from error
            raise

    async def _logged(self, container: str) -> list[str]:
        """What cannot be seen from inside: a log would fill the host's disk with a tool's prints."""
        made = await self._service.request("GET", f"/containers/{container}/json")
        driver = made["HostConfig"]["LogConfig"]["Type"]
        return [] if driver == "none" else [f"the log driver is {driver}"]

    async def _create(self, body: dict[str, Any]) -> str:
        for attempt in (1, 2):
            try:
                answer = await self._service.request("POST", "/containers/create", body)
                return str(answer["Id"])
            except RestError as error:
                if error.status < 500 or attempt == 2:
                    raise SandboxUnavailable(f"Podman refuses the container: {error}", hint=_FIX) from error
        raise AssertionError

    async def _converse(self, channel: Channel, job: Job, has_env: bool, on_output: OnOutput) -> RunReport:
        task = {
            "module": job.module,
            "code": job.code,
            "tests": job.tests,
            "what": job.what,
            "arguments": job.arguments or {},
            "environment": has_env,
            "limits": {name: getattr(job.limits, name) for name in job.limits.__struct_fields__},
        }
        await channel.send(b"J", json.dumps(task).encode())  # escapes lone surrogates
        streams = {b"O": _Stream("stdout", on_output), b"E": _Stream("stderr", on_output)}
        try:
            return await self._listen(channel, job, streams)
        finally:
            for stream in streams.values():
                stream.end()

    async def _listen(self, channel: Channel, job: Job, streams: dict[bytes, _Stream]) -> RunReport:
        while True:
            said = await channel.receive()
            if said is None:
                words = channel.stray.decode("utf-8", "replace").strip()[-300:]
                reason = f"The container ended without a report. {words}".strip()
                return RunReport(status="killed", error=reason, **_texts(streams))
            kind, payload = said
            if kind == b"D":
                for stream in streams.values():
                    stream.end()
                return _report(parse(payload), job, _texts(streams))
            if kind in streams:
                streams[kind].take(payload)

    async def _remove(self, container: str) -> None:
        """Remove it and wait until it is gone: it may be removing itself at the same time."""
        with suppress(SandboxUnavailable, OSError):
            for _ in range(_REMOVAL_LOOKS):
                with suppress(RestError):
                    await self._service.request(
                        "DELETE", f"/containers/{container}?force=true&timeout=0&ignore=true"
                    )
                try:
                    await self._service.request("GET", f"/containers/{container}/exists")
                except RestError as error:
                    if error.status == 404:
                        return
                await asyncio.sleep(0.05)

    def _files(self) -> tuple[str, str]:
        """Warden and profile where the account may read them."""
        self._host.prepare()
        found: list[str] = []
        for name in ("warden.py", "seccomp.json"):
            source, copy = Path(__file__).with_name(name), self._host.area / name
            data = source.read_bytes()
            if not copy.exists() or copy.read_bytes() != data:
                draft = copy.with_suffix(f".{os.getpid()}")
                draft.write_bytes(data)
                draft.chmod(0o644)
                draft.replace(copy)
            found.append(str(copy))
        return found[0], found[1]

    async def _target(self) -> environment.Target:
        """Python and platform of the base image, asked of the image itself."""
        if self._python is None:
            probe = Job(run_id="probe", module="probe", code="")
            container, channel, seen = await self._box(probe, "")
            channel.close()
            await self._remove(container)
            self._python = environment.target(seen)
        return self._python

    # --- state of the machine -------------------------------------------------------------

    async def _reap(self) -> None:
        """Remove containers whose process is gone."""
        from urllib.parse import quote

        filters = quote(json.dumps({"label": ["alita.owner"]}))
        with suppress(RestError):
            for one in (
                await self._service.request("GET", f"/containers/json?all=true&filters={filters}") or ()
            ):
                owner = (one.get("Labels") or {}).get("alita.owner", "")
                if not _alive(owner):
                    await self._remove(one["Id"])

    async def _probe(self) -> SandboxStatus:
        if shutil.which("podman", path=self._host.environ["PATH"]) is None:
            raise SandboxUnavailable("Podman is not installed.", hint="`alita doctor --fix` installs it.")
        await self._service.ensure()
        info = await asyncio.to_thread(_info, self._service.url)
        host = info.get("host", {})
        if not host.get("security", {}).get("rootless"):
            raise SandboxUnavailable("Podman does not run rootless.", hint=_FIX)
        self._cgroup = host.get("cgroupVersion") == "v2" and {"memory", "pids"} <= set(
            host.get("cgroupControllers") or ()
        )
        base = await image.present(self._host)
        engine = f"podman {info.get('version', {}).get('Version', '?')}, {host.get('ociRuntime', {}).get('name', '?')}"
        who = f" as {self._host.account}" if self._host.account else ""
        if base is None:
            return SandboxStatus(
                available=False,
                engine=f"{engine}, rootless{who}",
                problem="The base image is not here yet; it is prepared before the first run.",
                hint="`alita doctor --fix` prepares it now.",
            )
        return SandboxStatus(
            available=True,
            engine=f"{engine}, rootless{who}",
            image=base.reference,
            image_digest=base.digest,
            image_origin=base.origin,
            enforcement=_enforcement(self._cgroup),
        )


class _Stream:
    """One output stream: decoded piece by piece, kept whole up to its cap."""

    def __init__(self, name: Literal["stdout", "stderr"], tell: OnOutput) -> None:
        self._name = name
        self._tell = tell
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.text: list[str] = []
        self._untold = 0
        self._timer: asyncio.TimerHandle | None = None

    def take(self, piece: bytes, *, final: bool = False) -> None:
        text = self._decode(piece, final)
        if text:
            self.text.append(text)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_TELL_SECONDS, self._flush)

    def end(self) -> None:
        """Say what is left, at once; nothing is said afterwards."""
        self.take(b"", final=True)
        self._flush()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        new, self._untold = "".join(self.text[self._untold :]), len(self.text)
        if new:
            self._tell(self._name, new)


def _texts(streams: dict[bytes, _Stream]) -> dict[str, Any]:
    return {"stdout": "".join(streams[b"O"].text), "stderr": "".join(streams[b"E"].text)}


def _report(meta: dict[str, Any], job: Job, texts: dict[str, Any]) -> RunReport:
    """What the warden measured and the child answered, as one report."""
    problem, answer = "", None
    if meta["answer"]:
        try:
            answer = parse(meta["answer"])
        except ValueError as why:
            problem = f"The result is no JSON that can be read: {why}"
    answer = answer if isinstance(answer, dict) else {}
    hits = list(meta["limits_hit"])
    error = str(answer.get("error", "")) or problem
    if "MemoryError" in error and "memory" not in hits:
        hits.append("memory")
    cases = tuple(
        TestCase(
            name=str(case.get("name", "")),
            passed=case.get("passed") is True,
            message=str(case.get("message", "")),
            duration_ms=float(case.get("duration_ms", 0.0)),
        )
        for case in answer.get("cases", ())
        if isinstance(case, dict)
    )
    done = "cases" in answer if job.what == "test" else "result" in answer
    status: Literal["ok", "error", "exit", "timeout", "limit", "killed", "bad_result"]
    if "wall" in hits:
        status = "timeout"
        error = f"It ran longer than {job.limits.wall_seconds:g} s and was ended."
    elif hits and not done:
        status = "limit"
        error = error or f"It was ended at its limit: {', '.join(hits)}."
    elif problem:
        status = "bad_result"
    elif error:
        status = "error"
    elif done:
        status = "ok"
    else:
        status = "exit"
        error = f"It ended without a result (exit code {meta['exit_code']}, signal {meta['signal']})."
    return RunReport(
        status=status,
        exit_code=meta["exit_code"],
        result=answer.get("result") if status == "ok" else None,
        error=error,
        truncated=tuple(meta["truncated"]),
        limits_hit=tuple(hits),
        duration_ms=meta["duration_ms"],
        peak_memory_bytes=meta["peak_memory_bytes"],
        cases=cases,
        **texts,
    )


def _info(url: str) -> dict[str, Any]:
    """Podman's own description, through podman-py. Raises SandboxUnavailable."""
    from podman import PodmanClient
    from podman.errors import APIError

    try:
        with PodmanClient(base_url=url, timeout=30) as client:
            found: dict[str, Any] = client.info()  # type: ignore[no-untyped-call]
    except (APIError, OSError) as error:
        raise SandboxUnavailable(f"Podman's service does not answer: {error}") from error
    return found


def _enforcement(cgroup: bool) -> tuple[Enforcement, ...]:
    pids = ", pids.max" if cgroup else ""
    watched = "rlimits and the warden's watch over all processes"
    return (
        Enforcement(resource="network", mechanism="own network namespace with loopback only, attested"),
        Enforcement(
            resource="files", mechanism="read-only root, sized /tmp, nothing of the host mounted writable"
        ),
        Enforcement(resource="privileges", mechanism="no capabilities, no new privileges, own uid, attested"),
        Enforcement(resource="system calls", mechanism="seccomp allow-list without namespaces, attested"),
        Enforcement(
            resource="memory", mechanism=f"cgroup v2 and {watched}" if cgroup else watched, strong=cgroup
        ),
        Enforcement(
            resource="processes",
            mechanism=f"RLIMIT_NPROC for a uid of its own{pids}",
        ),
        Enforcement(resource="time", mechanism="wall clock of the warden and of the host, RLIMIT_CPU"),
        Enforcement(resource="output", mechanism="capped by the warden; a flood ends the run"),
        Enforcement(resource="cpu share", mechanism="low priority only", strong=False),
    )


def _me() -> str:
    """This process, so that another can tell whether it still lives: pid and start time."""
    return f"{os.getpid()}.{_started(os.getpid())}"


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _alive(owner: str) -> bool:
    pid, _, started = owner.partition(".")
    return pid.isdigit() and bool(started) and _started(int(pid)) == started
