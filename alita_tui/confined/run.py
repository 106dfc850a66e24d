"""Runs a filter on some bytes in a process of its own, and keeps what it said before it met a limit.

A filter is a module with a `main` that reads stdin, calls `confine`, parses, and writes to stdout.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

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
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-c", _START, _PACKAGE, module, str(SECONDS), str(MEMORY), *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"LC_ALL": "C.UTF-8"},  # no key of the person reaches a parser
    )
    assert process.stdin
    assert process.stdout
    said = bytearray()
    feeding = asyncio.create_task(_feed(process.stdin, body))
    try:
        async with asyncio.timeout(3 * SECONDS):
            while len(said) < _MOST_SAID and (chunk := await process.stdout.read(1 << 16)):
                said += chunk
            if len(said) < _MOST_SAID:
                await process.wait()
    except TimeoutError:
        pass
    finally:
        feeding.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    return bytes(said), process.returncode == 0


async def _feed(pipe: asyncio.StreamWriter, body: bytes) -> None:
    with suppress(OSError):  # it ended before it had read everything
        pipe.write(body)
        await pipe.drain()
        pipe.close()
