"""A party of a trial, tests or tool, as the judge holds it, and the nursery that begins it.

The nursery is forked before the judge has heard anything of the draft. Parties are forked from it, so that nothing of
what the judge knows lies in their memory.
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

from alita_tui.sandbox.warden import words
from alita_tui.sandbox.warden.confine import ARCHIVE, become

COMMAND = 1 << 16


class Gone(Exception):
    """The party's process has ended, or said what is no message."""


class Late(Exception):
    """Its time is over."""


class Nursery:
    """A process without any knowledge that forks the parties."""

    def __init__(self) -> None:
        self._line, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if self._pid == 0:
            self._line.close()
            _nurse(theirs)
        theirs.close()

    def prepare(self, imports: list[str]) -> None:
        """Have modules of the standard library ready in every party that begins from now on."""
        self._ask({"imports": imports}, [])

    def begin(self, what: str, uid: int, pipes: list[int], seed: int | None) -> int:
        """Fork a party; its process id. With a hash seed it is an interpreter of its own."""
        return self._ask({"what": what, "uid": uid, "seed": seed}, pipes)

    def bury(self, pid: int) -> int:
        """The status with which a party ended; waits for its end."""
        return self._ask({"pid": pid}, [])

    def close(self) -> None:
        """End it; what its children used of the processor counts from then on."""
        self._line.close()
        os.waitpid(self._pid, 0)

    def _ask(self, command: dict[str, Any], pipes: list[int]) -> int:
        passed = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("4i", *pipes))] if pipes else []
        self._line.sendmsg([json.dumps(command).encode()], passed)
        return int(self._line.recv(64))


def _nurse(line: Any) -> NoReturn:
    """Do what the judge asks for, until it is gone."""
    gc.freeze()  # what is there now is shared with every party: a collection of theirs need not touch it
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
    """Be one of the two parties."""
    if what == "tool":
        from alita_tui.sandbox.warden.served import serve

        serve()
    from alita_tui.sandbox.warden.suite import hold

    hold()


class Party:
    """One of the two processes of a draft's, and the pipes to it."""

    def __init__(self, nursery: Nursery, what: str, uid: int, *, show: bool, seed: int | None) -> None:
        """`what` is `tool` or `tests`; with `show` what it prints is passed on."""
        self.what = what
        self._nursery = nursery
        self._ended = False
        self._status = 0
        null = os.open("/dev/null", os.O_WRONLY)
        heard, said = os.pipe(), os.pipe()
        out, err = (1, 2) if show else (null, null)
        try:
            self.pid = nursery.begin(what, uid, [out, err, said[1], heard[0]], seed)
        finally:
            for fd in (null, said[1], heard[0]):
                os.close(fd)
        self._from, self._to = said[0], heard[1]
        os.set_blocking(self._to, False)

    def tell(self, message: dict[str, Any], until: float) -> None:
        """Raises Gone and Late."""
        try:
            data = memoryview(words.written(message))
        except words.Unreadable as error:
            raise Gone(f"what it is to be told cannot be said: {error}") from None
        while data:
            if not select.select([], [self._to], [], max(0.0, until - time.monotonic()))[1]:
                raise Late
            try:
                data = data[os.write(self._to, data[:65536]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise Gone(self._how()) from None

    def hear(self, until: float) -> dict[str, Any]:
        """The next message. Raises Gone and Late."""
        try:
            return words.read(self._exactly(words.announced(self._exactly(4, until)), until))
        except words.Unreadable as error:
            raise Gone(f"what its process said cannot be read: {error}") from None

    def end(self) -> int:
        """Kill it; the status with which it ended."""
        if not self._ended:
            self._ended = True
            os.kill(self.pid, signal.SIGKILL)
            self._status = self._nursery.bury(self.pid)
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
        """How a process ended that has closed its pipes; one that still lives is killed."""
        for _ in range(20):
            with open(f"/proc/{self.pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    break
            time.sleep(0.002)
        return how(self.end())


def how(status: int) -> str:
    """How a process ended, by its status."""
    if os.WIFSIGNALED(status):
        return f"its process was ended by signal {os.WTERMSIG(status)}"
    return f"its process ended with exit code {os.WEXITSTATUS(status)}"
