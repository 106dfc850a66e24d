"""What a hostile program may not leave behind."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from alita_tui.events import RunReport
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.text import neutralise
from tests.sandbox.hostile import LIMITS, VICTIM, Attack

AT_ONCE = 4


@dataclass
class Aftermath:
    """What the programs did, and what is left of them."""

    reports: dict[str, RunReport] = field(default_factory=dict)
    victim: RunReport | None = None
    containers: list[str] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    files_before: int = 0
    files_after: int = 0
    visitors: int = 0
    canary: str = ""


def nothing(*_: object) -> None:
    return


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def besieged(settings: EngineSettings, folder: Path, attacks: Sequence[Attack]) -> Aftermath:
    """Programs, some at a time, from one pool, on a host with something to steal."""
    canary = folder / "canary"
    canary.write_text("untouched")
    os.environ["ALITA_TEST_SECRET"] = "do-not-leak"
    with (
        socket.socket() as port,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        port.bind(("127.0.0.1", 0))
        abstract.bind(f"\0alita-host-{os.getpid()}")
        named.bind(str(folder / "socket"))
        doors = (port, abstract, named)
        for door in doors:
            door.listen()
            door.setblocking(False)
        given = {
            "canary": str(canary),
            "port": str(port.getsockname()[1]),
            "abstract": f"alita-host-{os.getpid()}",
            "socket": str(folder / "socket"),
        }
        found = asyncio.run(attack(settings, given, attacks))
        for door in doors:
            with pytest.raises(BlockingIOError):
                door.accept()
    found.canary = canary.read_text()
    del os.environ["ALITA_TEST_SECRET"]
    return found


async def attack(settings: EngineSettings, given: dict[str, str], attacks: Sequence[Attack]) -> Aftermath:
    found = Aftermath()
    sandbox = PodmanSandbox(msgspec.structs.replace(settings, pool_warm=4), "hostile")
    try:
        await sandbox.warm_up(LIMITS, nothing)
        before = await volumes(sandbox)
        socket_path = str(sandbox._service.socket)
        await sandbox._pool.close()
        await sandbox._containers.close()
        sandbox._pool._closed = False
        found.files_before = open_files()
        gate = asyncio.Semaphore(AT_ONCE)
        ready = asyncio.Event()

        async def one(case: Attack) -> None:
            async with gate:
                job = Job(
                    run_id=case.name,
                    module="hostile_tool",
                    code=case.code,
                    limits=case.limits,
                    arguments={**given, "podman": socket_path} if "given" in case.body else None,
                )
                found.reports[case.name] = await sandbox.run(job, nothing, nothing)

        async def victim() -> None:
            job = Job(run_id="victim", module="victim_tool", code=VICTIM, limits=LIMITS)
            found.victim = await sandbox.run(job, lambda *_: ready.set(), nothing)

        holding = asyncio.create_task(victim())
        await ready.wait()
        others = [case for case in attacks if "another container" in case.name]
        await asyncio.gather(*map(one, others))
        await asyncio.gather(holding, *(one(case) for case in attacks if case not in others))
        await sandbox._pool.close()
        await sandbox._containers.close()
        deadline = time.monotonic() + 5  # on a machine under load they go a moment later
        while True:
            found.containers = await left(sandbox)
            await asyncio.sleep(0.05)  # the line of that question is closed by now
            found.files_after = open_files()
            if not found.containers:
                break
            if time.monotonic() > deadline:
                break
        found.volumes = sorted(await volumes(sandbox) - before)
        guard = sandbox._service._supervisor
        assert guard is not None
        found.processes = below(guard.pid)
    finally:
        await sandbox.close()
    return found


async def left(sandbox: PodmanSandbox) -> list[str]:
    filters = quote(json.dumps({"label": ["alita.service=" + sandbox._service.owner]}))
    found = await sandbox._service.request("GET", f"/containers/json?all=true&filters={filters}")
    return [one["Id"] for one in found or ()]


async def volumes(sandbox: PodmanSandbox) -> set[str]:
    return {one["Name"] for one in await sandbox._service.request("GET", "/volumes/json") or ()}


def below(pid: int) -> list[str]:
    """Commands of all processes under the guard but the service itself."""
    deadline = time.monotonic() + 5
    while True:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                except OSError:
                    continue
                if parent == pid and "system service" not in command and "podman pause" not in command:
                    found.append(command)
        if not [one for one in found if one.strip()] or time.monotonic() > deadline:
            return found


def judge(aftermath: Aftermath, case: Attack) -> None:
    """It began, and it ended as it has to."""
    report = aftermath.reports[case.name]
    assert report.stdout.startswith(case.proof), f"the attack did not begin: {report}"
    assert report.status == case.status, report
    assert report.reason in case.reason, report
    if case.result is not None:
        assert report.result == case.result
    assert report.duration_ms < (case.limits.wall_seconds + 2.5) * 1000
    assert len(report.stdout) + len(report.stderr) <= 2 * case.limits.output_bytes
    assert len(report.error) < 50_000
    assert "\x1b" not in neutralise(report.stdout) and "\u202e" not in neutralise(report.stdout)


def unharmed(aftermath: Aftermath) -> None:
    """Nothing is left, nothing was changed."""
    assert aftermath.containers == []
    assert aftermath.processes == []
    assert aftermath.volumes == []
    # What is left open by a program would be so by each; a few are opened once and kept.
    assert aftermath.files_after < aftermath.files_before + len(aftermath.reports) // 10
    assert aftermath.canary == "untouched"
    assert aftermath.victim is not None and aftermath.victim.result == "alone"
