"""A party of a trial, tests or tool, as the judge sees it, and the fork server that forks it.

The fork server starts before the judge has received anything of the draft. Parties are forked from it, so their memory
holds nothing of what the judge knows.
"""

from __future__ import annotations

import _socket
import gc
import importlib
import json
import os
import select
import signal
import struct
import sys
import time
from typing import Any, NoReturn

from alita_tui.sandbox.warden import messages
from alita_tui.sandbox.warden.confine import ARCHIVE, become

COMMAND = 1 << 16


class PartyGone(Exception):
    """The party's process has ended, or sent something that is no message."""


class PartyLate(Exception):
    """The party did not answer in time."""


class ForkServer:
    """A process that knows nothing of the draft and forks the parties."""

    def __init__(self) -> None:
        self._socket_to_server, child_line = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if self._pid == 0:
            self._socket_to_server.close()
            _serve_forks(child_line)
        child_line.close()

    def prepare(self, imports: list[str]) -> None:
        """Import modules of the standard library for every party forked from now on."""
        self._ask({"imports": imports}, [])

    def fork(self, role: str, uid: int, pipes: list[int], seed: int | None) -> int:
        """Fork a party and return its process id; with a hash seed it is a new interpreter."""
        return self._ask({"role": role, "uid": uid, "seed": seed}, pipes)

    def wait(self, pid: int) -> int:
        """Wait for a party to end; return its wait status."""
        return self._ask({"pid": pid}, [])

    def close(self) -> None:
        """End it; the kernel counts its children's CPU time only then."""
        self._socket_to_server.close()
        os.waitpid(self._pid, 0)

    def _ask(self, command: dict[str, Any], pipes: list[int]) -> int:
        ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("4i", *pipes))] if pipes else []
        self._socket_to_server.sendmsg([json.dumps(command).encode()], ancillary)
        return int(self._socket_to_server.recv(64))


def _serve_forks(line: Any) -> NoReturn:
    """Carry out the judge's commands until the judge has ended."""
    gc.freeze()  # shared with every party: their collections leave it untouched
    try:
        while True:
            raw, ancillary, _, _ = line.recvmsg(COMMAND, _socket.CMSG_SPACE(16))
            if not raw:
                break
            line.send(str(_obey(json.loads(raw), ancillary)).encode())
    finally:
        os._exit(0)


def _obey(command: dict[str, Any], ancillary: Any) -> int:
    if "imports" in command:
        for name in command["imports"]:
            try:
                importlib.import_module(name)
            except BaseException:
                sys.modules.pop(name, None)
        gc.freeze()
        return 0
    if "pid" in command:
        return os.waitpid(command["pid"], 0)[1]
    pipes = struct.unpack("4i", ancillary[0][2])
    pid = os.fork()
    if pid == 0:
        try:
            become(pipes, command["uid"], alone=True)
            _live(command["role"], command["seed"])
        finally:
            os._exit(70)
    for fd in pipes:
        os.close(fd)
    return pid


def _live(role: str, seed: int | None) -> NoReturn:
    if seed is None:
        live(role)
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    os.execve(sys.executable, [sys.executable, "-s", "-S", "-u", ARCHIVE, "party", role], environment)


def live(role: str) -> NoReturn:
    """Become one of the two parties."""
    if role == "tool":
        from alita_tui.sandbox.warden.tool_party import serve

        serve()
    from alita_tui.sandbox.warden.tests_party import run_tests

    run_tests()


class Party:
    """One of the two processes of a trial, and the pipes to it."""

    def __init__(self, fork_server: ForkServer, role: str, uid: int, *, show: bool, seed: int | None) -> None:
        """`role` is `tool` or `tests`; with `show` its output is passed on."""
        self.role = role
        self._fork_server = fork_server
        self._ended = False
        self._status = 0
        null = os.open("/dev/null", os.O_WRONLY)
        orders, answers = os.pipe(), os.pipe()
        stdout, stderr = (1, 2) if show else (null, null)
        try:
            self.pid = fork_server.fork(role, uid, [stdout, stderr, answers[1], orders[0]], seed)
        finally:
            for fd in (null, answers[1], orders[0]):
                os.close(fd)
        self._answers_fd, self._orders_fd = answers[0], orders[1]
        os.set_blocking(self._orders_fd, False)

    def send(self, message: dict[str, Any], until: float) -> None:
        """Send a message. Raise PartyGone, PartyLate."""
        try:
            data = memoryview(messages.encode(message))
        except messages.Unreadable as error:
            raise PartyGone(f"the message for it cannot be sent: {error}") from None
        while data:
            if not select.select([], [self._orders_fd], [], max(0.0, until - time.monotonic()))[1]:
                raise PartyLate
            try:
                data = data[os.write(self._orders_fd, data[:65536]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise PartyGone(self._how_ended()) from None

    def receive(self, until: float) -> dict[str, Any]:
        """Return the next message. Raise PartyGone, PartyLate."""
        try:
            return messages.decode(self._exactly(messages.size_of(self._exactly(4, until)), until))
        except messages.Unreadable as error:
            raise PartyGone(f"its process sent something that cannot be read: {error}") from None

    def end(self) -> int:
        """Kill it; return its wait status."""
        if not self._ended:
            self._ended = True
            os.kill(self.pid, signal.SIGKILL)
            self._status = self._fork_server.wait(self.pid)
            os.close(self._answers_fd)
            os.close(self._orders_fd)
        return self._status

    def _exactly(self, count: int, until: float) -> bytes:
        data = b""
        while len(data) < count:
            if not select.select([self._answers_fd], [], [], max(0.0, until - time.monotonic()))[0]:
                raise PartyLate
            piece = os.read(self._answers_fd, min(count - len(data), 1 << 18))
            if not piece:
                raise PartyGone(self._how_ended())
            data += piece
        return data

    def _how_ended(self) -> str:
        """Return in words how the process ended, which has closed its pipes; kill it if it still runs."""
        for _ in range(20):
            with open(f"/proc/{self.pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    break
            time.sleep(0.002)
        return how_ended(self.end())


def how_ended(status: int) -> str:
    """Return how a process ended, in words."""
    if os.WIFSIGNALED(status):
        return f"its process was ended by signal {os.WTERMSIG(status)}"
    return f"its process ended with exit code {os.WEXITSTATUS(status)}"
