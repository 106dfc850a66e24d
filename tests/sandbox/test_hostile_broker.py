"""Hostile programs with grants: each gets what it is granted and no more, and the host stays as it was."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec
import pytest

from alita_tui.events import RunReport
from alita_tui.sandbox.broker.grants import Caps
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.aftermath import below, left, nothing
from tests.sandbox.grants_lab import Models
from tests.sandbox.hostile_broker import ABUSES, Abuse, grants
from tests.sandbox.loopback import Site, Told, broker, closed_door, serving

pytestmark = pytest.mark.podman
LIMITS = Limits(wall_seconds=120, cpu_seconds=20, memory_bytes=256 << 20, processes=24, output_bytes=65_536)
AT_ONCE = 4
TOLD = ("flood of refused requests", "secret read where it is not", "door held open by a daemon")
ON = {
    "draft": ABUSES,
    "gvisor": tuple(
        case for n, case in enumerate(ABUSES) if n % 3 == 0 or "rebind" in case.code or case.name in TOLD
    ),
}
"""The host's side is the same for both profiles: on gVisor, where a container costs more, a sample has to do."""


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


@pytest.fixture(scope="module")
def besieged(
    settings: EngineSettings, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Aftermath | str]:
    """What became of all programs under a profile, or why it cannot be had; each profile is run once.

    A parametrised fixture of the module would not do: pytest makes it anew for every row of a table it is in.
    """

    @cache
    def once(profile: str) -> Aftermath | str:
        own = msgspec.structs.replace(settings, profile=profile)
        try:
            asyncio.run(repair(own, nothing))
        except SandboxUnavailable as error:
            return f"{profile} cannot be had here: {error}"
        return siege(own, tmp_path_factory.mktemp("host"), ON[profile])

    return once


@pytest.fixture(params=ON)
def aftermath(request: pytest.FixtureRequest, besieged: Callable[[str], Aftermath | str]) -> Aftermath:
    found = besieged(request.param)
    if isinstance(found, str):
        pytest.skip(found)
    return found


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


@pytest.mark.parametrize(
    ("aftermath", "case"),
    [(profile, case) for profile, cases in ON.items() for case in cases],
    ids=lambda one: one.name if isinstance(one, Abuse) else one,
    indirect=["aftermath"],
)
def test_a_grant_gives_no_access_beyond_it(aftermath: Aftermath, case: Abuse) -> None:
    report = aftermath.reports[case.name]
    assert report.stdout.startswith("ATTACK"), f"the attack did not begin: {report}"
    assert (report.status, report.result) == ("ok", case.result), report


def test_an_attack_through_the_broker_leaves_nothing_and_touches_nothing_outside(
    aftermath: Aftermath,
) -> None:
    assert aftermath.containers == [] and aftermath.processes == []
    assert aftermath.outside == {"outside.txt": "outside", "file.txt": "outside"}
    assert not [one for one in aftermath.site.seen if "smuggled" in one["path"]]
    assert {one["headers"]["host"] for one in aftermath.site.seen} == {f"api.example:{aftermath.site.port}"}


def test_a_name_is_resolved_once_per_run(aftermath: Aftermath) -> None:
    assert aftermath.asked["rebind.example"] == 1


def test_every_request_is_recorded_up_to_a_flood(aftermath: Aftermath) -> None:
    by_run: dict[str, int] = {}
    for one in aftermath.told:
        by_run[one.call_id] = by_run.get(one.call_id, 0) + 1
        assert "hunter2" not in msgspec.json.encode(one).decode()
    assert set(by_run) >= aftermath.reports.keys() - {
        "secret read where it is not",
        "door held open by a daemon",
    }
    assert by_run["flood of refused requests"] <= Caps().recorded_refusals + 1, (
        "the last one says how many more"
    )
