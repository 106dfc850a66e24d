"""Runs filters: each in its own process, with an input of bytes and a limited output.

A filter is a module whose `main` reads stdin, calls `confine`, parses, and writes to stdout.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread, Timer
from typing import BinaryIO

SECONDS = 10
"""Processor time of a filter; it has three times as much wall time."""
MEMORY = 1 << 30
_LONGEST_OUTPUT = 1 << 28
_START = (
    "import sys; from importlib import import_module; sys.path.insert(0, sys.argv.pop(1)); "
    "import_module(sys.argv.pop(1)).main()"
)
_PACKAGE = str(Path(__file__).parents[2])


async def filtered(module: str, arguments: Sequence[str], body: bytes) -> tuple[bytes, bool]:
    """Return a filter's output, and True if it finished without error.

    The filter's first arguments are its limits: seconds of processor time and bytes of memory.
    """
    return await Started(module, arguments).filtered(body)


class Started:
    """A filter whose process is started before its input is known, so that it can import its modules meanwhile."""

    def __init__(self, module: str, arguments: Sequence[str]) -> None:
        self._process: subprocess.Popen[bytes] | None = _start_process(module, arguments)

    @property
    def waits(self) -> bool:
        """True until it has been given its input."""
        return self._process is not None

    async def filtered(self, body: bytes) -> tuple[bytes, bool]:
        """Give the filter its input, once; return as `filtered` does."""
        process, self._process = self._process, None
        assert process
        try:
            return await asyncio.to_thread(_read, process, body)
        except asyncio.CancelledError:
            _end(process)
            raise

    def end(self) -> None:
        """End the process if it still waits."""
        if self._process is not None:
            _end(self._process)
            self._process = None


def filtered_now(module: str, arguments: Sequence[str], body: bytes) -> tuple[bytes, bool]:
    """Run a filter as `filtered` does, but blocking, for callers in a thread."""
    return _read(_start_process(module, arguments), body)


def stream(module: str, arguments: Sequence[str], file: BinaryIO, memory: int) -> subprocess.Popen[bytes]:
    """Start a filter on an open file and return its process; the caller reads its stdout while it works.

    The filter has its own process group, so that Ctrl+C ends the reader first.
    """
    return _start_process(module, arguments, file, memory, group=0)


def _start_process(
    module: str,
    arguments: Sequence[str],
    stdin: int | BinaryIO = subprocess.PIPE,
    memory: int = MEMORY,
    group: int | None = None,
) -> subprocess.Popen[bytes]:
    # Not asyncio's subprocess, which is left running if the end of its loop cancels it twice.
    return subprocess.Popen(
        (sys.executable, "-I", "-c", _START, _PACKAGE, module, str(SECONDS), str(memory), *arguments),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"LC_ALL": "C.UTF-8"},  # no key of the person reaches a parser
        process_group=group,
    )


def _read(process: subprocess.Popen[bytes], body: bytes) -> tuple[bytes, bool]:
    """Feed a filter and read its output until it ends, writes too much or takes too long."""
    timer = Timer(3 * SECONDS, process.kill)
    timer.start()
    feeding = Thread(target=_feed, args=(process, body))
    feeding.start()
    output = bytearray()
    try:
        with suppress(OSError, ValueError):  # closed by a caller that no longer needs the answer
            assert process.stdout
            while len(output) < _LONGEST_OUTPUT and (chunk := process.stdout.read(1 << 16)):
                output += chunk
            if len(output) < _LONGEST_OUTPUT:
                process.wait()
    finally:
        timer.cancel()
        process.kill()
        feeding.join()
        _end(process)
    return bytes(output), process.returncode == 0


def _feed(process: subprocess.Popen[bytes], body: bytes) -> None:
    with suppress(OSError, ValueError):  # it ended before it had read everything
        assert process.stdin
        process.stdin.write(body)
        process.stdin.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe
        with suppress(OSError):  # closing flushes input that the process did not read
            pipe.close()
