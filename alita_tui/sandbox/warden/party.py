"""A party of a trial, tests or tool, as the judge sees it, and the fork server that forks it.

The fork server starts before the judge has received anything of the draft. Parties are forked from it, so that nothing
of what the judge knows is in their memory.
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


class Gone(Exception):
    """The party's process has ended, or sent something that is no message."""


class Late(Exception):
    """The party did not answer in time."""


class ForkServer:
    """A process that knows nothing of the draft and forks the parties."""

    def __init__(self) -> None:
        self._line, child_line = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if self._pid == 0:
            self._line.close()
            _serve_forks(child_line)
        child_line.close()

    def prepare(self, imports: list[str]) -> None:
        """Import modules of the standard library for every party forked from now on."""
        self._ask({"imports": imports}, [])

    def fork(self, what: str, uid: int, pipes: list[int], seed: int | None) -> int:
        """Fork a party and return its process id; with a hash seed it is a new interpreter."""
        return self._ask({"what": what, "uid": uid, "seed": seed}, pipes)

    def wait(self, pid: int) -> int:
        """Wait for a party to end; return its wait status."""
        return self._ask({"pid": pid}, [])

    def close(self) -> None:
        """End it; only then does its children's CPU time count."""
        self._line.close()
        os.waitpid(self._pid, 0)

    def _ask(self, command: dict[str, Any], pipes: list[int]) -> int:
        passed = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("4i", *pipes))] if pipes else []
        self._line.sendmsg([json.dumps(command).encode()], passed)
        return int(self._line.recv(64))


def _serve_forks(line: Any) -> NoReturn:
    """Carry out the judge's commands until it is gone."""
    gc.freeze()  # shared with every party: their collections leave it untouched
    try:
        while True:
            raw, passed, _, _ = line.recvmsg(COMMAND, _socket.CMSG_SPACE(16))
            if not raw:
                break
            line.send(str(_obey(json.loads(raw), passed)).encode())
    finally:
        os._exit(0)


def _obey(command: dict[str, Any], passed: Any) -> int:
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
    pipes = struct.unpack("4i", passed[0][2])
    pid = os.fork()
    if pid == 0:
        try:
            become(pipes, command["uid"], alone=True)
            _live(command["what"], command["seed"])
        finally:
            os._exit(70)
    for fd in pipes:
        os.close(fd)
    return pid


def _live(what: str, seed: int | None) -> NoReturn:
    if seed is None:
        live(what)
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    os.execve(sys.executable, [sys.executable, "-s", "-S", "-u", ARCHIVE, "party", what], environment)


def live(what: str) -> NoReturn:
    """Become one of the two parties."""
    if what == "tool":
        from alita_tui.sandbox.warden.tool_party import serve

        serve()
    from alita_tui.sandbox.warden.tests_party import hold

    hold()


class Party:
    """One of the two processes of a trial, and the pipes to it."""

    def __init__(self, fork_server: ForkServer, what: str, uid: int, *, show: bool, seed: int | None) -> None:
        """`what` is `tool` or `tests`; with `show` its output is passed on."""
        self.what = what
        self._fork_server = fork_server
        self._ended = False
        self._status = 0
        null = os.open("/dev/null", os.O_WRONLY)
        orders, answers = os.pipe(), os.pipe()
        out, err = (1, 2) if show else (null, null)
        try:
            self.pid = fork_server.fork(what, uid, [out, err, answers[1], orders[0]], seed)
        finally:
            for fd in (null, answers[1], orders[0]):
                os.close(fd)
        self._from, self._to = answers[0], orders[1]
        os.set_blocking(self._to, False)

    def send(self, message: dict[str, Any], until: float) -> None:
        """Send a message. Raise Gone, Late."""
        try:
            data = memoryview(messages.written(message))
        except messages.Unreadable as error:
            raise Gone(f"the message for it cannot be sent: {error}") from None
        while data:
            if not select.select([], [self._to], [], max(0.0, until - time.monotonic()))[1]:
                raise Late
            try:
                data = data[os.write(self._to, data[:65536]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise Gone(self._how()) from None

    def receive(self, until: float) -> dict[str, Any]:
        """Return the next message. Raise Gone, Late."""
        try:
            return messages.read(self._exactly(messages.announced(self._exactly(4, until)), until))
        except messages.Unreadable as error:
            raise Gone(f"its process sent something that cannot be read: {error}") from None

    def end(self) -> int:
        """Kill it; return its wait status."""
        if not self._ended:
            self._ended = True
            os.kill(self.pid, signal.SIGKILL)
            self._status = self._fork_server.wait(self.pid)
            os.close(self._from)
            os.close(self._to)
        return self._status

    def _exactly(self, count: int, until: float) -> bytes:
        data = b""
        while len(data) < count:
            if not select.select([self._from], [], [], max(0.0, until - time.monotonic()))[0]:
                raise Late
            piece = os.read(self._from, min(count - len(data), 1 << 18))
            if not piece:
                raise Gone(self._how())
            data += piece
        return data

    def _how(self) -> str:
        """Return how a process ended that has closed its pipes; kill it if it still lives."""
        for _ in range(20):
            with open(f"/proc/{self.pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    break
            time.sleep(0.002)
        return how(self.end())


def how(status: int) -> str:
    """Return how a process ended, in words."""
    if os.WIFSIGNALED(status):
        return f"its process was ended by signal {os.WTERMSIG(status)}"
    return f"its process ended with exit code {os.WEXITSTATUS(status)}"
