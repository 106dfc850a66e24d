"""Session containers: an approved build's calls share one, and nothing of a call reaches the next."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from alita_tui.events import RunReport
from alita_tui.sandbox import sessions
from alita_tui.sandbox.attestation import deviations
from alita_tui.sandbox.container import Container, Kind
from alita_tui.sandbox.conversation import converse
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.policy import ContainerSpec, create_body
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.warden import processes
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.limits_seen import seen

LIMITS = Limits(wall_seconds=15, cpu_seconds=5, memory_bytes=256 << 20, processes=24, scratch_bytes=8 << 20)
WHO = "import os\ndef run(): return [os.getuid(), os.uname().nodename, os.stat('/proc/1').st_ctime_ns, sorted(os.listdir('/tmp'))]\n"


def nothing(*_: object) -> None:
    return


@pytest.fixture
async def sandbox(settings: EngineSettings) -> AsyncIterator[PodmanSandbox]:
    made = PodmanSandbox(msgspec.structs.replace(settings, session_calls=True), "sessions")
    yield made
    await made.close()


async def call(sandbox: PodmanSandbox, code: str, digest: str = "approved", **arguments: Any) -> RunReport:
    job = Job(run_id="t", module="tool_t", code=code, digest=digest, limits=LIMITS, arguments=arguments)
    return await sandbox.run(job, nothing, nothing)


async def shared(sandbox: PodmanSandbox, code: str = WHO, digest: str = "approved") -> None:
    """Call until there is a session container that waits."""
    await call(sandbox, code, digest)
    await call(sandbox, code, digest)
    while sandbox._sessions._tasks:
        await asyncio.wait(sandbox._sessions._tasks)
    assert len(sandbox._sessions._open) == 1


def current(sandbox: PodmanSandbox) -> Any:
    return next(iter(sandbox._sessions._open.values()))


@pytest.mark.podman
async def test_calls_share_a_container_but_no_state(sandbox: PodmanSandbox) -> None:
    await shared(sandbox)
    container = current(sandbox).container
    reports = [await call(sandbox, WHO) for _ in range(5)]
    assert current(sandbox).container is container
    uids = [report.result[0] for report in reports]
    assert uids == list(container.uids[1:6])
    assert all(report.result[3] == ["out", "tool"] for report in reports)


@pytest.mark.podman
async def test_the_warden_is_not_visible_to_a_call(sandbox: PodmanSandbox) -> None:
    look = (
        "import sys\ndef run():\n"
        "    known = [name for name in sys.modules if name == '__main__' or name.startswith('alita')]\n"
        "    try:\n        import alita_tui\n    except ImportError:\n"
        "        return known + [path for path in sys.path if 'warden' in path]\n"
        "    return ['it was imported']\n"
    )
    await shared(sandbox, look)
    assert [(await call(sandbox, look)).result for _ in range(2)] == [[], []]
    fresh = await call(sandbox, look, digest="")
    assert fresh.result == [], "nor in a container of its own"


@pytest.mark.podman
async def test_a_call_leaves_no_state_for_the_next(sandbox: PodmanSandbox) -> None:
    await shared(sandbox)
    container = current(sandbox).container
    litter = (
        "import os, signal, socket, time\ndef run():\n    os.makedirs('/tmp/a/b/c/' + '/'.join('d' * 60))\n    open('/tmp/a/b/f', 'w').close()\n"
        "    os.chmod('/tmp/a/b/f', 0)\n    os.chmod('/tmp/a/b', 0)\n    os.chmod('/tmp/a', 0)\n    os.symlink('/etc', '/tmp/link')\n"
        "    if os.fork() == 0:\n        os.setpgid(0, 0)\n        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "        s = socket.socket(socket.AF_UNIX); s.bind('\\0left'); s.listen()\n        time.sleep(600)\n    return 1\n"
    )
    assert (await call(sandbox, litter)).result == 1
    look = (
        "import os, socket\ndef run():\n    s = socket.socket(socket.AF_UNIX)\n    try: s.connect('\\0left'); met = True\n    except OSError: met = False\n"
        "    return [os.listdir('/tmp'), met, len([p for p in os.listdir('/proc') if p.isdigit()])]\n"
    )
    assert (await call(sandbox, look)).result == [["out", "tool"], False, 2]
    assert current(sandbox).container is container


@pytest.mark.podman
async def test_a_call_has_no_way_to_another_user(sandbox: PodmanSandbox) -> None:
    code = (
        "import ctypes, os, resource\ndef run():\n    said = []\n"
        "    for work in (lambda: os.setuid(0), lambda: os.setuid(os.getuid() + 1), lambda: os.setgid(0), lambda: os.setgroups([0]),\n"
        "                 lambda: os.kill(1, 9), lambda: open('/proc/1/mem'), lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (8, 8))):\n"
        "        try: work(); said.append('went through')\n        except PermissionError: said.append('refused')\n"
        "    status = dict(l.split(':', 1) for l in open('/proc/self/status') if ':' in l)\n"
        "    return [said, [int(status.get(n, '0'), 16) for n in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb')]]\n"
    )
    await shared(sandbox, code)
    assert (await call(sandbox, code)).result == [["refused"] * 7, [0, 0, 0, 0]]


@pytest.mark.sampled(2)
@pytest.mark.podman
@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ("while True:\n        try: os.fork()\n        except OSError: pass", "limit", "processes"),
        ("held = []\n    while True: held.append(bytearray(4 << 20))", "limit", "memory"),
        ("time.sleep(600)", "timeout", "wall"),
    ],
    ids=["forks", "memory", "sleep"],
)
async def test_exceeding_a_limit_ends_the_container(
    sandbox: PodmanSandbox, body: str, status: str, reason: str
) -> None:
    await shared(sandbox)
    container = current(sandbox).container
    report = await call(sandbox, f"import os, time\ndef run():\n    {body}\n")
    assert (report.status, report.reason) == (status, reason)
    while sandbox._sessions._tasks:
        await asyncio.wait(sandbox._sessions._tasks)
    assert not sandbox._sessions._open and not container.alive
    assert (await call(sandbox, WHO)).status == "ok"


@pytest.mark.podman
async def test_ordinary_failures_are_reported_as_usual(sandbox: PodmanSandbox) -> None:
    await shared(sandbox)
    container = current(sandbox).container
    assert (await call(sandbox, "def run(): raise ValueError('x')\n")).reason == "ValueError"
    assert (await call(sandbox, "import os\ndef run(): os._exit(4)\n")).reason == "exit 4"
    assert (await call(sandbox, "def run(a): return a\n", a="\ud800")).status == "ok"
    assert current(sandbox).container is container


@pytest.mark.podman
async def test_only_calls_of_the_same_approved_build_share_a_container(sandbox: PodmanSandbox) -> None:
    await shared(sandbox)
    uids = current(sandbox).container.uids
    for digest in ("", "another"):
        assert (await call(sandbox, WHO, digest)).result[0] not in uids
    both = await asyncio.gather(call(sandbox, WHO), call(sandbox, WHO))
    assert sum(report.result[0] in uids for report in both) == 1


@pytest.mark.podman
async def test_an_interrupt_ends_the_session_container(sandbox: PodmanSandbox) -> None:
    await shared(sandbox)
    container = current(sandbox).container
    started = asyncio.Event()
    job = Job(
        run_id="t", module="tool_t", digest="approved", limits=LIMITS,
        code="import time\ndef run():\n    print('on', flush=True)\n    time.sleep(60)\n",
    )  # fmt: skip
    task = asyncio.create_task(sandbox.run(job, lambda *_: started.set(), nothing))
    await asyncio.wait_for(started.wait(), 180)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not container.alive and not sandbox._sessions._open


@pytest.mark.podman
async def test_a_session_container_that_died_between_two_calls_is_not_used(sandbox: PodmanSandbox) -> None:
    """Out of memory, or `podman kill`: the call had not begun, so a fresh container takes it."""
    await shared(sandbox)
    container = current(sandbox).container
    os.kill(container.pid, signal.SIGKILL)
    async with asyncio.timeout(20):
        while container.alive:
            await asyncio.sleep(0.01)
    assert (await call(sandbox, WHO)).status == "ok"


@pytest.mark.podman
async def test_many_calls_leak_nothing_in_this_process(sandbox: PodmanSandbox) -> None:
    await shared(sandbox)
    await call(sandbox, WHO)
    files, tasks = len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())
    for _ in range(100):
        assert (await call(sandbox, WHO)).status == "ok"
    assert len(os.listdir("/proc/self/fd")) <= files
    assert len(asyncio.all_tasks()) <= tasks + 1


@pytest.mark.podman
async def test_a_container_that_runs_out_of_user_ids_has_its_successor_ready(
    sandbox: PodmanSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_CALLS", 4)
    await shared(sandbox)
    containers: list[Any] = []
    for number in range(10):
        if number % 4 == 0:
            containers.append(current(sandbox).container)
        used = (await call(sandbox, WHO)).result[0]
        assert used == containers[-1].uids[1 + number % 4]
        if number % 4 == 3:
            continue  # the next call comes before anything else is done
        while sandbox._sessions._tasks:  # the successor is made after half of the calls
            await asyncio.wait(sandbox._sessions._tasks)
        assert (current(sandbox).successor is not None) == (number % 4 != 0)
    assert [container.alive for container in containers] == [False, False, True]
    await sandbox._sessions.empty()
    assert not sandbox._sessions._open and not containers[-1].alive


@pytest.mark.podman
async def test_a_session_container_reports_when_it_is_used_up(sandbox: PodmanSandbox) -> None:
    await sandbox.prepare(nothing)
    container = await sandbox._containers.make(Kind(limits=LIMITS, calls=2))
    try:
        assert await container.preload(frozenset()) == ""
        job = Job(run_id="t", module="tool_t", code=WHO, digest="approved", limits=LIMITS)
        assert (await converse(container, job, nothing)).status == "ok"
        assert await container.ready() == ""
        assert (await converse(container, job, nothing)).status == "ok"
        assert await container.ready() == "it has no user id left"
    finally:
        await sandbox._containers.end(container)


@pytest.fixture
async def for_many(settings: EngineSettings) -> AsyncIterator[PodmanSandbox]:
    many = msgspec.structs.replace(settings, session_calls=True, lanes=2, many_calls=True, pool_warm=1)
    made = PodmanSandbox(many, "sessions")
    yield made
    await made.close()


@pytest.mark.podman
async def test_with_many_calls_expected_the_first_ones_wait_for_shared_containers(
    for_many: PodmanSandbox,
) -> None:
    """And no container is made that takes only one call."""
    reports = await asyncio.gather(call(for_many, WHO), call(for_many, WHO))
    shared_uids = [session.container.uids for session in for_many._sessions._open.values()]
    assert len(shared_uids) == 2 and not for_many.waiting()
    assert all(any(report.result[0] in uids for uids in shared_uids) for report in reports)


@pytest.mark.podman
async def test_closing_ends_the_containers_of_all_lanes_at_the_same_time(
    for_many: PodmanSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.gather(call(for_many, WHO), call(for_many, WHO))
    end, all_end = for_many._containers.end, asyncio.Barrier(2)

    async def end_together(container: Container) -> None:
        await all_end.wait()
        await end(container)

    monkeypatch.setattr(for_many._containers, "end", end_together)
    async with asyncio.timeout(10):
        await for_many._sessions.close()
    assert not for_many._sessions._open


@pytest.mark.podman
async def test_without_a_shared_container_every_call_has_its_own(
    for_many: PodmanSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = for_many._containers.make

    async def refuse(kind: Kind) -> Any:
        if kind.calls > 1:
            raise SandboxUnavailable("no more user ids")
        return await make(kind)

    monkeypatch.setattr(for_many._containers, "make", refuse)
    reports = await asyncio.gather(*(call(for_many, WHO) for _ in range(4)))
    assert [report.status for report in reports] == ["ok"] * 4
    assert len({report.result[0] for report in reports}) == 4 and not for_many._sessions._open


@pytest.mark.podman
async def test_a_lane_without_a_container_delays_no_call(for_many: PodmanSandbox) -> None:
    """The next call is taken by a container that waits in the pool, while the lane gets another."""
    await call(for_many, WHO)
    lost = current(for_many).container
    await for_many._sessions.empty()
    after = await call(for_many, WHO)
    while for_many._sessions._tasks:
        await asyncio.wait(for_many._sessions._tasks)
    assert after.status == "ok" and not lost.alive
    shared_uids = [uid for session in for_many._sessions._open.values() for uid in session.container.uids]
    assert shared_uids and after.result[0] not in shared_uids
    assert (await call(for_many, WHO)).result[0] in shared_uids


@pytest.mark.podman
async def test_files_that_cannot_be_removed_end_the_container_without_delay(sandbox: PodmanSandbox) -> None:
    deep = (
        "import os\ndef run():\n    os.chdir('/tmp')\n    for _ in range(1200):\n        os.mkdir('d' * 40)\n        os.chdir('d' * 40)\n"
        "    return 1\n"
    )
    await shared(sandbox)
    container = current(sandbox).container
    assert (await call(sandbox, deep)).result == 1
    async with asyncio.timeout(180):
        assert (await call(sandbox, WHO)).status == "ok"
        while sandbox._sessions._tasks:
            await asyncio.wait(sandbox._sessions._tasks)
    if container.alive:  # it could be removed after all
        assert (await call(sandbox, WHO)).result[3] == ["out", "tool"]


@pytest.mark.parametrize(("calls", "last"), [(1, 20_010), (50, 20_058)])
def test_the_warden_has_three_capabilities_and_one_user_id_per_child(calls: int, last: int) -> None:
    place = ContainerSpec(image="i", warden="/w", seccomp="/s", uid=20_007, calls=calls)
    body = create_body(place, LIMITS)
    assert body["cap_add"] == ["CAP_KILL", "CAP_SETGID", "CAP_SETUID"]
    assert body["command"][-3:-1] == ["20008", str(calls)]
    assert list(place.uids) == list(range(20_007, last))
    good = seen({})
    assert not deviations(good, place, LIMITS)
    for held in (0, 0xE1, 0x1FF):
        assert deviations({**good, "capabilities": [held] * 5}, place, LIMITS)


@pytest.mark.podman
async def test_a_deep_folder_tree_does_not_delay_the_next_call(sandbox: PodmanSandbox) -> None:
    code = (
        "import os\ndef run(depth=0):\n    found = len(os.listdir('/tmp'))\n    os.chdir('/tmp')\n"
        "    for _ in range(depth):\n        os.mkdir('d' * 200); os.chdir('d' * 200)\n    return found\n"
    )
    await shared(sandbox, code)
    container = current(sandbox).container
    assert (await call(sandbox, code, depth=3000)).result == 2
    started = asyncio.get_running_loop().time()
    assert (await call(sandbox, code)).result == 2
    assert asyncio.get_running_loop().time() - started < 5, "31 s is what it took"
    assert current(sandbox).container is container


@pytest.mark.podman
async def test_connections_of_a_call_are_invisible_to_the_next(sandbox: PodmanSandbox) -> None:
    code = (
        "import socket\ndef run(port=0):\n"
        "    before = sum(len(open('/proc/net/' + n).readlines()) - 1 for n in ('tcp', 'tcp6', 'udp', 'udp6'))\n"
        "    s = socket.socket()\n    s.bind(('127.0.0.1', port)); s.listen()\n"
        "    for _ in range(5):\n        c = socket.create_connection(s.getsockname()); d, _ = s.accept()\n"
        "        d.close(); assert c.recv(1) == b''; c.close()\n"
        "    return [before, s.getsockname()[1]]\n"
    )
    await shared(sandbox, code)
    container = current(sandbox).container
    first = (await call(sandbox, code)).result
    assert first[0] == 0
    report = await call(sandbox, code, port=first[1])
    assert report.result == [0, first[1]], "the same port, which no connection holds any more"
    assert current(sandbox).container is container


@pytest.mark.parametrize(
    ("used", "time_wait", "of_ipv6", "seen_connections"),
    [(0, 0, 0, False), (0, 1, 0, True), (1, 0, 1, True), (1, 0, 0, False)],
)
def test_the_warden_sees_connections_that_are_left(
    monkeypatch: pytest.MonkeyPatch, used: int, time_wait: int, of_ipv6: int, seen_connections: bool
) -> None:
    tables = {
        "/proc/net/sockstat": f"sockets: used {used}\nTCP: inuse 0 orphan 0 tw {time_wait} alloc 3 mem 9\n",
        "/proc/net/sockstat6": f"TCP6: inuse {of_ipv6}\nUDP6: inuse 0\n",
    }
    monkeypatch.setattr(processes, "contents", lambda path: tables[path].encode())
    assert processes.connected() == seen_connections
