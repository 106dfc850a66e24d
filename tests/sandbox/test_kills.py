"""Whoever is killed while files run in the sandbox: each file has its row, nothing hangs, nothing stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from alita_tui.sandbox import leftovers
from alita_tui.sandbox.container import Kind
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.owner import alive
from alita_tui.sandbox.podman_supervisor import below, table
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job
from tests.sandbox.rounds import VICTIMS, read, rounds

pytestmark = pytest.mark.podman
LATE = ("alita", "guard", "service", "conmon", "runtime", "service", "guard", "runtime")


def nothing(*_: object) -> None:
    return


@pytest.fixture
async def sandbox(settings: EngineSettings) -> AsyncIterator[PodmanSandbox]:
    made = PodmanSandbox(settings, "kills")
    await made.prepare(nothing)
    yield made
    await made.close()


@pytest.mark.walk
async def test_a_round_of_each_kill(settings: EngineSettings, tmp_path: Path) -> None:
    assert set(LATE) == set(VICTIMS)
    seed = int.from_bytes(os.urandom(2), "big")
    found = await rounds(settings, tmp_path, len(LATE), seed, LATE, lanes=2, patience=20.0)
    assert len([one for one in found if one.killed]) >= len(LATE) - 2, f"seed {seed}: {found}"
    assert [line for one in found for line in one.problems] == [], f"seed {seed}"


@pytest.mark.parametrize("later", [0.0, 0.01])
async def test_a_start_whose_runtime_is_killed_is_repeated(sandbox: PodmanSandbox, later: float) -> None:
    """What the runtime began holds conmon, and conmon holds Podman: for ever, if nobody ends it."""
    guard = sandbox._service._supervisor
    assert guard is not None
    killed = 0
    over = threading.Event()

    def kill() -> None:
        nonlocal killed
        while not killed and not over.is_set():
            for pid in below(guard.pid, table()):
                words = read(pid, "cmdline").split(b"\0")
                if words[0].endswith(b"runc") and b"create" in words and waiting(pid):
                    time.sleep(later)  # the moment is what is tried
                    if not read(pid, "cmdline"):
                        continue
                    os.kill(pid, signal.SIGKILL)
                    killed = pid
                    return

    def waiting(pid: int) -> bool:
        return any(read(child, "cmdline").split(b"\0")[1:2] == [b"init"] for child in below(pid, table()))

    killing = asyncio.create_task(asyncio.to_thread(kill))
    try:
        for _ in range(20):  # where the runtime was done before the moment, the next one is killed
            async with asyncio.timeout(180):
                container = await sandbox._containers.make(Kind())
            if killed:
                break
            await sandbox._containers.end(container)
    finally:
        over.set()
        await killing
    assert killed and container.alive
    await sandbox._containers.end(container)
    assert await sandbox._containers.close()
    left = {guard.pid}
    for _ in range(300):  # what ends with its container may take a moment for it
        left = below(guard.pid, table(), spared=("podman", "nice", "runuser", "setpriv"))
        if not left:
            break
        await asyncio.sleep(0.1)
    assert left == set()


async def test_a_lost_answer_to_a_create_leaves_no_container(
    sandbox: PodmanSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service is killed when it has made the container and not yet said so."""
    service = sandbox._service
    request = service.request
    ids: list[str] = []

    async def lossy(method: str, path: str, body: object = None) -> object:
        answer = await request(method, path, body)
        if path == "/containers/create" and not ids:
            ids.append(answer["Id"])
            assert service._supervisor is not None
            for pid in below(service._supervisor.pid, table()):
                with suppress(ProcessLookupError):  # it ended with its parent
                    os.kill(pid, signal.SIGKILL)
            return await request("GET", "/containers/none/json")  # what the one who waits comes upon
        return answer

    monkeypatch.setattr(service, "request", lossy)
    with pytest.raises(Exception, match="no such container"):
        await sandbox._containers.make(Kind())
    assert await sandbox._containers.close()
    assert ids and ids[0] not in {one["Id"] for one in await sandbox._containers.listed()}


async def test_the_next_start_ends_processes_that_podman_lost(settings: EngineSettings) -> None:
    """A container that waits to be started, its conmon and guard killed, and noted nowhere any more."""
    first = PodmanSandbox(settings, "lost")
    await first.prepare(nothing)
    container = await first._containers.make(Kind())
    guard = first._service._supervisor
    assert guard is not None
    watcher = next(pid for pid in below(guard.pid, table()) if container.id.encode() in read(pid, "cmdline"))
    os.kill(watcher, signal.SIGSTOP)  # it can neither note an end nor have the container removed
    os.kill(guard.pid, signal.SIGKILL)
    try:
        look = PodmanSandbox(settings, "look")
        await look._service.ensure()
        assert container.id in {one["Id"] for one in await look._containers.listed()}
        assert container.id not in await asyncio.to_thread(leftovers.lost, alive), "its alita lives"
        assert container.id in await asyncio.to_thread(leftovers.lost, lambda _: False)
        await asyncio.to_thread(leftovers.end, (container.id,))
        assert not Path(f"/proc/{watcher}").exists() or b"Z" in read(watcher, "stat")
        await look._containers._remove(container.id, range(0), ())
        assert container.id not in {one["Id"] for one in await look._containers.listed()}
        await look.close()
    finally:
        await first._containers.end(container)
        await first.close()


async def test_containers_with_similar_names_are_distinguished() -> None:
    stand_in = ["bash", "-c", 'exec -a conmon sleep 60 & exec -a "$0" sleep 60']
    process = subprocess.Popen([*stand_in, "conmon"], start_new_session=True)
    try:
        assert leftovers.end(("alita-1.2.ab-1", "f" * 64)) == 0
        assert process.poll() is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


async def test_a_run_lost_with_the_supervisor_is_reported_and_the_next_one_runs(
    sandbox: PodmanSandbox,
) -> None:
    started = asyncio.Event()
    code = "import time\ndef run():\n    print('on', flush=True)\n    time.sleep(20)\n"
    running = asyncio.create_task(
        sandbox.run(Job(run_id="t", module="t_t", code=code), lambda *_: started.set(), nothing)
    )
    await asyncio.wait_for(started.wait(), 180)
    guard = sandbox._service._supervisor
    assert guard is not None
    os.kill(guard.pid, signal.SIGKILL)
    async with asyncio.timeout(180):
        (done,) = await asyncio.gather(running, return_exceptions=True)
    assert "lost" in str(done) or getattr(done, "status", "") == "killed"
    again = await sandbox.run(Job(run_id="t", module="t_t", code="def run(): return 1\n"), nothing, nothing)
    assert again.status == "ok"
