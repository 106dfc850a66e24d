"""The child as the warden holds it: its pipes, its limits, its run."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import struct
import time
from collections.abc import Callable
from typing import Any, NoReturn

from alita_tui.sandbox.warden.confine import empty, renounce
from alita_tui.sandbox.warden.doors import Doors
from alita_tui.sandbox.warden.line import Line
from alita_tui.sandbox.warden.watch import Watch

CHUNK = 65536
FLOOD = 64
PRELOAD = 20.0
OVER = 2.0
"""Seconds of processor time beyond the limit after which the warden ends what the kernel did not."""
SOON = 0.002
"""Seconds between looks at a child that has closed all its pipes and is about to end."""


class Tool:
    """The child, its pipes and its limits, as the warden holds them."""

    def __init__(self, begin: Callable[[tuple[int, int, int, int]], NoReturn]) -> None:
        """`begin` is what the child does, given where it writes, fails, answers and hears."""
        out, err, result, orders = os.pipe(), os.pipe(), os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                begin((out[1], err[1], result[1], orders[0]))
            finally:
                os._exit(70)
        for fd in (out[1], err[1], result[1], orders[0]):
            os.close(fd)
        self.exit = opened(self.pid)
        self.pipes = {out[0]: "O", err[0]: "E", result[0]: "R"}
        self.orders = orders[1]
        os.set_blocking(self.orders, False)
        self.unsent = memoryview(b"")

    def tell(self, message: bytes) -> None:
        """Queue a message; a child that does not read must not hold up the warden."""
        self.unsent = memoryview(bytes(self.unsent) + struct.pack(">I", len(message)) + message)

    def push(self) -> None:
        """Write what the child takes."""
        try:
            self.unsent = self.unsent[os.write(self.orders, self.unsent[:CHUNK]) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.unsent = memoryview(b"")

    def spent(self) -> float:
        """Seconds of processor time of the child so far; the clock id is the kernel's for a pid."""
        try:
            return time.clock_gettime((~self.pid << 3) | 2)
        except OSError:
            return 0.0

    def close(self) -> None:
        """Let go of everything that belongs to this child."""
        for fd in (*self.exit, self.orders, *self.pipes):
            os.close(fd)

    def alone(self) -> bool:
        """True when the child is one process with one thread, besides the warden."""
        if [entry for entry in os.listdir("/proc") if entry.isdigit()] not in (
            ["1", str(self.pid)],
            [str(self.pid), "1"],
        ):
            return False
        return len(os.listdir("/proc/" + str(self.pid) + "/task")) == 1


def opened(pid: int) -> list[int]:
    """What can be read once this child has ended; nothing on a kernel that has no such thing (gVisor)."""
    try:
        return [os.pidfd_open(pid)]
    except OSError:
        return []


def prepare(tool: Tool, asked: dict[str, Any], line: Line, *, wait: bool) -> str:
    """Have the child import; what is wrong with it then, or nothing. Without imports only `wait` waits for it."""
    asked = {**asked, "say": bool(asked["imports"]) or wait}
    tool.tell(json.dumps(asked).encode())
    if not asked["say"]:
        while tool.unsent:
            tool.push()
        return ""
    deadline = time.monotonic() + PRELOAD
    said = b""
    while said != b".":
        ready, writable, _ = select.select(
            [0, *tool.exit, *tool.pipes],
            [tool.orders] if tool.unsent else [],
            [],
            deadline - time.monotonic(),
        )
        if 0 in ready:
            line.listen()
        if writable:
            tool.push()
        if not ready and not writable:
            return "its imports took too long"
        if tool.exit and tool.exit[0] in ready:
            return "its imports ended the process"
        for fd in ready:
            if fd in tool.pipes:
                if tool.pipes[fd] != "R":
                    return "its imports printed something"
                said = os.read(fd, 1)
                if not said:
                    return "its imports ended the process"
    return "" if tool.alone() else "its imports left something running"


def oversee(tool: Tool, limits: dict[str, Any], line: Line, doors: Doors) -> dict[str, Any]:
    """Pass on what the child prints and what goes through the doors, hold it to its limits, report."""
    watch = Watch(limits)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = tool.spent()
    before = began + usage.ru_utime + usage.ru_stime
    started = looked = time.monotonic()
    deadline = started + limits["wall_seconds"]
    seen = {"O": 0, "E": 0, "R": 0}
    kept = {"O": limits["output_bytes"], "E": limits["output_bytes"]}
    result: list[bytes] = []
    hits: list[str] = []
    truncated: list[str] = []
    status: int | None = None
    names = {"O": "stdout", "E": "stderr"}
    open_pipes = dict(tool.pipes)

    def stop(limit: str) -> None:
        if limit not in hits:
            hits.append(limit)
        end_all()

    while open_pipes or status is None:
        while (said := line.take()) is not None:
            doors.obey(*said)
        waiting = [0, *open_pipes, *doors.readers()] + (tool.exit if status is None else [])
        taking = ([tool.orders] if tool.unsent else []) + doors.writers()
        patience = watch.patience if open_pipes or tool.exit else SOON
        ready, writable, _ = select.select(waiting, taking, [], patience)
        now = time.monotonic()
        if 0 in ready:
            line.listen()
        if tool.orders in writable:
            tool.push()
        doors.turn(ready, writable)
        for fd in [fd for fd in ready if fd in open_pipes]:
            kind = open_pipes[fd]
            piece = os.read(fd, CHUNK)
            if not piece:
                del open_pipes[fd]
                continue
            seen[kind] += len(piece)
            if kind == "R":
                if seen[kind] > limits["result_bytes"]:
                    stop("result")
                else:
                    result.append(piece)
                continue
            room = kept[kind] - (seen[kind] - len(piece))
            if room > 0:
                line.send(kind.encode(), piece[:room])
            if seen[kind] > kept[kind] and names[kind] not in truncated:
                truncated.append(names[kind])
            if seen[kind] > kept[kind] * FLOOD:
                stop("output")
        if status is None and (ended := reap(tool.pid)) is not None:
            status = ended
            tool.unsent = memoryview(b"")
            end_all()
            doors.close()
            deadline = now + 1.0
        if status is None and now > deadline + doors.longer:
            stop("wall")
        elif status is not None and now > deadline:
            break
        if status is None and now - looked > watch.patience:
            looked = now
            limit = watch.breach()
            if tool.spent() - began > limits["cpu_seconds"] + OVER:
                limit = "cpu"  # it raised what it may take before the kernel's limit was set
            if limit:
                stop(limit)
    assert status is not None
    spent = (time.monotonic() - started) * 1000
    while reap(-1) is not None:
        pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = usage.ru_utime + usage.ru_stime - before
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        hits.append("cpu")
    elif os.WIFSIGNALED(status) and not hits and starved():
        hits.append("memory")
    elif os.WIFSIGNALED(status) and not hits and cpu >= limits["cpu_seconds"] * 0.9:
        hits.append("cpu")  # SIGXCPU was ignored: the kernel kills at the hard limit
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXFSZ:
        hits.append("files")
    return {
        "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "limits_hit": hits,
        "truncated": truncated,
        "duration_ms": spent,
        "cpu_ms": max(cpu, 0.0) * 1000,
        "peak_memory_bytes": max(watch.peak, usage.ru_maxrss * 1024),
        "answer": b"".join(result).decode("utf-8", "replace"),
    }


def starved() -> bool:
    """True when the kernel ended a process of this container for want of memory (cgroup v2)."""
    try:
        with open("/sys/fs/cgroup/memory.events") as lines:
            return any(line.split()[0] == "oom_kill" and line.split()[1] != "0" for line in lines)
    except OSError:
        return False


def reap(pid: int) -> int | None:
    """Collect what has ended, orphans too; the status of this one (-1: of any) once it has."""
    while True:
        try:
            gone, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if not gone:
            return None
        if pid in (gone, -1):
            return status


def sweep(uid: int) -> bool:
    """After a child of a session: end what it left, empty /tmp. Where something stays, the container ends."""
    end_all()
    while reap(-1) is not None or len([entry for entry in os.listdir("/proc") if entry.isdigit()]) > 1:
        pass
    helper = os.fork()
    if helper == 0:
        try:
            renounce(uid)  # the warden may not remove another user's files
            empty("/tmp", uid)
        finally:
            os._exit(0)
    os.waitpid(helper, 0)
    if os.listdir("/tmp") or connected():
        leave()
    return True


def connected() -> bool:
    """True while connections or ports of an earlier child can still be seen."""
    counted = 0
    for name in ("sockstat", "sockstat6"):
        try:
            with open("/proc/net/" + name) as lines:
                words = lines.read().split()
        except OSError:  # gVisor counts them nowhere
            return any(len(listed(name)) > 1 for name in ("tcp", "tcp6", "udp", "udp6"))
        for label, value in zip(words, words[1:], strict=False):
            if label in ("inuse", "tw"):  # to read the lists would be to walk through the host's tables
                counted += int(value)
    return counted > 0


def listed(name: str) -> list[str]:
    """The lines of a list in /proc/net."""
    try:
        with open("/proc/net/" + name) as lines:
            return lines.readlines()
    except OSError:
        return []


def end_all() -> None:
    """Kill every process of the container but this one; the kernel spares the caller."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def leave() -> NoReturn:
    """The channel is closed: nobody wants this container any more."""
    end_all()
    os._exit(0)
