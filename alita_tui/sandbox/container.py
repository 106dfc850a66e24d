"""One attested container: it waits, gets its job, and is ended."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from alita_tui.events import Value
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.channel import Channel
from alita_tui.sandbox.imports import imports_of, started_ahead
from alita_tui.spine.judge_plan import Piece, Plan
from alita_tui.spine.ports.sandbox import Job, Limits

_PRELOAD_SECONDS = 30.0
_END_SECONDS = 5.0


class Kind(Value, frozen=True):
    """The properties of a container; containers of the same kind are interchangeable."""

    environment: str = ""
    """Folder with installed requirements; empty for none."""
    limits: Limits = Limits()
    calls: int = 1
    """How many jobs it runs in turn; more than one only in a session container."""
    inputs: str = ""
    """Folder with the files of one call; empty for none."""
    browser: bool = False
    """Whether it uses the image with a browser."""

    @property
    def name(self) -> str:
        """Return the beginning of the environment's digest; `base` or `browser` for a bare image."""
        return self.environment.rpartition("/")[2][:12] or ("browser" if self.browser else "base")


class Container:
    """A started container whose confinement matches the profile, waiting for its job."""

    def __init__(
        self,
        container_id: str,
        channel: Channel,
        kind: Kind,
        uids: range,
        warden_report: dict[str, Any],
        pid: int,
        conmon: int = 0,
    ) -> None:
        """`pid` is its first process, or 0 where that is on another machine; `conmon` the process that watches it."""
        self.id = container_id
        self._conmon = conmon
        self.channel = channel
        self.kind = kind
        self.warden_report = warden_report
        """The warden's report on its confinement."""
        self.imports: frozenset[str] = frozenset()
        """Imports that were done ahead, or the language whose program was started ahead (`imports.ahead`)."""
        self.uids = uids
        self.pid = pid
        self._configured = False
        self.job_sent = False
        """True once it may have received its job, so the tool may have started."""
        self._pidfd = -1
        self._elsewhere = not pid
        with suppress(OSError):  # it ended already
            self._pidfd = os.pidfd_open(pid) if pid else -1

    @property
    def alive(self) -> bool:
        """Return whether its first process still runs."""
        if self._elsewhere:
            return not self.channel.ended
        if self._pidfd < 0:
            return False
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return not poll.poll(0)

    @property
    def watched(self) -> bool:
        """Return whether its conmon lives; conmon has Podman remove the container when it ends."""
        with suppress(OSError):
            return f"\0{self.id}\0".encode() in Path(f"/proc/{self._conmon}/cmdline").read_bytes()
        return False

    async def preload(self, imports: frozenset[str]) -> str:
        """Do these imports ahead; return why they are not safe, or an empty string. Raise TimeoutError."""
        await self._configure(imports)
        self.imports = imports
        return await self.ready()

    async def ready(self) -> str:
        """Wait until it can take a job; return what is wrong, or an empty string. Raise TimeoutError."""
        async with asyncio.timeout(_PRELOAD_SECONDS):
            frame = await self.channel.receive()
        if frame is None or frame[0] != b"R":
            return "the container ended"
        return frame[1].decode("utf-8", "replace")

    async def give(self, job: Job, broker: bytes = b"") -> None:
        """Send the job; before it, if anything is granted, the settings with which the tool reaches the broker."""
        self.job_sent = False
        if not self._configured:
            await self._configure(frozenset())
        if job.kind in ("test", "judge"):
            await self._fork_judge()
        if broker:
            await self.channel.send(b"G", broker)
        self.job_sent = True
        await self.channel.send(b"J", json.dumps(_message(job)).encode())  # escapes lone surrogates

    async def end(self) -> None:
        """Kill it; return when no process of it is left."""
        self.channel.close()
        pidfd, self._pidfd = self._pidfd, -1
        if pidfd < 0:
            return
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        try:
            with suppress(OSError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            loop.add_reader(pidfd, ended.set)
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await ended.wait()
        finally:
            loop.remove_reader(pidfd)
            os.close(pidfd)

    async def _fork_judge(self) -> None:
        """Have the judge forked before any part of the draft arrives. Raise ConnectionError if it ends instead."""
        await self.channel.send(b"T", b"")
        async with asyncio.timeout(_PRELOAD_SECONDS):
            while (frame := await self.channel.receive()) is not None:
                if frame[0] == b"T":
                    return
        raise ConnectionError("the container ended before its judge was ready")

    async def _configure(self, imports: frozenset[str]) -> None:
        self._configured = True
        limits = self.kind.limits
        language = started_ahead(imports)
        settings = {
            "limits": msgspec.structs.asdict(limits),
            "imports": [] if language else sorted(imports),
            "start": _start_settings(language) if language else None,
            "environment": bool(self.kind.environment),
        }
        await self.channel.send(b"L", json.dumps(settings).encode())


def _start_settings(language: str) -> dict[str, Any] | None:
    """Return how tools of a language are started, as the warden reads it; None for the warden's own."""
    start = runtime_of(language).start
    if start is None:
        return None
    return {"env": [], "persistent": False, **msgspec.to_builtins(start)}  # defaults are left out


def _message(job: Job) -> dict[str, Any]:
    """Return the job as the warden reads it: a call, a script, or what the judge has to do with a draft."""
    runtime = runtime_of(job.language)
    start = _start_settings(job.language)
    if job.kind not in ("test", "judge"):
        started = {"start": start, "suffix": runtime.suffix, "most": job.limits.result_bytes} if start else {}
        call = {"module": job.module, "code": job.code, "kind": job.kind, "arguments": job.arguments or {}}
        return {**call, **started}
    plan = job.plan
    if job.kind == "test" or plan is None:
        own_tests = Piece(kind="tests", name=job.module, code=job.code, tests=job.tests)
        plan = Plan(pieces=(own_tests,) if job.kind == "test" else ())
    return {
        "kind": job.kind,
        "show": job.kind == "test",
        "imports": [] if start else sorted(imports_of(job.code, packages=False)),
        "start": start,
        "suffix": runtime.suffix,
        "parameters": job.parameters,
        "total": plan.total,
        "pieces": [
            {
                **msgspec.structs.asdict(piece),
                "module": piece.module or piece.name,
                "conditions": msgspec.to_builtins(piece.conditions),
            }
            for piece in plan.pieces
        ],
    }
