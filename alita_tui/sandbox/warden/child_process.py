"""The child as the warden sees it: its pipes, its orders, and its imports before there is a job."""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Callable
from typing import Any, NoReturn

from alita_tui.sandbox.warden.channel import Channel
from alita_tui.sandbox.warden.processes import running

CHUNK = 65536
IMPORT_SECONDS = 20.0


class ChildProcess:
    """The child and its pipes."""

    started = 0
    """Number of programs that it has started before there is a job."""

    def __init__(self, main: Callable[[tuple[int, int, int, int]], NoReturn]) -> None:
        """Fork. `main` runs in the child and gets its ends of the pipes: stdout, stderr, answer, orders."""
        stdout, stderr, result, orders = os.pipe(), os.pipe(), os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                main((stdout[1], stderr[1], result[1], orders[0]))
            finally:
                os._exit(70)
        for fd in (stdout[1], stderr[1], result[1], orders[0]):
            os.close(fd)
        self.exit = exit_descriptor(self.pid)
        self.pipes = {stdout[0]: "O", stderr[0]: "E", result[0]: "R"}
        self.orders = orders[1]
        os.set_blocking(self.orders, False)
        self.unsent = memoryview(b"")

    def queue(self, message: bytes) -> None:
        """Queue a message; a child that does not read must not hold up the warden."""
        self.unsent = memoryview(bytes(self.unsent) + struct.pack(">I", len(message)) + message)

    def push(self) -> None:
        """Write as much of the queue as the child takes."""
        try:
            self.unsent = self.unsent[os.write(self.orders, self.unsent[:CHUNK]) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.unsent = memoryview(b"")

    def spent(self) -> float:
        """Return the child's CPU time so far in seconds; 0 once it is gone.

        It includes that of a program started ahead, whose limit in the kernel was set before there was a job.
        """
        pids = [int(pid) for pid in running() if pid != "1"] if self.started else [self.pid]
        return sum(map(spent_by, pids))

    def close(self) -> None:
        """Close every descriptor that belongs to this child."""
        for fd in (*self.exit, self.orders, *self.pipes):
            os.close(fd)

    def alone(self) -> bool:
        """Return whether the child is one process with one thread, and the only one besides the warden.

        The program that it has started for its job may run as well.
        """
        others = {*running()} - {"1", str(self.pid)}
        return len(others) == self.started and len(os.listdir(f"/proc/{self.pid}/task")) == 1


def spent_by(pid: int) -> float:
    """Return the CPU time of a process in seconds; 0 once it is gone."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the kernel's clock id for a process
    except OSError:
        return 0.0


def exit_descriptor(pid: int) -> list[int]:
    """Return a descriptor that is readable once the child has ended; none on a kernel without them (gVisor)."""
    try:
        return [os.pidfd_open(pid)]
    except OSError:
        return []


def prepare(child: ChildProcess, settings: dict[str, Any], channel: Channel, *, wait: bool) -> str:
    """Have the child import its modules, or start its program; return what went wrong, or an empty string.

    Where nothing is to be done ahead, this waits for the child only with `wait`.
    """
    child.started = int(settings["start"] is not None)
    settings = {**settings, "say": bool(settings["imports"] or child.started) or wait}
    child.queue(json.dumps(settings).encode())
    if not settings["say"]:
        while child.unsent:
            child.push()
        return ""
    deadline = time.monotonic() + IMPORT_SECONDS
    ready_mark = b""
    while ready_mark != b".":
        readers = [0, *child.exit, *child.pipes]
        writers = [child.orders] if child.unsent else []
        ready, writable, _ = select.select(readers, writers, [], max(deadline - time.monotonic(), 0.0))
        if 0 in ready:
            channel.listen()
        if writable:
            child.push()
        if not ready and not writable:
            return "its imports took too long"
        if child.exit and child.exit[0] in ready:
            return "its imports ended the process"
        for fd in ready:
            if fd in child.pipes:
                if child.pipes[fd] != "R":
                    return "its imports printed something"
                ready_mark = os.read(fd, 1)
                if not ready_mark:
                    return "its imports ended the process"
    return "" if child.alone() else "its imports left something running"
