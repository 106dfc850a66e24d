"""Runs a filter on some bytes in a process of its own, and returns its output up to a limit.

A filter is a module with a `main` that reads stdin, calls `confine`, parses, and writes to stdout.
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
"""Of processor time; three times as much on the clock."""
MEMORY = 1 << 30
_MOST_SAID = 1 << 28
_START = (
    "import sys; from importlib import import_module; sys.path.insert(0, sys.argv.pop(1)); "
    "import_module(sys.argv.pop(1)).main()"
)
_PACKAGE = str(Path(__file__).parents[2])


async def filtered(module: str, arguments: Sequence[str], body: bytes) -> tuple[bytes, bool]:
    """Return what a filter wrote, and whether it came to its end.

    Its first arguments are the seconds of processor time and the bytes of memory that it may take.
    """
    return await Started(module, arguments).filtered(body)


class Started:
    """A filter whose process was started before its input is known: it imports what it needs, and waits."""

    def __init__(self, module: str, arguments: Sequence[str]) -> None:
        self._process: subprocess.Popen[bytes] | None = _started(module, arguments)

    @property
    def waits(self) -> bool:
        """Whether it can still be given its input, once."""
        return self._process is not None

    async def filtered(self, body: bytes) -> tuple[bytes, bool]:
        """Give the filter its input; return as `filtered` does."""
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
    """As `filtered`, for a caller in a thread. Blocks."""
    return _read(_started(module, arguments), body)


def stream(module: str, arguments: Sequence[str], file: BinaryIO, memory: int) -> subprocess.Popen[bytes]:
    """Start a filter on an open file, and return its process; the caller reads its stdout while it works.

    It has a process group of its own, so that Ctrl+C ends what reads from it first.
    """
    return _started(module, arguments, file, memory, group=0)


def _started(
    module: str,
    arguments: Sequence[str],
    given: int | BinaryIO = subprocess.PIPE,
    memory: int = MEMORY,
    group: int | None = None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # asyncio's is left running where a loop's end cancels twice
        (sys.executable, "-I", "-c", _START, _PACKAGE, module, str(SECONDS), str(memory), *arguments),
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"LC_ALL": "C.UTF-8"},  # no key of the person reaches a parser
        process_group=group,
    )


def _read(process: subprocess.Popen[bytes], body: bytes) -> tuple[bytes, bool]:
    """Feed a filter and read its output until it ends, writes too much or takes too long."""
    late = Timer(3 * SECONDS, process.kill)
    late.start()
    feeding = Thread(target=_feed, args=(process, body))
    feeding.start()
    output = bytearray()
    try:
        with suppress(OSError, ValueError):  # closed by a caller that no longer needs the answer
            assert process.stdout
            while len(output) < _MOST_SAID and (chunk := process.stdout.read(1 << 16)):
                output += chunk
            if len(output) < _MOST_SAID:
                process.wait()
    finally:
        late.cancel()
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
        with suppress(OSError):  # what it did not read any more
            pipe.close()
