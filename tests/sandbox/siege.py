"""Attacks through the broker, and what is left after them."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from alita_tui.events import RunReport
from alita_tui.sandbox.broker.grants import Caps
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.aftermath import below, left, nothing
from tests.sandbox.grants_lab import Models
from tests.sandbox.hostile_broker import Abuse, grants
from tests.sandbox.loopback import Site, Told, broker, closed_door, serving

LIMITS = Limits(wall_seconds=120, cpu_seconds=20, memory_bytes=256 << 20, processes=24, output_bytes=65_536)


AT_ONCE = 4


@dataclass
class Aftermath:
    reports: dict[str, RunReport] = field(default_factory=dict)
    told: Told = field(default_factory=Told)
    site: Site = field(default_factory=Site)
    asked: dict[str, int] = field(default_factory=dict)
    containers: list[str] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    outside: dict[str, str] = field(default_factory=dict)


def workspace(folder: Path) -> Path:
    """A workspace with all kinds of ways out of it."""
    inside = folder / "workspace"
    (inside / "data").mkdir(parents=True)
    (inside / "a.txt").write_text("a")
    (inside / ".hidden").write_text("hidden")
    (folder / "outside.txt").write_text("outside")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "file.txt").write_text("outside")
    (inside / "link.txt").symlink_to(folder / "outside.txt")
    (inside / "up").symlink_to(folder)
    (inside / "root").symlink_to("/")
    os.mkfifo(inside / "pipe")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(inside / "socket"))
    return inside


def swap(inside: Path, over: threading.Event) -> None:
    """A folder that is a link every other moment."""
    real, link, race = inside / "real", inside / "flip", inside / "race"
    real.mkdir()
    (real / "file.txt").write_text("inside")
    link.symlink_to(inside.parent / "elsewhere")
    while not over.is_set():
        for source in (real, link):
            try:
                os.rename(source, race)
                os.rename(race, source)
            except OSError:  # a program has made a folder there meanwhile
                if not race.is_symlink():
                    shutil.rmtree(race, ignore_errors=True)


def siege(settings: EngineSettings, folder: Path, abuses: Sequence[Abuse]) -> Aftermath:
    """All programs, some at a time, with doors and files around them that they must not reach."""
    inside, over = workspace(folder), threading.Event()
    swapping = threading.Thread(target=swap, args=(inside, over))
    swapping.start()
    try:
        with serving() as site, closed_door() as door:
            found = asyncio.run(abuse(settings, inside, site, door.getsockname()[1], abuses))
            found.site = site
            with pytest.raises(BlockingIOError):
                door.accept()
    finally:
        over.set()
        swapping.join()
    places = [
        folder / "outside.txt",
        *(folder / "elsewhere").iterdir(),
        *(path for path in folder.iterdir() if path.is_file()),
    ]
    found.outside = {path.name: path.read_text() for path in places}
    return found


async def abuse(
    settings: EngineSettings, inside: Path, site: Site, victim: int, abuses: Sequence[Abuse]
) -> Aftermath:
    found = Aftermath()
    names = {
        "api.example": "127.0.0.1",
        "other.example": "127.0.0.1",
        "local.example": "127.0.0.1",
        "meta.example": "169.254.169.254",
        "rebind.example": ["192.88.98.1", "127.0.0.1"],
    }
    made = broker(
        found.told, names, (f"api.example:{site.port}", f"other.example:{site.port}"), asked=found.asked,
        both={"mixed.example": ("192.88.98.1", "127.0.0.1")}, workspace=inside, secret={"API_KEY": "hunter2-hunter2"}.get,
        models=Models(), caps=Caps(connect_seconds=0.3, received_bytes=16 << 20, files_bytes=32 << 20),
    )  # fmt: skip
    sandbox = PodmanSandbox(msgspec.structs.replace(settings, pool_warm=4), "abuse", broker=made)
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(case: Abuse) -> None:
        async with gate:
            arguments = {"base": f"http://api.example:{site.port}", "port": site.port, "victim": victim}
            granted = grants(site.port, victim)[case.granted]
            job = Job(
                run_id=case.name,
                module="hostile_tool",
                code=case.code,
                digest="approved",
                limits=LIMITS,
                arguments=arguments,
                capabilities=granted,
            )
            found.reports[case.name] = await sandbox.run(job, nothing, nothing)

    try:
        await asyncio.gather(*map(one, abuses))
        await sandbox._pool.close()
        await sandbox._containers.close()
        found.containers = await left(sandbox)
        guard = sandbox._service._supervisor
        assert guard is not None
        found.processes = below(guard.pid)
    finally:
        await sandbox.close()
    return found
