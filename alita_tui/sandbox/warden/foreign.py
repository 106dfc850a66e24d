"""A tool in another language than Python: a program, and the process in Python that starts it and represents it.

Both have the tool's user id and the same confinement. The program writes to pipes: its result and, where coverage is
measured, marks of the places that it passes. It has no descriptor of the warden or the judge.
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
POLL_SECONDS = 0.05
REFUSED = 65
"""The exit status (EX_DATAERR) by which a program refuses its input; stderr says why."""
MOST_STDERR = 4000
"""Characters of stderr in an error."""
WAITING = b"."
"""A persistent program writes this to its answers once it waits for its code."""
FIRST_FREE = 8
"""The first descriptor above the numbers that the program gets."""
MARKS, ANSWERS, CODE = 3, 4, 5
"""Descriptors of the program: marks of places that it passes, answers of a persistent program, and its code. The code
has no name in the file system, so the program can close it before any of the code runs."""


class Failure(Exception):
    """The program raised an exception, refused its input or ended; described as an exception of its language."""

    def __init__(self, kinds: list[str], text: str, trace: str = "") -> None:
        super().__init__(text)
        self.kinds = kinds
        self.text = text
        self.trace = trace or f"{kinds[0]}: {text}"


class Foreign:
    """Represents the tool's module: `run` starts the program, or sends the call to the persistent one."""

    def __init__(
        self,
        start: dict[str, Any],
        name: str,
        path: str,
        code: str,
        most_bytes: int,
        names: Sequence[str] = (),
    ) -> None:
        """`most_bytes` is the limit of a result; `names` are the names of positional arguments."""
        LIBC.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: the program, of the same user, does not read this memory
        self._names = names
        self._start = start
        self._name = name
        self._path = path
        self._code = code
        self._most_bytes = most_bytes
        self._program: PersistentProgram | None = None
        self._start_surroundings: object = None
        self._marks = bytearray()

    def ahead(self) -> Foreign:
        """Start a persistent program before its name and code are known; return this object."""
        self._program = PersistentProgram(self._spawn, self._most_bytes)
        self._start_surroundings = surroundings()
        self._program.wait()
        return self

    def take(self, name: str, path: str, code: str, most_bytes: int) -> Foreign:
        """Set name and code once they are known, and return this object.

        End a program whose environment or folder has changed.
        """
        self._name, self._path, self._code, self._most_bytes = name, path, code, most_bytes
        if self._program is not None and self._start_surroundings != surroundings():
            self.end()
        return self

    def run(self, *positional: Any, **keywords: Any) -> Any:
        """Return the result. Raise Failure."""
        if len(positional) > len(self._names):
            raise Failure(
                ["TypeError", "Exception"],
                f"run() takes {len(self._names)} arguments but {len(positional)} were given",
            )
        arguments = {**dict(zip(self._names, positional, strict=False)), **keywords}
        order = json.dumps(arguments).encode("utf-8", "surrogatepass")
        if not self._start["persistent"]:
            return self._once(order)
        current = surroundings()
        if self._program is not None and current != self._start_surroundings:
            self.end()
        if self._program is None:
            self._start_surroundings = current
            self._program = PersistentProgram(self._spawn, self._most_bytes)
        try:
            self._program.load(f"{self._path}\n{self._code}".encode("utf-8", "surrogatepass"))
            return self._program.ask(order, self._marks, self._most_bytes)
        except Failure:
            if self._program.ended:
                self.end()
            raise

    def passed(self) -> list[int]:
        """Return the places that were passed so far; only marks with the code's own sign count."""
        sign = self._code.partition("__alita_")[2][:16]
        lines = self._marks.decode("ascii", "replace").split("\n")
        numbers = [line[17:] for line in lines if sign and line.startswith(sign + " ")]
        return sorted({int(number) for number in numbers if number.isdecimal() and len(number) < 8})

    def spent(self) -> float:
        """Return the processor time in seconds of all programs that were started here."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime + (self._program.spent() if self._program is not None else 0.0)

    def end(self) -> None:
        """End the persistent program."""
        if self._program is not None:
            self._program.end()
            self._program = None

    def forget(self) -> None:
        """Leave the persistent program to the process from which this one was forked."""
        self._program = None
        self._marks.clear()

    def _spawn(self, ends: dict[int, int]) -> int:
        """Start the program with these descriptors at these numbers; return its process id."""
        if CODE not in ends:
            ends = {**ends, CODE: unnamed_file(self._path, self._code.encode("utf-8", "surrogatepass"))}
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
        """Start the program, write the arguments to it and return its stdout as the result."""
        program_run = ProgramRun(self._spawn, order, self._most_bytes)
        self._marks += program_run.marks
        stderr = program_run.err.decode("utf-8", "replace").strip()[-MOST_STDERR:]
        if os.WIFSIGNALED(program_run.status) and not program_run.flooded:
            raise Failure(
                ["Signal", "RuntimeError"],
                f"it was ended by signal {os.WTERMSIG(program_run.status)}. {stderr}".strip(),
            )
        status = os.waitstatus_to_exitcode(program_run.status)
        if status == REFUSED:
            raise Failure(["ValueError", "Exception"], stderr or "its input was refused")
        if status > 0:
            raise Failure(
                ["ExitStatus", "RuntimeError", "Exception"], f"exit status {status}. {stderr}".strip()
            )
        if program_run.flooded:
            return program_run.out.decode(
                "utf-8", "replace"
            )  # longer than a result may be, which whoever reads it reports
        return read_result(program_run.out)


class ProgramRun:
    """One run of a program: its output, and how it ended."""

    def __init__(self, spawn: Any, order: bytes, most_bytes: int) -> None:
        stdin, stdout, stderr, marks = os.pipe(), os.pipe(), os.pipe(), one_way()
        self.pid = spawn({0: stdin[0], 1: stdout[1], 2: stderr[1], MARKS: marks[1]})
        for fd in (stdin[0], stdout[1], stderr[1], marks[1]):
            os.close(fd)
        self.out, self.err, self.marks = bytearray(), bytearray(), bytearray()
        self.flooded = False
        self._buffers = {stdout[0]: self.out, stderr[0]: self.err, marks[0]: self.marks}
        self.status = self._communicate(stdin[1], order, stdout[0], most_bytes)

    def _communicate(self, stdin: int, order: bytes, stdout: int, most_bytes: int) -> int:
        """Write its input and read its output until it has ended; return its wait status."""
        os.set_blocking(stdin, False)
        unwritten = memoryview(order)
        status: int | None = None
        while status is None or self._buffers:
            writers = [stdin] if stdin >= 0 else []
            ready, writable, _ = select.select([*self._buffers], writers, [], POLL_SECONDS)
            if writable:
                unwritten = self._feed(stdin, unwritten)
                if not unwritten:
                    os.close(stdin)
                    stdin = -1
            for fd in ready:
                self._read(fd, fd == stdout, most_bytes)
            if status is None and (not self._buffers or not ready):
                pid, wait_status = os.waitpid(self.pid, 0 if not self._buffers else os.WNOHANG)
                status = wait_status if pid else None
            elif status is not None and not ready:  # something that it left holds its pipes
                break
            if self.flooded and status is None:
                os.kill(self.pid, signal.SIGKILL)
                status = os.waitpid(self.pid, 0)[1]
                break
        for fd in (*self._buffers, *([stdin] if stdin >= 0 else ())):
            os.close(fd)
        return status if status is not None else os.waitpid(self.pid, 0)[1]

    @staticmethod
    def _feed(stdin: int, unwritten: memoryview) -> memoryview:
        try:
            return unwritten[os.write(stdin, unwritten[:PIECE]) :]
        except BlockingIOError:
            return unwritten
        except OSError:  # it reads no more
            return memoryview(b"")

    def _read(self, fd: int, is_result: bool, most_bytes: int) -> None:
        piece = os.read(fd, PIECE)
        if not piece:
            os.close(fd)
            del self._buffers[fd]
        elif is_result:
            self.out += piece
            self.flooded = len(self.out) > most_bytes
        elif self._buffers[fd] is self.err:
            with suppress(OSError):
                os.write(2, piece)  # shown as it comes
            self.err = self._buffers[fd] = (self.err + piece)[-4 * MOST_STDERR :]
        elif len(self.marks) < most_bytes:
            self.marks += piece


class PersistentProgram:
    """A program that answers one call after another, each with a line of JSON."""

    def __init__(self, spawn: Any, most_bytes: int) -> None:
        stdin, answers, marks, code = os.pipe(), os.pipe(), one_way(), os.pipe()
        self.pid = spawn({0: stdin[0], MARKS: marks[1], ANSWERS: answers[1], CODE: code[0]})
        for fd in (stdin[0], answers[1], marks[1]):
            os.close(fd)
        self._input_fd, self._answers_fd, self._marks_fd, self._code = stdin[1], answers[0], marks[0], code[1]
        self._most_bytes = most_bytes
        self._waits = False
        self.ended = False

    def wait(self) -> None:
        """Wait until it is ready for its code, or has ended."""
        if not self._waits:
            self._waits = os.read(self._answers_fd, len(WAITING)) == WAITING

    def load(self, code: bytes) -> None:
        """Send the path that its file would have, a line end, and its code; only once. Raise Failure."""
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

    def ask(self, call: bytes, marks: bytearray, most_bytes: int) -> Any:
        """Return the result of one call, of at most `most_bytes`. Raise Failure."""
        self._most_bytes = most_bytes
        answer = bytearray()
        unwritten = memoryview(call + b"\n")
        os.set_blocking(self._input_fd, False)
        while not answer.endswith(b"\n"):
            writers = [self._input_fd] if unwritten else []
            ready, writable, _ = select.select([self._answers_fd, self._marks_fd], writers, [], POLL_SECONDS)
            if writable:
                unwritten = ProgramRun._feed(self._input_fd, unwritten)
            if self._marks_fd in ready and len(marks) < self._most_bytes:
                marks += os.read(self._marks_fd, PIECE)
            if self._answers_fd in ready:
                piece = os.read(self._answers_fd, PIECE)
                answer += piece
                if not piece or len(answer) > self._most_bytes + PIECE:
                    break
            elif not ready and os.waitpid(self.pid, os.WNOHANG)[0]:
                self.ended = True
                raise Failure(["RuntimeError", "Exception"], "the program ended without an answer")
        while select.select([self._marks_fd], [], [], 0)[0] and (piece := os.read(self._marks_fd, PIECE)):
            marks += piece
        if len(answer) > self._most_bytes:
            self.ended = True
            return answer.decode("utf-8", "replace")
        if not answer.endswith(b"\n"):
            self.ended = True
            raise Failure(
                ["RuntimeError", "Exception"], f"the program {how_ended(os.waitpid(self.pid, 0)[1])}"
            )
        reply = read_result(answer)
        if not isinstance(reply, dict) or ("result" in reply) == ("error" in reply):
            raise Failure(["RuntimeError", "Exception"], "the program answered what is no answer")
        if "result" in reply:
            return reply["result"]
        kinds = [str(kind)[:200] for kind in reply.get("kinds") or ["Error"]][:8]
        raise Failure(kinds, str(reply["error"])[:MOST_STDERR], str(reply.get("trace") or "")[:MOST_STDERR])

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
        for fd in (
            self._input_fd,
            self._answers_fd,
            self._marks_fd,
            *([self._code] if self._code >= 0 else ()),
        ):
            os.close(fd)


def become_program(ends: dict[int, int], argv: list[str], environment: dict[str, str]) -> NoReturn:
    """Take these descriptors, close all others, become the program."""
    copies = {target: fcntl.fcntl(fd, fcntl.F_DUPFD, FIRST_FREE) for target, fd in ends.items()}
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
    """Return two descriptors: what is written to the second can only be read from the first.

    A pipe would not do: whoever can write to it can open it again by /proc/self/fd and read what was written.
    """
    reader, writer = socket.socketpair()
    reader.shutdown(socket.SHUT_WR)
    return reader.detach(), writer.detach()


def surroundings() -> tuple[dict[str, str], str]:
    """Return what a program inherits when it is started: environment variables and folder."""
    return dict(os.environ), os.getcwd()


def unnamed_file(path: str, data: bytes) -> int:
    """Return a descriptor from which the data can be read; its file has been removed from the path."""
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
        return json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        shown = text[:200].decode("utf-8", "replace").strip()
        problem = f"what it wrote is no JSON value: {error}" + (f" in {shown!r}" if shown else "")
        raise Failure(["TypeError", "Exception"], problem) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def how_ended(status: int) -> str:
    """Return how a program ended, in words."""
    code = os.waitstatus_to_exitcode(status)
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
