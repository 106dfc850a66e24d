"""A tool that is written in another language than Python: a program that is started by the process that stands for it.

Both have the tool's user id and are confined alike. What the program says crosses pipes: its result, and, where it is
watched, the marks of the places that it passes. The program holds no descriptor of the warden's or the judge's.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from alita_tui.sandbox.warden.lockdown import LIBC

PIECE = 1 << 16
LOOK_SECONDS = 0.05
REFUSED = 65
"""The exit status (EX_DATAERR) by which a program refuses its input; stderr says why."""
MOST_SAID = 4000
"""Characters of stderr in an error."""
WAITING = b"."
"""What a program that is kept writes among its answers once it waits for its code."""
CLEAR = 8
"""The first descriptor that is clear of the numbers that the program gets."""
MARKS, ANSWERS, CODE = 3, 4, 5
"""Descriptors of the program: places that it passes, the answers of one that is kept, and its code, which has no name
in the file system, so that the program can close it before any of the code runs."""


class Failure(Exception):
    """The program raised, refused or ended; told as an exception of its language."""

    def __init__(self, kinds: list[str], text: str, trace: str = "") -> None:
        super().__init__(text)
        self.kinds = kinds
        self.text = text
        self.trace = trace or f"{kinds[0]}: {text}"


class Foreign:
    """Stands for the tool's module: `run` starts the program, or asks the one that is kept."""

    def __init__(
        self, start: dict[str, Any], name: str, path: str, code: str, most: int, names: Sequence[str] = ()
    ) -> None:
        """`most` are the bytes of a result, `names` those of arguments that are given by their place."""
        LIBC.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: the program, of the same user, does not read this memory
        self._names = names
        self._start = start
        self._name = name
        self._path = path
        self._code = code
        self._most = most
        self._program: KeptProgram | None = None
        self._surroundings: object = None
        self._marks = bytearray()

    def ahead(self) -> Foreign:
        """Start a program that is kept before its name and code are known; return this."""
        self._program = KeptProgram(self._spawned, self._most)
        self._surroundings = surroundings()
        self._program.wait()
        return self

    def take(self, name: str, path: str, code: str, most: int) -> Foreign:
        """Give it name and code, once they are known; a program that surroundings no longer fit is started anew."""
        self._name, self._path, self._code, self._most = name, path, code, most
        if self._program is not None and self._surroundings != surroundings():
            self.end()
        return self

    def run(self, *positional: Any, **named: Any) -> Any:
        """Return the result. Raise Failure."""
        if len(positional) > len(self._names):
            raise Failure(
                ["TypeError", "Exception"],
                f"run() takes {len(self._names)} arguments but {len(positional)} were given",
            )
        arguments = {**dict(zip(self._names, positional, strict=False)), **named}
        order = json.dumps(arguments).encode("utf-8", "surrogatepass")
        if not self._start["kept"]:
            return self._once(order)
        now = surroundings()
        if self._program is not None and now != self._surroundings:
            self.end()
        if self._program is None:
            self._surroundings = now
            self._program = KeptProgram(self._spawned, self._most)
        try:
            self._program.load(f"{self._path}\n{self._code}".encode("utf-8", "surrogatepass"))
            return self._program.ask(order, self._marks, self._most)
        except Failure:
            if self._program.ended:
                self.end()
            raise

    def passed(self) -> list[int]:
        """Return the places that were passed so far; only marks that bear the code's own sign count."""
        sign = self._code.partition("__alita_")[2][:16]
        lines = self._marks.decode("ascii", "replace").split("\n")
        numbers = [line[17:] for line in lines if sign and line.startswith(sign + " ")]
        return sorted({int(number) for number in numbers if number.isdecimal() and len(number) < 8})

    def spent(self) -> float:
        """Return the processor time in seconds of what was started here."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime + (self._program.spent() if self._program is not None else 0.0)

    def end(self) -> None:
        """End the program that is kept."""
        if self._program is not None:
            self._program.end()
            self._program = None

    def forget(self) -> None:
        """Leave the program that is kept to the process that this one was forked from."""
        self._program = None
        self._marks.clear()

    def _spawned(self, ends: dict[int, int]) -> int:
        """Start the program with these descriptors at these numbers; return its process id."""
        if CODE not in ends:
            ends = {**ends, CODE: unnamed(self._path, self._code.encode("utf-8", "surrogatepass"))}
        argv = [self._name if word == "{name}" else word for word in self._start["argv"]]
        environment = {**os.environ, **dict(self._start["env"])}
        pid = os.fork()
        if pid:
            os.close(ends[CODE])
            return pid
        try:
            become_program(ends, argv, environment)
        finally:
            os._exit(127)

    def _once(self, order: bytes) -> Any:
        """Start the program, give it the arguments and take its stdout as the result."""
        taken = Taken(self._spawned, order, self._most)
        self._marks += taken.marks
        complaint = taken.err.decode("utf-8", "replace").strip()[-MOST_SAID:]
        if os.WIFSIGNALED(taken.status) and not taken.flooded:
            raise Failure(
                ["Signal", "RuntimeError"],
                f"it was ended by signal {os.WTERMSIG(taken.status)}. {complaint}".strip(),
            )
        status = os.waitstatus_to_exitcode(taken.status)
        if status == REFUSED:
            raise Failure(["ValueError", "Exception"], complaint or "its input was refused")
        if status > 0:
            raise Failure(
                ["ExitStatus", "RuntimeError", "Exception"], f"exit status {status}. {complaint}".strip()
            )
        if taken.flooded:
            return taken.out.decode(
                "utf-8", "replace"
            )  # longer than a result may be, which whoever reads it reports
        return read_result(taken.out)


class Taken:
    """One run of a program: what it wrote, and how it ended."""

    def __init__(self, spawn: Any, order: bytes, most: int) -> None:
        stdin, stdout, stderr, marks = os.pipe(), os.pipe(), os.pipe(), one_way()
        self.pid = spawn({0: stdin[0], 1: stdout[1], 2: stderr[1], MARKS: marks[1]})
        for fd in (stdin[0], stdout[1], stderr[1], marks[1]):
            os.close(fd)
        self.out, self.err, self.marks = bytearray(), bytearray(), bytearray()
        self.flooded = False
        self._into = {stdout[0]: self.out, stderr[0]: self.err, marks[0]: self.marks}
        self.status = self._carried(stdin[1], order, stdout[0], most)

    def _carried(self, stdin: int, order: bytes, out: int, most: int) -> int:
        """Feed it and read it until it has ended; return its wait status."""
        os.set_blocking(stdin, False)
        unwritten = memoryview(order)
        status: int | None = None
        while status is None or self._into:
            writers = [stdin] if stdin >= 0 else []
            ready, writable, _ = select.select([*self._into], writers, [], LOOK_SECONDS)
            if writable:
                unwritten = self._fed(stdin, unwritten)
                if not unwritten:
                    os.close(stdin)
                    stdin = -1
            for fd in ready:
                self._read(fd, fd == out, most)
            if status is None and (not self._into or not ready):
                pid, wait_status = os.waitpid(self.pid, 0 if not self._into else os.WNOHANG)
                status = wait_status if pid else None
            elif status is not None and not ready:  # something that it left holds its pipes
                break
            if self.flooded and status is None:
                os.kill(self.pid, signal.SIGKILL)
                status = os.waitpid(self.pid, 0)[1]
                break
        for fd in (*self._into, *([stdin] if stdin >= 0 else ())):
            os.close(fd)
        return status if status is not None else os.waitpid(self.pid, 0)[1]

    @staticmethod
    def _fed(stdin: int, unwritten: memoryview) -> memoryview:
        try:
            return unwritten[os.write(stdin, unwritten[:PIECE]) :]
        except BlockingIOError:
            return unwritten
        except OSError:  # it reads no more
            return memoryview(b"")

    def _read(self, fd: int, is_result: bool, most: int) -> None:
        piece = os.read(fd, PIECE)
        if not piece:
            os.close(fd)
            del self._into[fd]
        elif is_result:
            self.out += piece
            self.flooded = len(self.out) > most
        elif self._into[fd] is self.err:
            with suppress(OSError):
                os.write(2, piece)  # shown as it comes
            self.err = self._into[fd] = (self.err + piece)[-4 * MOST_SAID :]
        elif len(self.marks) < most:
            self.marks += piece


class KeptProgram:
    """A program that answers call after call, a line of JSON each."""

    def __init__(self, spawn: Any, most: int) -> None:
        stdin, answers, marks, code = os.pipe(), os.pipe(), one_way(), os.pipe()
        self.pid = spawn({0: stdin[0], MARKS: marks[1], ANSWERS: answers[1], CODE: code[0]})
        for fd in (stdin[0], answers[1], marks[1]):
            os.close(fd)
        self._to, self._from, self._marks_from, self._code = stdin[1], answers[0], marks[0], code[1]
        self._most = most
        self._waits = False
        self.ended = False

    def wait(self) -> None:
        """Wait until it is ready for its code, or has ended."""
        if not self._waits:
            self._waits = os.read(self._from, len(WAITING)) == WAITING

    def load(self, code: bytes) -> None:
        """Give it the path that its file would have, a line end, and its code; once. Raise Failure."""
        if self._code < 0:
            return
        self.wait()
        unwritten = memoryview(code)
        try:
            while self._waits and unwritten:
                unwritten = unwritten[os.write(self._code, unwritten) :]
        except BrokenPipeError:
            pass  # it ended, which `ask` tells
        os.close(self._code)
        self._code = -1

    def ask(self, order: bytes, marks: bytearray, most: int) -> Any:
        """Return the result of one call, of at most so many bytes. Raise Failure."""
        self._most = most
        answer = bytearray()
        unwritten = memoryview(order + b"\n")
        os.set_blocking(self._to, False)
        while not answer.endswith(b"\n"):
            writers = [self._to] if unwritten else []
            ready, writable, _ = select.select([self._from, self._marks_from], writers, [], LOOK_SECONDS)
            if writable:
                unwritten = Taken._fed(self._to, unwritten)
            if self._marks_from in ready and len(marks) < self._most:
                marks += os.read(self._marks_from, PIECE)
            if self._from in ready:
                piece = os.read(self._from, PIECE)
                answer += piece
                if not piece or len(answer) > self._most + PIECE:
                    break
            elif not ready and os.waitpid(self.pid, os.WNOHANG)[0]:
                self.ended = True
                raise Failure(["RuntimeError", "Exception"], "the program ended without an answer")
        while select.select([self._marks_from], [], [], 0)[0] and (piece := os.read(self._marks_from, PIECE)):
            marks += piece
        if len(answer) > self._most:
            self.ended = True
            return answer.decode("utf-8", "replace")
        if not answer.endswith(b"\n"):
            self.ended = True
            raise Failure(["RuntimeError", "Exception"], f"the program {how(os.waitpid(self.pid, 0)[1])}")
        reply = read_result(answer)
        if not isinstance(reply, dict) or ("result" in reply) == ("error" in reply):
            raise Failure(["RuntimeError", "Exception"], "the program answered what is no answer")
        if "result" in reply:
            return reply["result"]
        kinds = [str(kind)[:200] for kind in reply.get("kinds") or ["Error"]][:8]
        raise Failure(kinds, str(reply["error"])[:MOST_SAID], str(reply.get("trace") or "")[:MOST_SAID])

    def spent(self) -> float:
        """Return its processor time in seconds; 0 once it is gone."""
        try:
            return time.clock_gettime((~self.pid << 3) | 2)  # the kernel's clock id for a process
        except OSError:
            return 0.0

    def end(self) -> None:
        """Kill it."""
        with suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for fd in (self._to, self._from, self._marks_from, *([self._code] if self._code >= 0 else ())):
            os.close(fd)


def become_program(ends: dict[int, int], argv: list[str], environment: dict[str, str]) -> NoReturn:
    """Take these descriptors, close all others, become the program."""
    copies = {target: fcntl.fcntl(fd, fcntl.F_DUPFD, CLEAR) for target, fd in ends.items()}
    for target, fd in copies.items():
        os.dup2(fd, target)
    os.closerange(max(MARKS, *ends) + 1, 256)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execve(argv[0], argv, environment)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127)


def one_way() -> tuple[int, int]:
    """Return two descriptors: what is written to the second can be read from the first alone.

    A pipe would not do: whoever can write to it can open it again by /proc/self/fd and read what was written.
    """
    reader, writer = socket.socketpair()
    reader.shutdown(socket.SHUT_WR)
    return reader.detach(), writer.detach()


def surroundings() -> tuple[dict[str, str], str]:
    """Return what a program takes over when it is started."""
    return dict(os.environ), os.getcwd()


def unnamed(path: str, data: bytes) -> int:
    """Return a descriptor from which data can be read; the file that held it is gone from its path."""
    with suppress(OSError):
        os.unlink(path)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o400)
    os.unlink(path)
    unwritten = memoryview(data)
    while unwritten:
        unwritten = unwritten[os.write(file, unwritten) :]
    os.lseek(file, 0, os.SEEK_SET)
    return file


def read_result(text: bytes | bytearray) -> Any:
    """Return the value of a JSON text. Raise Failure."""
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        shown = text[:200].decode("utf-8", "replace").strip()
        problem = f"what it wrote is no JSON value: {error}" + (f" in {shown!r}" if shown else "")
        raise Failure(["TypeError", "Exception"], problem) from None


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def how(status: int) -> str:
    """Return how a program ended, in words."""
    code = os.waitstatus_to_exitcode(status)
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
