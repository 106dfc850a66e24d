"""The mechanism that enforces each limit on this machine: measured in containers, recorded until something changes.

Documentation: https://docs.kernel.org/admin-guide/cgroup-v2.html, getrlimit(2), seccomp(2).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from alita_tui.events import Enforcement, RunReport, digest_of, ready
from alita_tui.spine.ports.sandbox import Job, Limits

Run = Callable[[Job], Awaitable[RunReport]]
_MB = 1 << 20
LIMITS = Limits(
    wall_seconds=1, cpu_seconds=5, memory_bytes=96 * _MB, processes=24, output_bytes=8192, result_bytes=4096,
    file_bytes=4 * _MB, scratch_bytes=8 * _MB,
)  # fmt: skip
_ROOMY = msgspec.structs.replace(LIMITS, wall_seconds=20, memory_bytes=512 * _MB)
"""For the limit on processes, each of which costs gVisor some memory."""
_SLOWER = msgspec.structs.replace(LIMITS, wall_seconds=8)
_LONGER = msgspec.structs.replace(LIMITS, wall_seconds=8, cpu_seconds=1)
_REFUSED = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def refused(work):
    try:
        return work() in (-1, None)
    except OSError:
        return True
"""
_CALLS = (
    _REFUSED
    + """
def run():
    arm = os.uname().machine == "aarch64"
    tries = [lambda: libc.unshare(0x10000000), lambda: libc.unshare(0x00020000),
             lambda: libc.mount(b"x", b"/tmp", b"tmpfs", 0, 0), lambda: os.memfd_create("x"),
             lambda: libc.syscall(425, 8, 0), lambda: libc.syscall(280 if arm else 321, 5, 0, 0),
             lambda: libc.syscall(282 if arm else 323, 1), lambda: libc.shmget(0, 4096, 0o1600),
             lambda: socket.socket(40, 1).close() or 1, lambda: socket.socket(17, 3).close() or 1]
    return {"refused": sum(map(refused, tries)), "tried": len(tries)}
"""
)
_NETWORK = """
import socket
def run():
    refused = []
    for where in (("1.1.1.1", 53), ("169.254.169.254", 80)):
        with socket.socket() as line:
            line.settimeout(0.5)
            try: line.connect(where)
            except OSError as error: refused.append(error.strerror or "timed out")
    with open("/proc/net/dev") as lines:
        interfaces = [line.split(":")[0].strip() for line in lines if ":" in line]
    return {"refused": refused, "interfaces": interfaces}
"""
_PRIVILEGES = """
import ctypes
def run():
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    held = [int(status.get(name, "0"), 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")]
    return {"held": held, "refused": ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) == 1}
"""
_FILES = """
import os
def run():
    writable = []
    for folder in ("/", "/usr", "/etc", "/var", "/home", "/dev", "/run", "/tmp"):
        try:
            open(folder + "/probe", "w").close(); writable.append(folder)
        except OSError: pass
    total = 0
    try:
        for number in range(64):
            with open(f"/tmp/{number}", "wb", 0) as file: total += file.write(bytes(1 << 20))
    except OSError: pass
    return {"writable": writable, "written": total}
"""
_PROCESSES = """
import os, time
def run():
    count = 1
    try:
        while True:
            if os.fork() == 0: time.sleep(9)
            count += 1
    except OSError: return {"count": count}
"""
_MEMORY = """
import os, time
def run():
    for _ in range(6):
        if os.fork() == 0:
            held = b"x" * (40 << 20); time.sleep(9)
    time.sleep(9)
"""
_SHARES = (
    _REFUSED
    + """
import resource
def write(name):
    with open("/proc/self/" + name, "w") as file:
        return file.write("0")
def run():
    arm, own = os.uname().machine == "aarch64", os.path.exists("/proc/sentry-meminfo")
    tries = [lambda: libc.setsid(), lambda: libc.inotify_init1(0),
             lambda: libc.syscall(0 if arm else 206, 1, ctypes.byref(ctypes.c_ulong())),
             lambda: os.sched_setaffinity(0, {0}) or 1,
             lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)) or 1,
             lambda: resource.prlimit(1, resource.RLIMIT_NOFILE), lambda: os.setpriority(os.PRIO_USER, 0, 19) or 1,
             lambda: libc.syscall(30 if arm else 251, 1, 0, 3 << 13), lambda: socket.socket(2, 1, 262).close() or 1,
             lambda: socket.socket(2, 2, 136).close() or 1]
    tries += [] if own else [lambda: write("oom_score_adj"), lambda: write("autogroup")]
    return {"refused": sum(map(refused, tries)), "tried": len(tries)}
"""
)
_BUFFERS = """
import os, socket, time
def run():
    held = []
    for _ in range(12):
        if os.fork() == 0:
            while True:
                try:
                    pair = socket.socketpair()
                    held.append(pair)
                    for one in pair:
                        one.setblocking(False)
                        try:
                            while True: one.send(b"x" * 65536)
                        except BlockingIOError: pass
                except OSError: time.sleep(60)
    time.sleep(60)
"""
_TIME = "import time\ndef run(): time.sleep(9)\n"
_CPU = "def run():\n    while True: pass\n"
_OUTPUT = "def run():\n    while True: print('x' * 4000)\n"


Judge = Callable[[RunReport, dict[str, Any]], tuple[str, bool]]


@dataclass(frozen=True)
class Probe:
    """One limit: code that tries to exceed it, what enforces it, and how to read the report."""

    resource: str
    code: str
    mechanism: str
    judge: Judge
    """Returns what was observed, and whether the limit held."""
    controller: str = ""
    """The controller of cgroup v2 that enforces it too."""
    needs_controller: bool = False
    """Only approximate without that controller."""
    limits: Limits = LIMITS


def _network(_: RunReport, observed: dict[str, Any]) -> tuple[str, bool]:
    refused, interfaces = observed.get("refused", []), observed.get("interfaces", [])
    text = f"{', '.join(sorted(set(refused)))}; interfaces: {', '.join(interfaces)}"
    return text, len(refused) == 2 and interfaces == ["lo"]


def _files(_: RunReport, observed: dict[str, Any]) -> tuple[str, bool]:
    writable, written = observed.get("writable", ["?"]), observed.get("written", 0)
    text = (
        f"writable: {', '.join(writable)}; {written / _MB:.0f} of {LIMITS.scratch_bytes / _MB:.0f} MB taken"
    )
    return text, writable == ["/tmp"] and written <= LIMITS.scratch_bytes  # noqa: S108


def _privileges(_: RunReport, observed: dict[str, Any]) -> tuple[str, bool]:
    none, refused = not any(observed.get("held", [1])), observed.get("refused") is True
    text = f"{'no' if none else 'some'} capabilities held, new ones {'refused' if refused else 'possible'}"
    return text, none and refused


def _refusals(attempts: str) -> Judge:
    def judge(_: RunReport, observed: dict[str, Any]) -> tuple[str, bool]:
        refused, tried = observed.get("refused", 0), observed.get("tried", -1)
        return f"{refused} of {tried} {attempts} refused", refused == tried

    return judge


def _memory(report: RunReport, _: dict[str, Any]) -> tuple[str, bool]:
    peak, limit = report.peak_memory_bytes / _MB, LIMITS.memory_bytes / _MB
    ended = "memory" in report.limits_hit
    return f"{'ended' if ended else 'not ended'} at {peak:.0f} MB, the limit being {limit:.0f} MB", ended


def _processes(report: RunReport, observed: dict[str, Any]) -> tuple[str, bool]:
    if "processes" in report.limits_hit:
        return f"ended by the warden at its limit of {LIMITS.processes}", True
    count = observed.get("count", 1 << 30)
    return f"{count} started, the limit being {LIMITS.processes}", count <= LIMITS.processes


def _time(report: RunReport, _: dict[str, Any]) -> tuple[str, bool]:
    return (
        f"ended after {report.duration_ms / 1000:.2f} s of {LIMITS.wall_seconds:g} s",
        "wall" in report.limits_hit,
    )


def _processor(report: RunReport, _: dict[str, Any]) -> tuple[str, bool]:
    return (
        f"ended after {report.cpu_ms / 1000:.1f} s of {_LONGER.cpu_seconds:g} s",
        "cpu" in report.limits_hit,
    )


def _output(report: RunReport, _: dict[str, Any]) -> tuple[str, bool]:
    text = (
        f"{len(report.stdout)} of {LIMITS.output_bytes} bytes kept, ended after {report.duration_ms:.0f} ms"
    )
    return text, "output" in report.limits_hit and len(report.stdout) <= LIMITS.output_bytes


_KERNELS = Enforcement(
    resource="kernel",
    mechanism="gVisor's own answers every system call, attested; the host's hears gVisor alone",
)
_WATCH = "rlimits and the warden's watch over all processes"
PROBES = (
    Probe("network", _NETWORK, "own network namespace with loopback only, attested", _network),
    Probe("files", _FILES, "read-only root, sized /tmp, nothing of the host mounted writable", _files),
    Probe("privileges", _PRIVILEGES, "no capabilities, no new privileges, own uid, attested", _privileges),
    Probe(
        "system calls",
        _CALLS,
        "seccomp allow-list without namespaces, attested",
        _refusals("dangerous calls"),
    ),
    Probe("memory", _MEMORY, _WATCH, _memory, "memory", needs_controller=True),
    Probe(
        "kernel memory",
        _BUFFERS,
        "buffers of sockets by the warden's watch, pipes by Linux for each user",
        _memory,
        "memory",
        needs_controller=True,
        limits=_SLOWER,
    ),
    Probe(
        "others' shares",
        _SHARES,
        "seccomp, Landlock and rlimits: priority, sessions, counts of the account",
        _refusals("ways to others' shares"),
    ),
    Probe("processes", _PROCESSES, "RLIMIT_NPROC for a uid of its own", _processes, "pids", limits=_ROOMY),
    Probe("time", _TIME, "wall clock of the warden and of the host", _time),
    Probe("processor time", _CPU, "RLIMIT_CPU for each process", _processor, limits=_LONGER),
    Probe("output", _OUTPUT, "capped by the warden; a flood ends the run", _output, limits=_LONGER),
)
_GVISOR = {
    "network": "gVisor's own network stack with loopback only, attested",
    "files": "read-only root served by gVisor's gofer, sized /tmp, nothing of the host mounted writable",
    "system calls": "gVisor's own kernel, and our seccomp allow-list inside it, attested",
    "memory": "rlimits and the warden's watch over all that gVisor counts, its own memory included",
    "kernel memory": "gVisor's own kernel holds it, and the warden's watch counts that",
    "others' shares": "gVisor's own kernel, and seccomp inside it",
    "processes": "RLIMIT_NPROC for a uid of its own, kept by gVisor",
    "processor time": "RLIMIT_CPU for each process, kept by gVisor",
}
"""What enforces a limit in the profile `gvisor`, where it differs."""
_CONTROLS = {"memory": "memory.max", "pids": "pids.max", "cpu": "cpu.max"}


async def measure(run: Run, controllers: Collection[str], profile: str = "draft") -> tuple[Enforcement, ...]:
    """Measure every limit; return what enforces it. `controllers` are those of cgroup v2 delegated to alita."""
    own_kernel = _GVISOR if profile == "gvisor" else {}

    async def measured(probe: Probe) -> Enforcement:
        job = Job(run_id="limits", module="limit_probe", code=probe.code, limits=probe.limits)
        report = await run(job)
        text, held = probe.judge(report, report.result if isinstance(report.result, dict) else {})
        delegated = probe.controller in controllers
        control = f"cgroup v2 {_CONTROLS[probe.controller]}, " if delegated else ""
        return Enforcement(
            resource=probe.resource,
            mechanism=control + own_kernel.get(probe.resource, probe.mechanism),
            measured=text,
            strong=held and (delegated or not probe.needs_controller),
        )

    rows = await asyncio.gather(*map(measured, PROBES))
    cpu_limited = "cpu" in controllers
    cpu_row = Enforcement(
        resource="cpu share",
        mechanism="cgroup v2 cpu.max" if cpu_limited else "low priority only",
        strong=cpu_limited,
    )
    kernel_rows = (_KERNELS,) if profile == "gvisor" else ()
    return (
        *kernel_rows,
        *rows,
        cpu_row,
        Enforcement(resource="disk bandwidth", mechanism="not limited", strong=False),
    )


async def recorded(
    folder: Path,
    key: Sequence[str],
    run: Run,
    controllers: Collection[str],
    *,
    fresh: bool,
    profile: str = "draft",
) -> tuple[Enforcement, ...]:
    """Return the rows that are recorded for this key; measure them if there are none, or with `fresh`."""
    record = folder / f"limits-{digest_of(profile, *key)[:16]}.json"
    if not fresh:
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(record.read_bytes(), type=ready(tuple[Enforcement, ...]))
    rows = await measure(run, controllers, profile)
    draft = record.with_suffix(f".{os.urandom(4).hex()}")
    try:
        draft.write_bytes(msgspec.json.encode(rows))
        draft.replace(record)
    except OSError:  # a full or read-only disk: they are measured again the next time
        with suppress(OSError):
            draft.unlink()
    return rows
