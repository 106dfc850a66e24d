"""The pool: containers that wait, are used once, and never outlive alita."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast
from urllib.parse import quote

import msgspec
import pytest

from alita_tui.events import RunReport
from alita_tui.sandbox.container import Kind
from alita_tui.sandbox.containers import Containers
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.imports import imports_of
from alita_tui.sandbox.owner import alive
from alita_tui.sandbox.pool import Pool
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits

pytestmark = pytest.mark.podman
LIMITS = Limits(wall_seconds=60)


def nothing(*_: object) -> None:
    return


@pytest.fixture
async def sandbox(settings: EngineSettings) -> AsyncIterator[PodmanSandbox]:
    made = PodmanSandbox(msgspec.structs.replace(settings, pool_hot=1, pool_warm=1), "pool")
    yield made
    await made.close()


async def run(sandbox: PodmanSandbox, code: str) -> RunReport:
    job = Job(run_id="t", module="tool_under_test", code=code, limits=LIMITS)
    return await sandbox.run(job, nothing, nothing)


async def filled(sandbox: PodmanSandbox) -> list[str]:
    await sandbox.warm_up(LIMITS, nothing)
    return [container.id for container in sandbox._pool._stocks[Kind(limits=LIMITS)].containers]


async def containers(sandbox: PodmanSandbox) -> list[str]:
    filters = quote(json.dumps({"label": ["alita.service=" + sandbox._service.owner]}))
    found = await sandbox._service.request("GET", f"/containers/json?all=true&filters={filters}")
    return [one["Id"] for one in found or ()]


async def test_each_container_is_used_once_and_replaced(sandbox: PodmanSandbox) -> None:
    first = await filled(sandbox)
    assert len(first) == 2
    seen = set()
    for _ in range(3):
        report = await run(sandbox, "import os\ndef run(): return [os.getuid(), os.listdir('/tmp')]\n")
        assert report.result[1] == ["out", "tool"]
        seen.add(report.result[0])
        await filled(sandbox)
    assert len(seen) == 3
    await sandbox._containers.close()
    now = await filled(sandbox)
    assert len(now) == 2 and set(await containers(sandbox)) == set(now)
    assert not set(now) & set(first[:1])


async def test_a_hot_container_has_only_the_modules_that_the_code_imports(sandbox: PodmanSandbox) -> None:
    code = "import sys\nimport statistics\ndef run(): return ['statistics' in sys.modules, 'decimal' in sys.modules]\n"
    await run(sandbox, code)
    await filled(sandbox)
    assert sandbox.waiting()[0].hot == 1
    assert sandbox.waiting()[0].imports == ("statistics", "sys")
    probe = "import sys\nwas = 'statistics' in sys.modules\n{}\ndef run(): return was\n"
    assert (await run(sandbox, probe.format("import statistics"))).result is True
    await filled(sandbox)
    assert (await run(sandbox, probe.format(""))).result is False


@pytest.mark.parametrize(
    "module",
    ["print('loud')\n", "import os\nos._exit(0)\n", "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n",
     "import os, time\nif os.fork() == 0: time.sleep(60)\n"],
    ids=["prints", "ends", "thread", "process"],
)  # fmt: skip
async def test_imports_that_do_more_than_define_are_not_done_ahead(
    settings: EngineSettings, tmp_path: Path, module: str
) -> None:
    area = PodmanSandbox(settings, "x")._host.area
    area.mkdir(parents=True, exist_ok=True)
    folder = area / f"test-{tmp_path.name}"
    folder.mkdir()
    try:
        (folder / "busy_module.py").write_text(module)
        sandbox = PodmanSandbox(msgspec.structs.replace(settings, pool_hot=1), "pool")
        try:
            await sandbox.prepare(nothing)
            container = await sandbox._containers.make(Kind(environment=str(folder), limits=LIMITS))
            assert await container.preload(frozenset({"busy_module"})) != ""
            await sandbox._containers.end(container)
        finally:
            await sandbox.close()
    finally:
        (folder / "busy_module.py").unlink()
        folder.rmdir()


def test_only_top_level_imports_are_done_ahead() -> None:
    code = "from __future__ import annotations\nimport json, this\nfrom os import path\nimport pandas as pd\nfrom . import x\ndef run():\n    import csv\n"
    assert imports_of(code, packages=False) == {"json", "os"}
    assert imports_of(code, packages=True) == {"json", "os", "pandas"}
    assert imports_of("def run(:", packages=True) == frozenset()


async def test_a_container_that_died_while_it_waited_is_not_used(sandbox: PodmanSandbox) -> None:
    await filled(sandbox)
    for container in sandbox._pool._stocks[Kind(limits=LIMITS)].containers:
        signal.pidfd_send_signal(container._pidfd, signal.SIGKILL)
        await asyncio.to_thread(wait_for_end, container._pidfd)
    assert sandbox.waiting()[0].warm == 0
    assert (await run(sandbox, "def run(): return 1\n")).status == "ok"


def wait_for_end(pidfd: int) -> None:
    import select

    assert select.select([pidfd], [], [], 10)[0]


async def test_closing_the_pool_leaves_no_container(settings: EngineSettings) -> None:
    sandbox = PodmanSandbox(msgspec.structs.replace(settings, pool_hot=2, pool_warm=1), "pool")
    await filled(sandbox)
    guard = sandbox._service._supervisor
    assert guard is not None
    waiting = await containers(sandbox)
    assert len(waiting) == 3
    await sandbox.close()
    assert guard.returncode is not None
    assert not sandbox._service.socket.exists()
    look = PodmanSandbox(settings, "look")
    await look._service.ensure()
    filters = quote(json.dumps({"label": ["alita.service=" + sandbox._service.owner]}))
    assert not await look._service.request("GET", f"/containers/json?all=true&filters={filters}")
    await look.close()


async def test_closing_in_a_hurry_ends_what_runs_and_leaves_the_removal_to_the_supervisor(
    settings: EngineSettings,
) -> None:
    sandbox = PodmanSandbox(msgspec.structs.replace(settings, pool_hot=1, pool_warm=0), "pool")
    await filled(sandbox)
    guard = sandbox._service._supervisor
    assert guard is not None
    assert len(await containers(sandbox)) == 1
    await sandbox.close(0)
    await asyncio.to_thread(guard.wait, 20)
    look = PodmanSandbox(settings, "look")
    await look._service.ensure()
    filters = quote(json.dumps({"label": ["alita.service=" + sandbox._service.owner]}))
    assert not await look._service.request("GET", f"/containers/json?all=true&filters={filters}")
    await look.close()


KILLED = """
import asyncio, sys
from pathlib import Path
import msgspec
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits
quiet = lambda *_: None
async def main():
    found = EngineSettings(cache_dir=str(Path(sys.argv[1]) / "cache"))
    sandbox = PodmanSandbox(msgspec.structs.replace(found, pool_hot=1, pool_warm=1), "killed")
    print(sandbox._service.owner, flush=True)
    code = "import time\\ndef run():\\n    print('on', flush=True)\\n    time.sleep(0.05)\\n"
    while True:
        await sandbox.run(Job(run_id="k", module="k_k", code=code), quiet, quiet)
        print("ran", flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize("moment", [0.15, 0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5])
async def test_nothing_outlives_a_killed_alita(
    settings: EngineSettings, tmp_path: Path, moment: float
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    owner = (await process.stdout.readline()).decode().strip()
    await asyncio.sleep(moment)  # the point at which it is killed is what is tested
    process.kill()
    await process.wait()
    look = PodmanSandbox(settings, "look")
    await look._service.ensure()
    socket = look._service.socket.with_name(f"alita-{owner.split('.')[0]}-{owner.split('.')[2]}.sock")
    filters = quote(json.dumps({"label": ["alita.service=" + owner]}))
    async with asyncio.timeout(180):
        while (
            await look._service.request("GET", f"/containers/json?all=true&filters={filters}")
            or socket.exists()
        ):
            await asyncio.sleep(0.02)
    assert not alive(owner)
    await look.close()


STARTS = """
import asyncio, sys
from pathlib import Path
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.settings import EngineSettings
async def main():
    host = Host(EngineSettings(cache_dir=str(Path(sys.argv[1]) / "cache")))
    async with host.started("sh", "-c", "echo up; exec sleep $0", sys.argv[2]) as process:
        print((await process.stdout.readline()).decode(), flush=True)
        await process.wait()
asyncio.run(main())
"""


async def test_a_command_of_the_account_ends_together_with_alita(tmp_path: Path) -> None:
    seconds = f"600.{tmp_path.stat().st_ino}"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STARTS, str(tmp_path), seconds, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert (await process.stdout.readline()).strip() == b"up"
    async with asyncio.timeout(180):
        while not sleeping(seconds):  # the shell has yet to become it
            await asyncio.sleep(0.01)
    process.kill()
    await process.wait()
    async with asyncio.timeout(180):
        while sleeping(seconds):
            await asyncio.sleep(0.01)


def sleeping(seconds: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", seconds.encode()]:
                found.append(entry.name)
    return found


async def test_a_guest_shares_the_engine_and_ends_only_its_own_containers(settings: EngineSettings) -> None:
    chosen = msgspec.structs.replace(settings, pool_hot=1, pool_warm=1, session_calls=True)
    sandbox = PodmanSandbox(chosen, "guests")
    try:
        await _with_guests(sandbox)
    finally:
        await sandbox.close()


async def _with_guests(sandbox: PodmanSandbox) -> None:
    await filled(sandbox)
    host, service = await sandbox.status(), sandbox._service._supervisor
    one, two = sandbox.guest(None), sandbox.guest(None)
    assert await one.status() == host
    code = "import os\ndef run(): return os.uname().nodename\n"
    for _ in range(2):  # the second call makes a container that the tool keeps, for this session alone
        ran = await one.run(
            Job(run_id="t", module="tool", code=code, digest="approved", limits=LIMITS), nothing, nothing
        )
        assert ran.status == "ok"
        while one._sessions._tasks:
            await asyncio.wait(one._sessions._tasks)
    mine = [session.container for session in one._sessions._open.values()]
    assert mine and not two._sessions._open
    await one.close()
    left = await containers(sandbox)
    assert not any(container.alive for container in mine) and sandbox._service._supervisor is service
    assert {*await filled(sandbox)} & {*left}, "what waits goes on waiting"
    assert (await run(two, "def run(): return 2\n")).result == 2
    await two.close()
    assert (await run(sandbox, "def run(): return 3\n")).result == 3


async def test_waiting_containers_are_ended_together() -> None:
    """Each end here waits until all ends have begun, as the slow end of one container would make the others wait."""
    kinds = [Kind(limits=Limits(wall_seconds=seconds)) for seconds in (1, 2, 3)]
    begun = asyncio.Barrier(2 * len(kinds))

    class Slow:
        async def make(self, kind: Kind) -> object:
            return type("Waiting", (), {"alive": True, "imports": frozenset(), "kind": kind})()

        async def end(self, container: object) -> None:
            await begun.wait()

    pool = Pool(cast(Containers, Slow()), hot=0, warm=2, environments=len(kinds))
    for kind in kinds:
        await pool.fill(kind)
    assert [row.warm for row in pool.rows()] == [2, 2, 2]
    async with asyncio.timeout(60):
        await pool.close()
    assert pool.rows() == ()
