"""The sandbox's figures: a fresh hardened container against bare Python, a cold run and an exec.

Run alone: python -m tests.benchmarks.bench_sandbox
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from alita_tui.events import Lock
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits

Row = dict[str, float | str | None]
MakeRow = Callable[..., Row]
CALLS, COLD, KILLS, INTERRUPTS, SOAK = 40, 8, 200, 30, 2000
LIMITS = Limits()
ONE = "def run() -> int:\n    return 1\n"
SCRIPT = "import json\n" + ONE + "print(json.dumps(run()))\n"
PANDAS = "import pandas\ndef run() -> int:\n    return int(pandas.DataFrame({'a': [1, 2, 3]}).a.sum())\n"
EMAIL = "import email_validator\ndef run() -> str:\n    return email_validator.validate_email('a@b.org', check_deliverability=False).normalized\n"
HARD = (
    "--network", "none", "--ipc", "none", "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges",
    "--user", "20001:20001", "--log-driver", "none", "--http-proxy=false", "--tmpfs", "/tmp:size=32m,noexec,nosuid,nodev",
)  # fmt: skip


def nothing(*_: object) -> None:
    return


def job(code: str, lock: Lock | None = None) -> Job:
    return Job(run_id="bench", module="bench_tool", code=code, lock=lock or Lock(), limits=LIMITS)


async def timed(sandbox: PodmanSandbox, code: str, lock: Lock | None = None) -> float:
    """Milliseconds of one run."""
    started = time.perf_counter()
    report = await sandbox.run(job(code, lock), nothing, nothing)
    took = (time.perf_counter() - started) * 1000
    assert report.status == "ok", report
    return took


async def settled(sandbox: PodmanSandbox) -> None:
    """Wait until the pool is full again, as it is between two calls of an agent."""
    while busy := sandbox._pool._makers | sandbox._pool._enders:
        await asyncio.wait(busy)


async def paced(sandbox: PodmanSandbox, calls: int, code: str = ONE, lock: Lock | None = None) -> list[float]:
    """Milliseconds of calls that each find the pool full."""
    taken = []
    for _ in range(calls + 1):
        taken.append(await timed(sandbox, code, lock))
        await settled(sandbox)
    return taken[1:]


def command(argv: Iterable[str], environ: dict[str, str]) -> float:
    """Milliseconds of a process from start to end."""
    started = time.perf_counter()
    subprocess.run(list(argv), env=environ, cwd="/", check=True, capture_output=True)
    return (time.perf_counter() - started) * 1000


def p95(values: list[float]) -> float:
    return sorted(values)[max(int(len(values) * 0.95 + 0.999) - 1, 0)]


def pss(pid: int) -> float:
    """Megabytes of a process, shared pages divided among those that share them."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def family(pid: int) -> list[int]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += parents.get(one, [])
    return found


def cpu(pids: list[int]) -> float:
    """Seconds of processor time of these processes so far."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


async def mine(sandbox: PodmanSandbox, owner: str) -> list[dict[str, Any]]:
    """Containers that carry an owner's label."""
    filters = quote(json.dumps({"label": ["alita.service=" + owner]}))
    return await sandbox._service.request("GET", f"/containers/json?all=true&filters={filters}") or []


def pooled(settings: EngineSettings, hot: int, warm: int) -> PodmanSandbox:
    return PodmanSandbox(msgspec.structs.replace(settings, pool_hot=hot, pool_warm=warm), "bench")


async def calls(results: dict[str, Row], row: MakeRow, settings: EngineSettings, folder: Path) -> None:
    """One call in a fresh container; taken in turns with its three baselines."""
    sandbox = pooled(settings, 1, 1)
    script = folder / "tool.py"
    script.write_text(SCRIPT)
    environ = dict(os.environ)
    try:
        await sandbox.warm_up(LIMITS, nothing)
        host, image = sandbox._host, settings.tag
        podman = ("podman", "run", "--rm", *HARD)

        def python() -> float:
            return command([sys.executable, str(script)], environ)

        def run() -> float:
            return command(host.command(*podman, image, "python3", "-c", SCRIPT), host.environ)

        def inside() -> float:
            return command(host.command("podman", "exec", held, "python3", "-c", SCRIPT), host.environ)

        held = subprocess.run(
            host.command("podman", "run", "-d", "--rm", "--label", "alita.service=" + sandbox._service.owner, *HARD, image, "sleep", "600"),
            env=host.environ, cwd="/", capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        ours, bare, cold, execs = [], [], [], []
        try:
            for n in range(CALLS):
                ours += await paced(sandbox, 1)
                bare.append(await asyncio.to_thread(python))
                if n % (CALLS // COLD) == 0:
                    cold.append(await asyncio.to_thread(run))
                    execs.append(await asyncio.to_thread(inside))
        finally:
            await asyncio.to_thread(
                command, host.command("podman", "rm", "-f", "-t", "0", held), host.environ
            )
        middle = statistics.median(ours)
        results["sandbox.call_vs_python"] = row(middle, "ms", statistics.median(bare))
        results["sandbox.call_p95_vs_python_p95"] = row(p95(ours), "ms", p95(bare))
        results["sandbox.call_vs_cold_run"] = row(middle, "ms", statistics.median(cold))
        results["sandbox.call_vs_exec"] = row(middle, "ms", statistics.median(execs))
        started, many = time.perf_counter(), 60
        for _ in range(many // 4):
            await asyncio.gather(*(timed(sandbox, ONE) for _ in range(4)))
        results["sandbox.fresh_per_second"] = row(many / (time.perf_counter() - started), "/s")
    finally:
        await sandbox.close()


async def session(results: dict[str, Row], row: MakeRow, settings: EngineSettings) -> None:
    """An approved build called again and again, each call under a user id of its own; what a soak leaves."""
    sandbox = PodmanSandbox(msgspec.structs.replace(settings, session_calls=True), "bench")
    approved = msgspec.structs.replace(job(ONE), digest="bench")

    async def once() -> None:
        report = await sandbox.run(approved, nothing, nothing)
        assert report.status == "ok", report

    try:
        for _ in range(2):
            await once()
        while sandbox._sessions._tasks:
            await asyncio.wait(set(sandbox._sessions._tasks))
        assert sandbox._sessions._open, "there is no session container"
        for _ in range(50):
            await once()
        guard = sandbox._service._supervisor
        assert guard is not None
        before = pss(os.getpid()), len(os.listdir("/proc/self/fd")), len(family(guard.pid))
        started = time.perf_counter()
        taken: list[float] = []
        for number in range(SOAK):
            begun = time.perf_counter()
            await once()
            taken.append((time.perf_counter() - begun) * 1000)
            if number == 399:
                results["sandbox.session_calls_per_second"] = row(400 / (time.perf_counter() - started), "/s")
        results["sandbox.session_call_max_ms"] = row(max(taken), "ms")
        await asyncio.sleep(1)
        after = pss(os.getpid()), len(os.listdir("/proc/self/fd")), len(family(guard.pid))
        results["sandbox.soak_grown_mb"] = row(after[0] - before[0], "MB")
        results["sandbox.soak_grown_files"] = row(after[1] - before[1], "fds")
        results["sandbox.soak_grown_processes"] = row(after[2] - before[2], "")
    finally:
        await sandbox.close()


async def soak(results: dict[str, Row], row: MakeRow, settings: EngineSettings) -> None:
    """Fresh containers, each with a conmon of its own, one after the other and four at a time; what they leave."""
    sandbox = pooled(settings, 1, 1)
    try:
        await sandbox.warm_up(LIMITS, nothing)
        for _ in range(20):
            await asyncio.gather(*(timed(sandbox, ONE) for _ in range(4)))
        await settled(sandbox)
        await asyncio.sleep(1)
        guard = sandbox._service._supervisor
        assert guard is not None
        before = pss(os.getpid()), len(os.listdir("/proc/self/fd")), len(family(guard.pid))
        services = [pid for pid in family(guard.pid) if b"system\0service" in _cmdline(pid)]
        served = sum(map(pss, services))
        started = time.perf_counter()
        for _ in range(SOAK // 4):
            await asyncio.gather(*(timed(sandbox, ONE) for _ in range(4)))
        results["sandbox.fresh_soak_per_second"] = row(SOAK / (time.perf_counter() - started), "/s")
        await settled(sandbox)
        while sandbox._containers._removals:
            await asyncio.wait(set(sandbox._containers._removals))
        await asyncio.sleep(1)
        after = pss(os.getpid()), len(os.listdir("/proc/self/fd")), len(family(guard.pid))
        results["sandbox.fresh_soak_grown_mb"] = row(after[0] - before[0], "MB")
        results["sandbox.fresh_soak_grown_service_mb"] = row(sum(map(pss, services)) - served, "MB")
        results["sandbox.fresh_soak_grown_files"] = row(after[1] - before[1], "fds")
        results["sandbox.fresh_soak_grown_processes"] = row(after[2] - before[2], "")
        left = len(await mine(sandbox, sandbox._service.owner)) - len(sandbox._pool.ids())
        results["sandbox.fresh_soak_left"] = row(left, f"/{SOAK}")
    finally:
        await sandbox.close()


async def killed_rounds(
    results: dict[str, Row], row: MakeRow, settings: EngineSettings, folder: Path
) -> None:
    """`alita sandbox run` while alita, guard, service, conmon or the runtime is killed at a random moment."""
    from tests.sandbox.rounds import rounds

    (folder / "rounds").mkdir()
    found = await rounds(settings, folder / "rounds", KILLS, 1, lanes=2)
    results["sandbox.kill_rounds_hung"] = row(sum(one.hung for one in found), f"/{len(found)}")
    results["sandbox.kill_rounds_left"] = row(sum(bool(one.left) for one in found), f"/{len(found)}")
    results["sandbox.kill_rounds_without_rows"] = row(sum(bool(one.wrong) for one in found), f"/{len(found)}")


async def idle(results: dict[str, Row], row: MakeRow, settings: EngineSettings) -> None:
    """What containers that wait cost."""
    count = 8
    sandbox = pooled(settings, 0, count)
    try:
        await sandbox.warm_up(LIMITS, nothing)
        await settled(sandbox)
        await asyncio.sleep(1)
        guard = sandbox._service._supervisor
        assert guard is not None
        every = family(guard.pid)
        containers = [
            pid for pid in every
            if any(word in Path(f"/proc/{pid}/cmdline").read_bytes() for word in (b"/warden.pyz", b"conmon"))
        ]  # fmt: skip
        results["sandbox.idle_mb"] = row(sum(map(pss, containers)) / count, "MB")
        before = cpu([os.getpid(), *every])
        await asyncio.sleep(10)
        results["sandbox.idle_cpu_percent"] = row((cpu([os.getpid(), *every]) - before) * 10, "%")
    finally:
        await sandbox.close()


async def requirements(results: dict[str, Row], row: MakeRow, settings: EngineSettings, folder: Path) -> None:
    """Tools with packages: the first time ever, with nothing on this machine, and from then on."""
    os.environ["UV_CACHE_DIR"] = str(folder / "uv")
    for name, wanted, code in (("email", "email-validator", EMAIL), ("pandas", "pandas", PANDAS)):
        area = Path(tempfile.mkdtemp(prefix="alita-bench-area-"))
        area.chmod(0o755)
        sandbox = pooled(msgspec.structs.replace(settings, area=str(area)), 1, 1)
        try:
            await sandbox.prepare(nothing)
            started = time.perf_counter()
            lock = await sandbox.lock([wanted], nothing)
            await timed(sandbox, code, lock)
            results[f"sandbox.{name}_first_seconds"] = row(time.perf_counter() - started, "s")
            await settled(sandbox)
            results[f"sandbox.{name}_hot_ms"] = row(
                statistics.median(await paced(sandbox, 8, code, lock)), "ms"
            )
        finally:
            await sandbox.close()
            await asyncio.to_thread(subprocess.run, ["rm", "-rf", str(area)], check=True)
    del os.environ["UV_CACHE_DIR"]


async def interrupts(results: dict[str, Row], row: MakeRow, settings: EngineSettings) -> None:
    """From Esc to the last process gone, for a tool that ignores every signal and has children."""
    code = (
        "import os, signal, time\ndef run():\n    for n in range(1, 32):\n        try: signal.signal(n, signal.SIG_IGN)\n"
        "        except (OSError, ValueError): pass\n    for _ in range(8):\n        if os.fork() == 0: os.setpgid(0, 0); time.sleep(60)\n"
        "    print('on', flush=True)\n    time.sleep(60)\n"
    )
    sandbox = pooled(settings, 1, 1)
    taken = []
    try:
        await sandbox.warm_up(LIMITS, nothing)
        guard = sandbox._service._supervisor
        assert guard is not None
        for _ in range(INTERRUPTS):
            started = asyncio.Event()
            task = asyncio.create_task(sandbox.run(job(code), lambda *_, s=started: s.set(), nothing))
            await started.wait()
            trees = [family(pid) for pid in family(guard.pid) if b"warden" in _cmdline(pid)]
            tree = max(trees, key=len)  # the first process and what the tool forked; others only wait
            begun = time.perf_counter()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            taken.append((time.perf_counter() - begun) * 1000)
            assert len(tree) >= 8, "the tool did not start its children"
            left = [pid for pid in tree if _cmdline(pid)]
            assert not left, f"{left} outlived the interrupt"
            await settled(sandbox)
    finally:
        await sandbox.close()
    results["sandbox.interrupt_p95_ms"] = row(p95(taken), "ms")


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


KILLED = """
import asyncio, sys
from pathlib import Path
import msgspec
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job
quiet = lambda *_: None
async def main():
    found = EngineSettings(cache_dir=str(Path(sys.argv[1]) / "cache"))
    sandbox = PodmanSandbox(msgspec.structs.replace(found, pool_hot=1, pool_warm=1), "killed")
    print(sandbox._service.owner, flush=True)
    code = "import time\\ndef run():\\n    time.sleep(0.1)\\n"
    while True:
        await sandbox.run(Job(run_id="k", module="k_k", code=code), quiet, quiet)
asyncio.run(main())
"""


async def kills(results: dict[str, Row], row: MakeRow, settings: EngineSettings, folder: Path) -> None:
    """SIGKILL at random moments: how long anything of it is still there."""
    look = PodmanSandbox(settings, "look")
    await look.prepare(nothing)
    dice = random.Random(1)
    taken: list[float] = []
    moments = [dice.uniform(0.05, 1.6) for _ in range(KILLS)]

    async def one(moment: float) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, str(folder), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        owner = (await process.stdout.readline()).decode().strip()
        await asyncio.sleep(moment)
        process.kill()
        begun = time.perf_counter()
        await process.wait()
        ids: set[bytes] = set()
        token = owner.rpartition(".")[2].encode()
        while True:
            found = await mine(look, owner)
            ids |= {container["Id"].encode() for container in found}
            words = (token, *ids)
            alive = [
                p
                for p in Path("/proc").iterdir()
                if p.name.isdigit() and any(w in _cmdline(int(p.name)) for w in words)
            ]
            if not found and not alive:
                break
            await asyncio.sleep(0.02)
            assert time.perf_counter() - begun < 30, (found, alive)
        taken.append(time.perf_counter() - begun)

    async def lane() -> None:
        while moments:
            await one(moments.pop())

    try:
        await asyncio.gather(lane(), lane())
    finally:
        await look.close()
    results["sandbox.killed_clean_p95_seconds"] = row(p95(taken), "s")
    results["sandbox.killed_clean_max_seconds"] = row(max(taken), "s")
    results["sandbox.killed_later_than_1s"] = row(sum(one > 1 for one in taken), f"/{len(taken)}")


def sandbox(results: dict[str, Row], row: MakeRow) -> None:
    """Every figure of the sandbox."""

    async def measure() -> None:
        with tempfile.TemporaryDirectory(prefix="alita-bench-") as name:
            folder = Path(name)
            settings = EngineSettings(cache_dir=str(folder / "cache"))
            await calls(results, row, settings, folder)
            await session(results, row, settings)
            await soak(results, row, settings)
            await killed_rounds(results, row, settings, folder)
            await idle(results, row, settings)
            await requirements(results, row, settings, folder)
            await interrupts(results, row, settings)
            await kills(results, row, settings, folder)

    asyncio.run(measure())


if __name__ == "__main__":

    def plain(value: float, unit: str, baseline: float | None = None) -> Row:
        ratio = round(value / baseline, 3) if baseline else None
        return {"value": round(value, 3), "unit": unit, "baseline": baseline, "ratio": ratio}

    figures: dict[str, Row] = {}
    sandbox(figures, plain)
    for label, one in figures.items():
        print(f"{label:36} {one}")
