"""A program that lives as long as its container: an MCP server that speaks over stdin and stdout.

Both are connection 0 of the channel, with the frames and the window of the tool's other connections (`relay.py`): a
program that prints faster than the host reads is blocked by its pipe. It can be any executable of the environment; it
is confined like every child, and has no descriptors but its three pipes.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import time
from typing import Any, NoReturn

from alita_tui.sandbox.warden.channel import Channel
from alita_tui.sandbox.warden.child_process import exit_descriptor
from alita_tui.sandbox.warden.confine import renounce, restrict
from alita_tui.sandbox.warden.lockdown import LIBC, install_filter, restrict_writes
from alita_tui.sandbox.warden.processes import end_all, reap
from alita_tui.sandbox.warden.relay import PIECE, REPORTED, WINDOW, Relay
from alita_tui.sandbox.warden.watch import Watch

STDIO = 0
"""The number of the connection that consists of stdin and stdout."""
NOISE = 1 << 16
"""Bytes of stderr passed on in a second; the rest of that second is dropped."""
DRAIN_SECONDS = 1.0
FOLDER = "/tmp/home"


class Program:
    """The program and its pipes."""

    def __init__(self, channel: Channel, job: dict[str, Any], limits: dict[str, Any], uid: int) -> None:
        """Start it with the job's `argv` and `env`, and with the files by which it reaches the broker (`door`)."""
        self._channel = channel
        stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                begin(job, limits, uid, (stdin[0], stdout[1], stderr[1]))
            finally:
                os._exit(70)
        for fd in (stdin[0], stdout[1], stderr[1]):
            os.close(fd)
        self.exit = exit_descriptor(self.pid)
        self.stdin, self.stdout, self.stderr = stdin[1], stdout[0], stderr[0]
        os.set_blocking(self.stdin, False)
        self._unwritten = bytearray()
        self._credit = WINDOW
        self._taken = 0
        self._host_done = False
        self._noise = 0
        self._noise_second = 0

    def readers(self) -> list[int]:
        """Return the descriptors to read from, without stdout while the host takes no more."""
        stdout = [self.stdout] if self.stdout >= 0 and self._credit else []
        return [*stdout, *([self.stderr] if self.stderr >= 0 else [])]

    def writers(self) -> list[int]:
        """Return the descriptors to write to."""
        return [self.stdin] if self._unwritten and self.stdin >= 0 else []

    def obey(self, kind: bytes, data: bytes) -> None:
        """Handle a frame of the host about stdin and stdout."""
        if kind == b"K":
            self._credit += struct.unpack(">I", data)[0]
        elif kind == b"X":
            self._host_done = True
            self._settle()
        elif kind == b"N" and self.stdin < 0:
            self._report_taken(len(data))
        elif kind == b"N":
            self._unwritten += data

    def turn(self, ready: list[Any], writable: list[Any]) -> None:
        """Read and write what is possible without waiting."""
        if self.stdin in writable:
            try:
                written = os.write(self.stdin, self._unwritten[:PIECE])
            except BlockingIOError:
                written = 0
            except OSError:  # it reads no more
                written = len(self._unwritten)
                os.close(self.stdin)
                self.stdin = -1
            del self._unwritten[:written]
            self._report_taken(written)
            self._settle()
        if self.stdout in ready:
            self._read_out()
        if self.stderr in ready:
            self._read_err()

    def drained(self) -> bool:
        """Return whether it has closed both outputs."""
        return self.stdout < 0 and self.stderr < 0

    def _read_out(self) -> None:
        piece = os.read(self.stdout, min(PIECE, self._credit))
        self._credit -= len(piece)
        if piece:
            self._send(b"N", piece)
        else:
            os.close(self.stdout)
            self.stdout = -1
            self._send(b"X")

    def _read_err(self) -> None:
        piece = os.read(self.stderr, PIECE)
        if not piece:
            os.close(self.stderr)
            self.stderr = -1
            return
        current_second = int(time.monotonic())
        if current_second != self._noise_second:
            self._noise_second, self._noise = current_second, 0
        if passed_on := piece[: max(NOISE - self._noise, 0)]:
            self._channel.send(b"E", passed_on)
        self._noise += len(piece)

    def _report_taken(self, count: int) -> None:
        self._taken += count
        if self._taken >= REPORTED:
            self._send(b"K", struct.pack(">I", self._taken))
            self._taken = 0

    def _settle(self) -> None:
        if self._host_done and not self._unwritten and self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def _send(self, kind: bytes, data: bytes = b"") -> None:
        self._channel.send(kind, struct.pack(">I", STDIO) + data)


def begin(job: dict[str, Any], limits: dict[str, Any], uid: int, pipes: tuple[int, int, int]) -> NoReturn:
    """Become this user, take the pipes as 0, 1 and 2, become the program."""
    os.setpgid(0, 0)
    renounce(uid)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    LIBC.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: it may read its own /proc/self
    copies = [os.dup(fd) for fd in pipes]
    for target, source in enumerate(copies):
        os.dup2(source, target)
    os.closerange(3, 256)
    for folder in (FOLDER, "/tmp/tool"):
        os.makedirs(folder, 0o700, exist_ok=True)  # the child that waited for a job may have made it
    for name, text in job["door"].get("files", {}).items():
        with open("/tmp/tool/" + name, "w") as file:
            file.write(text)
    os.chdir(FOLDER)
    os.nice(10)
    restrict_writes()
    if not install_filter():
        os._exit(70)
    restrict(limits)
    environment = {**os.environ, "HOME": FOLDER, **job["door"].get("environment", {}), **job["env"]}
    try:
        os.execvpe(job["argv"][0], job["argv"], environment)
    except OSError as error:
        os.write(2, f"{job['argv'][0]}: {error.strerror}\n".encode())
        os._exit(127)


def serve_program(channel: Channel, settings: dict[str, Any], uid: int, job: dict[str, Any]) -> None:
    """Run the program until it ends or exceeds a limit, then report; when the channel closes, everything ends."""
    limits = settings["limits"]
    relay = Relay(channel)
    job["door"] = json.loads(relay.open(json.dumps(job["door"]).encode() if job["door"] else b""))
    program = Program(channel, job, limits, uid)
    watch = Watch(limits)
    limits_hit: list[str] = []
    wait_status: int | None = None
    checked_at = time.monotonic()
    deadline = float("inf")
    while not (wait_status is not None and (program.drained() or time.monotonic() > deadline)):
        while (frame := channel.take()) is not None:
            kind, payload = frame
            if kind in (b"N", b"K", b"X") and struct.unpack(">I", payload[:4])[0] == STDIO:
                program.obey(kind, payload[4:])
            else:
                relay.obey(kind, payload)
        readers = [0, *program.readers(), *relay.readers(), *(program.exit if wait_status is None else [])]
        patience = watch.patience if program.exit else 0.05
        ready, writable, _ = select.select(readers, program.writers() + relay.writers(), [], patience)
        if 0 in ready:
            channel.listen()
        relay.turn(ready, writable)
        program.turn(ready, writable)
        status = reap(program.pid)  # and orphans
        if wait_status is None and status is not None:
            wait_status, deadline = status, time.monotonic() + DRAIN_SECONDS
            end_all()
        if wait_status is None and time.monotonic() - checked_at > watch.patience:
            checked_at = time.monotonic()
            if (exceeded := watch.exceeded()) is not None:
                limits_hit.append(exceeded)
                end_all()
    relay.close()
    report = {
        "exit_code": os.WEXITSTATUS(wait_status) if os.WIFEXITED(wait_status) else None,
        "signal": os.WTERMSIG(wait_status) if os.WIFSIGNALED(wait_status) else None,
        "limits_hit": limits_hit[:1],
        "peak_memory_bytes": watch.peak,
    }
    channel.send(b"D", json.dumps(report).encode())
