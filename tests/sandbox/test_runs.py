"""Real containers: what goes in, what comes out, and what cannot get out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui.events import Provided
from alita_tui.sandbox.container import Kind
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.policy import ContainerSpec, create_body
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import diagnose
from alita_tui.spine.errors import RequirementsError, SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.weaker import (
    QUICK,
    WEAKER,
    containers,
    let_through,
    nothing,
    run,
    writable,
)

pytestmark = pytest.mark.podman


@pytest.fixture
async def sandbox(settings: EngineSettings) -> AsyncIterator[PodmanSandbox]:
    made = PodmanSandbox(settings, "tests")
    yield made
    await made.close()


async def lives(sandbox: PodmanSandbox, label: str) -> list[int]:
    """Processes of the label's containers that are there at this very moment."""
    pids = [one.get("Pid", 0) for one in await containers(sandbox, label)]
    return [pid for pid in pids if pid and running(pid)]


def running(pid: int) -> bool:
    """False for what is gone, and for what only waits to be collected."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


async def test_a_result_and_what_was_printed(sandbox: PodmanSandbox) -> None:
    pieces: list[tuple[str, str]] = []
    job = Job(
        run_id="t",
        module="tool_under_test",
        code="import sys\ndef run(x, y=2):\n    print('hé', x)\n    print('no', file=sys.stderr)\n    return {'sum': x + y}\n",
        arguments={"x": 40},
    )
    report = await sandbox.run(job, lambda stream, text: pieces.append((stream, text)), nothing)
    assert (report.status, report.result, report.exit_code) == ("ok", {"sum": 42}, 0)
    assert (report.stdout, report.stderr) == ("hé 40\n", "no\n")
    assert "".join(text for stream, text in pieces if stream == "stdout") == report.stdout


async def test_printed_text_cannot_be_mistaken_for_a_result(sandbox: PodmanSandbox) -> None:
    report = await run(
        sandbox,
        "def run():\n"
        "    frame = b'\\x00\\x00\\x00\\x02D{}'\n"
        "    for fd in range(0, 64):\n"
        "        if fd != 3:\n"
        "            try: os.write(fd, frame)\n"
        "            except OSError: pass\n"
        "    print(json.dumps({'result': 'forged'}))\n"
        "    return 'real'\n",
    )
    assert (report.status, report.result) == ("ok", "real")


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("def run(): sys.exit(3)\n", "exit", "exit code 3"),
        ("def run(): os._exit(0)\n", "exit", "without a result"),
        ("def run(): raise ValueError('that is wrong')\n", "error", "that is wrong"),
        ("def run(): return {1, 2}\n", "error", "JSON"),
        ("def run(): return float('nan')\n", "error", "JSON"),
        ("def run(:\n", "error", "SyntaxError"),
        ("def run():\n    while True: pass\n", "timeout", "longer than"),
        ("def run():\n    while True: print('x' * 4000)\n", "limit", "output"),
        ("def run(): return 'x' * 3_000_000\n", "limit", "result"),
        (
            "def run():\n    blocks = []\n    while True: blocks.append(bytearray(8 << 20))\n",
            "limit",
            "memory",
        ),
        ("def run():\n    open('/tmp/f', 'wb').write(b'x' * (40 << 20))\n", "exit", ""),
    ],
    ids=["exit", "os-exit", "raise", "set", "nan", "syntax", "loop", "flood", "result", "memory", "file"],
)
async def test_every_way_to_fail_is_reported(
    sandbox: PodmanSandbox, body: str, status: str, said: str
) -> None:
    limits = Limits(wall_seconds=2.5, cpu_seconds=5, memory_bytes=128 << 20, output_bytes=16_384)
    report = await run(sandbox, body, limits)
    if said == "":
        assert report.status in ("error", "exit", "limit")
    else:
        assert report.status == status
        assert said in f"{report.error} {report.limits_hit} exit code {report.exit_code}"
    assert report.result is None
    assert len(report.stdout) <= 16_384


async def test_a_fork_bomb_is_contained(sandbox: PodmanSandbox) -> None:
    body = "def run():\n    made = 0\n    try:\n        while True:\n            if os.fork() == 0: time.sleep(60)\n            made += 1\n    except OSError: pass\n    return made\n"
    report = await run(sandbox, body)
    assert report.status in ("ok", "limit", "killed", "exit")
    assert report.result is None or report.result < QUICK.processes


PROBES = {
    "network": "import socket\ndef run():\n    s = socket.socket(); s.settimeout(2)\n    s.connect(('1.1.1.1', 53))\n",
    "names": "import socket\ndef run(): return socket.gethostbyname('example.org')\n",
    "vsock": "import socket\ndef run(): socket.socket(40, socket.SOCK_STREAM)\n",
    "root": "def run(): open('/usr/x', 'w')\n",
    "etc": "def run(): open('/etc/passwd', 'a')\n",
    "warden": "def run(): open('/proc/1/mem', 'rb')\n",
    "channel": "def run(): os.write(os.open('/proc/1/fd/1', os.O_WRONLY), b'x')\n",
    "userns": "import ctypes\ndef run():\n    if ctypes.CDLL(None).unshare(0x10000000): raise PermissionError\n",
    "mount": "import ctypes\ndef run():\n    if ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, 0): raise PermissionError\n",
    "execute": "def run():\n    open('/tmp/x', 'w').write('#!/bin/sh\\n'); os.chmod('/tmp/x', 0o755); os.execv('/tmp/x', ['x'])\n",
    "setuid": "def run(): os.setuid(0)\n",
}


@pytest.mark.parametrize("name", PROBES)
async def test_each_attempt_to_leave_the_sandbox_fails(sandbox: PodmanSandbox, name: str) -> None:
    report = await run(sandbox, PROBES[name])
    assert report.status == "error", report
    assert any(word in report.error for word in ("Error", "gaierror", "denied"))


async def test_nothing_of_the_host_is_inside(sandbox: PodmanSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do-not-leak")
    body = "def run(): return [dict(os.environ), os.listdir('/'), os.listdir('/tmp'), open('/proc/mounts').read()]\n"
    report = await run(sandbox, body)
    text = json.dumps(report.result)
    assert "do-not-leak" not in text
    assert str(Path.cwd()) not in text
    assert set(report.result[2]) <= {"out", "tool"}


async def test_two_runs_share_nothing(sandbox: PodmanSandbox) -> None:
    body = "def run():\n    old = os.path.exists('/tmp/left')\n    open('/tmp/left', 'w').close()\n    return [old, os.getuid()]\n"
    first, second = await run(sandbox, body), await run(sandbox, body)
    assert (first.result[0], second.result[0]) == (False, False)
    assert first.result[1] != second.result[1]


async def test_cancelling_ends_everything_inside(sandbox: PodmanSandbox) -> None:
    started = asyncio.Event()
    job = Job(
        run_id="cancelled",
        module="t_t",
        code="import time\ndef run():\n    print('on', flush=True)\n    time.sleep(60)\n",
    )
    task = asyncio.create_task(sandbox.run(job, lambda *_: started.set(), nothing))
    await asyncio.wait_for(started.wait(), 180)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await lives(sandbox, "alita.session=tests") == []


async def test_self_tests_are_counted_one_by_one(sandbox: PodmanSandbox) -> None:
    tests = (
        "from tool_under_test import run\n"
        "def test_good():\n    assert run(1) == 2\n"
        "def test_bad():\n    assert run(1) == 3, 'off by one'\n"
        "def test_leaves():\n    raise SystemExit(0)\n"
        "def helper():\n    assert False\n"
    )
    job = Job(
        run_id="t",
        module="tool_under_test",
        code="def run(x):\n    return x + 1\n",
        tests=tests,
        kind="test",
        limits=QUICK,
    )
    report = await sandbox.run(job, nothing, nothing)
    assert [(case.name, case.passed) for case in report.cases] == [
        ("test_good", True),
        ("test_bad", False),
        ("test_leaves", False),
    ]
    assert "off by one" in report.cases[1].message


async def test_requirements_are_installed_as_locked_wheels(sandbox: PodmanSandbox) -> None:
    lock = await sandbox.lock(["email-validator>=2.2"], nothing)
    assert {package.name for package in lock.packages} >= {"email-validator", "idna", "dnspython"}
    assert all(package.hashes for package in lock.packages)
    assert all(package.uploaded[:2] == "20" for package in lock.packages)
    assert [package.name for package in lock.packages if package.direct] == ["email-validator"]
    code = "import email_validator\ndef run(a):\n    return email_validator.validate_email(a, check_deliverability=False).normalized\n"
    job = Job(run_id="t", module="tool_under_test", code=code, arguments={"a": "a@EXAMPLE.org"}, lock=lock)
    report = await sandbox.run(job, nothing, nothing)
    assert report.result == "a@example.org"
    tests = "import tool_under_test\ndef test_it():\n    assert tool_under_test.run('a@b.org') == 'a@b.org'\n"
    tried = await sandbox.run(msgspec.structs.replace(job, kind="test", tests=tests), nothing, nothing)
    told = Provided(distribution="email-validator", modules=("email_validator",))
    assert (tried.status, tried.provided, report.provided) == ("ok", (told,), ())
    (folder,) = sandbox._held
    compiled = [path.read_bytes()[4:8] for path in folder.rglob("*.pyc")]
    assert compiled and set(compiled) == {b"\x01\0\0\0"}, "hashed and not checked, as PEP 552 says it"
    changed = msgspec.structs.replace(lock, python="3.99")
    with pytest.raises(RequirementsError, match="locked for Python 3.99"):
        await sandbox.run(
            Job(run_id="t", module="tool_under_test", code=code, lock=changed), nothing, nothing
        )


@pytest.mark.parametrize("how", ["-e {}", "{}", "made-here @ file://{}", "-r {}/setup.py", "idna\n-e {}"])
async def test_a_requirement_cannot_run_a_build_script_on_the_host(
    sandbox: PodmanSandbox, tmp_path: Path, how: str
) -> None:
    ran = tmp_path / "ran"
    project = tmp_path / "project"
    project.mkdir()
    (project / "setup.py").write_text(
        f"open({str(ran)!r}, 'w').close()\n"
        "from setuptools import setup\nsetup(name='made-here', version='1')\n"
    )
    with pytest.raises(RequirementsError, match="no plain requirement"):
        await sandbox.lock([how.format(project)], nothing)
    assert not ran.exists()


async def test_text_that_is_no_unicode_can_be_passed_in(sandbox: PodmanSandbox) -> None:
    report = await run(sandbox, "def run(text): return len(text)\n", text="a\ud800")
    assert (report.status, report.result) == ("ok", 2)


async def test_many_small_prints_are_sent_in_few_pieces(sandbox: PodmanSandbox) -> None:
    told: list[str] = []
    code = "def run():\n    for _ in range(3000): print('é', flush=True)\n"
    job = Job(run_id="t", module="tool_under_test", code=code)
    report = await sandbox.run(job, lambda _, text: told.append(text), nothing)
    assert "".join(told) == report.stdout == "é\n" * 3000
    assert len(told) <= report.duration_ms / 1000 * 30 + 2


async def test_a_package_that_does_not_exist_is_named(sandbox: PodmanSandbox) -> None:
    with pytest.raises(RequirementsError, match="surely-no-such-package-anywhere-0"):
        await sandbox.lock(["surely-no-such-package-anywhere-0"], nothing)


NO_WALL = {
    **dict.fromkeys(("image", "command", "entrypoint", "stdin", "work_dir"), "what runs"),
    **dict.fromkeys(
        ("hostname", "labels", "remove", "use_image_hosts"), "what it is called and who removes it"
    ),
    **dict.fromkeys(("unsetenvall", "httpproxy"), "which variables there are is compared, whoever sets them"),
    "read_write_tmpfs": "which mounts there are is compared, whoever makes them",
    "volumes": "empty here; tried where they are in use, on another machine's engine",
}
"""Fields whose loss makes no wall weaker, and why."""


def test_every_field_of_the_profile_is_checked() -> None:
    asked = create_body(ContainerSpec(image="i", warden="/w", seccomp="/s"), QUICK)
    assert {name for name in asked if name not in WEAKER} == set(NO_WALL)


async def test_every_weaker_container_is_refused(settings: EngineSettings) -> None:
    assert await let_through(settings, WEAKER) == []


async def test_requirements_that_could_be_changed_are_refused(settings: EngineSettings) -> None:
    sandbox = PodmanSandbox(settings, "weaker", harden=writable("/env"))
    try:
        await sandbox.prepare(nothing)
        with pytest.raises(SandboxUnavailable, match="env is"):
            await sandbox._containers.make(Kind(environment=str(sandbox._host.area)))
    finally:
        await sandbox.close()


async def test_leftovers_of_a_dead_process_are_removed(settings: EngineSettings) -> None:
    def orphan(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "labels": {**body["labels"], "alita.owner": "999999.1", "alita.session": "dead"}}

    old = PodmanSandbox(settings, "dead", harden=orphan)
    await old.prepare(nothing)
    container = await old._containers.make(Kind())
    assert len(await containers(old, "alita.session=dead")) == 1
    new = PodmanSandbox(settings, "tests")
    await new.prepare(nothing)
    assert await containers(new, "alita.session=dead") == []
    await new.close()
    await old._containers.end(container)
    await old.close()


async def test_without_podman_nothing_runs(settings: EngineSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    from alita_tui.sandbox.host import Host

    monkeypatch.setattr(
        Host, "environ", property(lambda _: {"PATH": "/nowhere", "HOME": "/", "XDG_RUNTIME_DIR": "/tmp"})
    )
    sandbox = PodmanSandbox(settings, "tests")
    status = await sandbox.status()
    assert not status.available
    assert "not installed" in status.problem
    await sandbox.close()


async def test_the_doctor_shows_what_enforces_each_limit(settings: EngineSettings) -> None:
    checks = {check.name: check for check in await diagnose(settings)}
    assert checks["trial run"].state == "ok"
    assert {"network", "memory", "privileges", "base image"} <= set(checks)
    assert not [check for check in checks.values() if check.state == "problem"]
