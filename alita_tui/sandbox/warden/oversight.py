"""One run of a child: pass on what it prints, serve its connections, enforce its limits, report."""

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
"""A child that prints this many times what is passed on is ended."""
CPU_MARGIN = 2.0
"""Seconds of CPU time beyond the limit after which the warden ends a child that the kernel did not."""
NEAR_CPU_LIMIT = 0.9
"""Share of the CPU limit from which a kill that nothing else explains is put down to it."""
DRAIN_SECONDS = 1.0
"""How long the pipes of a child that has ended are read, should something hold them open."""
EXIT_POLL = 0.002
"""Seconds between looks at a child that has closed all its pipes, where the kernel cannot announce its end."""
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
        self._started = self._looked = time.monotonic()
        self._deadline = self._started + limits["wall_seconds"]
        self._report: dict[str, Any] | None = None

    def run(self) -> dict[str, Any]:
        """Return the report, once the run has ended."""
        while self._report is None:
            self._turn()
        return self._report

    def _turn(self) -> None:
        """Wait until something happens, deal with all of it, then with time and limits."""
        while (frame := self._channel.take()) is not None:
            self._relay.obey(*frame)
        readers = [0, *self._open, *self._relay.readers()]
        if self._life.alive:
            readers += self._child.exit
        writers = ([self._child.orders] if self._child.unsent else []) + self._relay.writers()
        patience = self._watch.patience if self._open or self._child.exit else EXIT_POLL
        ready, writable, _ = select.select(readers, writers, [], patience)
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
        if now > self._deadline + (self._relay.longer if self._life.alive else 0.0):
            self._apply(self._life.time_up())
        if self._life.alive and now - self._looked > self._watch.patience:
            self._looked = now
            self._look()
        if not self._open:
            self._apply(self._life.output_closed())

    def _read(self, fd: int) -> None:
        """Pass on or keep what one pipe of the child has, up to its limit."""
        kind = self._open[fd]
        piece = os.read(fd, CHUNK)
        if not piece:
            del self._open[fd]
            return
        already = self._received[kind]
        self._received[kind] = total = already + len(piece)
        if kind == "R":
            if total > self._limits["result_bytes"]:
                self._apply(self._life.limit_exceeded("result"))
            else:
                self._answer.append(piece)
            return
        limit = self._limits["output_bytes"]
        if already < limit:
            self._channel.send(kind.encode(), piece[: limit - already])
        if total > limit and STREAMS[kind] not in self._truncated:
            self._truncated.append(STREAMS[kind])
        if total > limit * FLOOD:
            self._apply(self._life.limit_exceeded("output"))

    def _look(self) -> None:
        """Compare what the container's processes hold and use with the limits."""
        exceeded = self._watch.exceeded()
        if self._child.spent() - self._cpu_at_start > self._limits["cpu_seconds"] + CPU_MARGIN:
            exceeded = "cpu"  # it raised what it may take before the kernel's limit was set
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
                self._report = self._measured()

    def _measured(self) -> dict[str, Any]:
        wall_seconds = time.monotonic() - self._started
        while reap(-1) is not None:  # what they used counts, once they are reaped
            pass
        cpu_seconds = max(children_cpu() - self._cpu_before, 0.0)
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        exhausted = cpu_seconds >= self._limits["cpu_seconds"] * NEAR_CPU_LIMIT
        return {
            **self._life.outcome(cpu_exhausted=exhausted, out_of_memory=out_of_memory),
            "truncated": self._truncated,
            "duration_ms": wall_seconds * 1000,
            "cpu_ms": cpu_seconds * 1000,
            "peak_memory_bytes": max(self._watch.peak, largest),
            "answer": b"".join(self._answer).decode("utf-8", "replace"),
        }


def children_cpu() -> float:
    """Return the seconds of CPU time of all reaped children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
