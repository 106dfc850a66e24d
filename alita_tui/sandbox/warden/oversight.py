"""One run of a child: pass on its output, serve its connections, enforce its limits, report."""

from __future__ import annotations

import os
import resource
import select
import time
from typing import Any

from alita_tui.sandbox.warden.channel import Channel
from alita_tui.sandbox.warden.child_process import CHUNK, ChildProcess
from alita_tui.sandbox.warden.lifecycle import Effect, Lifecycle
from alita_tui.sandbox.warden.processes import end_all, out_of_memory, reap
from alita_tui.sandbox.warden.relay import Relay
from alita_tui.sandbox.warden.watch import Watch

FLOOD = 64
"""A child that prints this many times as much as is passed on is ended."""
CPU_MARGIN = 2.0
"""Seconds of CPU time beyond the limit after which the warden ends a child that the kernel did not."""
NEAR_CPU_LIMIT = 0.9
"""Share of the CPU limit from which it explains a kill without any other known reason."""
DRAIN_SECONDS = 1.0
"""How long the pipes of an ended child are read if another process holds them open."""
EXIT_POLL = 0.002
"""Seconds between checks of a child that has closed all its pipes, where the kernel cannot signal its end."""
STREAMS = {"O": "stdout", "E": "stderr"}


class Oversight:
    """The warden's side of one run."""

    def __init__(self, child: ChildProcess, limits: dict[str, Any], channel: Channel, relay: Relay) -> None:
        self._child = child
        self._limits = limits
        self._channel = channel
        self._relay = relay
        self._watch = Watch(limits)
        self._life = Lifecycle()
        self._open = dict(child.pipes)
        self._received = dict.fromkeys("OER", 0)
        self._answer: list[bytes] = []
        self._truncated: list[str] = []
        self._cpu_at_start = child.spent()
        self._cpu_before = self._cpu_at_start + children_cpu()
        self._started = self._checked_at = time.monotonic()
        self._deadline = self._started + limits["wall_seconds"]
        self._report: dict[str, Any] | None = None

    def run(self) -> dict[str, Any]:
        """Return the report, once the run has ended."""
        while self._report is None:
            self._step()
        return self._report

    def _step(self) -> None:
        """Wait for events, handle all of them, then check time and limits."""
        while (frame := self._channel.take()) is not None:
            self._relay.obey(*frame)
        readers = [0, *self._open, *self._relay.readers()]
        if self._life.alive:
            readers += self._child.exit
        writers = ([self._child.orders] if self._child.unsent else []) + self._relay.writers()
        timeout = self._watch.patience if self._open or self._child.exit else EXIT_POLL
        ready, writable, _ = select.select(readers, writers, [], timeout)
        now = time.monotonic()
        if 0 in ready:
            self._channel.listen()
        if self._child.orders in writable:
            self._child.push()
        self._relay.turn(ready, writable)
        for fd in ready:
            if fd in self._open:
                self._read(fd)
        if self._life.alive and (wait_status := reap(self._child.pid)) is not None:
            self._deadline = now + DRAIN_SECONDS
            self._apply(self._life.exited(wait_status))
        if now > self._deadline + (self._relay.added_seconds if self._life.alive else 0.0):
            self._apply(self._life.time_up())
        if self._life.alive and now - self._checked_at > self._watch.patience:
            self._checked_at = now
            self._check_limits()
        if not self._open:
            self._apply(self._life.output_closed())

    def _read(self, fd: int) -> None:
        """Read one pipe of the child: pass on output, collect the answer, each up to its limit."""
        kind = self._open[fd]
        piece = os.read(fd, CHUNK)
        if not piece:
            del self._open[fd]
            return
        previous_total = self._received[kind]
        self._received[kind] = total = previous_total + len(piece)
        if kind == "R":
            if total > self._limits["result_bytes"]:
                self._apply(self._life.limit_exceeded("result"))
            else:
                self._answer.append(piece)
            return
        limit = self._limits["output_bytes"]
        if previous_total < limit:
            self._channel.send(kind.encode(), piece[: limit - previous_total])
        if total > limit and STREAMS[kind] not in self._truncated:
            self._truncated.append(STREAMS[kind])
        if total > limit * FLOOD:
            self._apply(self._life.limit_exceeded("output"))

    def _check_limits(self) -> None:
        """Compare the memory, processes and CPU time of the container with the limits."""
        exceeded = self._watch.exceeded()
        if self._child.spent() - self._cpu_at_start > self._limits["cpu_seconds"] + CPU_MARGIN:
            exceeded = "cpu"  # it raised its own limit before the kernel's was set
        if exceeded:
            self._apply(self._life.limit_exceeded(exceeded))

    def _apply(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if effect is Effect.KILL_ALL:
                end_all()
            elif effect is Effect.CUT_OFF:
                self._child.unsent = memoryview(b"")
                self._relay.close()
            elif effect is Effect.REPORT:
                self._report = self._measure()

    def _measure(self) -> dict[str, Any]:
        wall_seconds = time.monotonic() - self._started
        while reap(-1) is not None:  # what they used counts, once they are reaped
            pass
        cpu_seconds = max(children_cpu() - self._cpu_before, 0.0)
        largest_process = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        exhausted = cpu_seconds >= self._limits["cpu_seconds"] * NEAR_CPU_LIMIT
        return {
            **self._life.outcome(cpu_exhausted=exhausted, out_of_memory=out_of_memory),
            "truncated": self._truncated,
            "duration_ms": wall_seconds * 1000,
            "cpu_ms": cpu_seconds * 1000,
            "peak_memory_bytes": max(self._watch.peak, largest_process),
            "answer": b"".join(self._answer).decode("utf-8", "replace"),
        }


def children_cpu() -> float:
    """Return the seconds of CPU time of all reaped children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
