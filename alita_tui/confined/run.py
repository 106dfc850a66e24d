"""Runs a filter on some bytes in a process of its own, and keeps what it said before it met a limit.

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
    process = _started(module, arguments)
    try:
        return await asyncio.to_thread(_read, process, body)
    except asyncio.CancelledError:
        _end(process)
        raise


def filtered_now(module: str, arguments: Sequence[str], body: bytes) -> tuple[bytes, bool]:
    """As `filtered`, for a caller in a thread. Blocks."""
    return _read(_started(module, arguments), body)


def _started(module: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # asyncio's is left running where a loop's end cancels twice
        (sys.executable, "-I", "-c", _START, _PACKAGE, module, str(SECONDS), str(MEMORY), *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"LC_ALL": "C.UTF-8"},  # no key of the person reaches a parser
    )


def _read(process: subprocess.Popen[bytes], body: bytes) -> tuple[bytes, bool]:
    """Feed a filter while it is read, until it ends, says too much or takes too long."""
    late = Timer(3 * SECONDS, process.kill)
    late.start()
    feeding = Thread(target=_feed, args=(process, body))
    feeding.start()
    said = bytearray()
    try:
        with suppress(OSError, ValueError):  # closed by whoever no longer wants the answer
            assert process.stdout
            while len(said) < _MOST_SAID and (chunk := process.stdout.read(1 << 16)):
                said += chunk
            if len(said) < _MOST_SAID:
                process.wait()
    finally:
        late.cancel()
        process.kill()
        feeding.join()
        _end(process)
    return bytes(said), process.returncode == 0


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
