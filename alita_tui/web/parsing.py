"""Runs `web.extraction` on one page in a process of its own, and keeps what it read before it met a limit."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

_SECONDS = 10
"""Of processor time; three times as much on the clock."""
_MEMORY = 1 << 30
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from alita_tui.web.extraction import main; main()"
_PACKAGE = str(Path(__file__).parents[2])

Kind = Literal["article", "soup", "pdf", "results"]


async def parsed(
    kind: Kind, body: bytes, charset: str = "", url: str = "", *, room: int = 1_000_000
) -> tuple[list[dict[str, Any]], bool]:
    """Return what the filter said, line by line, and whether it came to its end; `room` is in characters."""
    limits = (str(_SECONDS), str(_MEMORY), str(room), charset, url)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-c", _START, _PACKAGE, kind, *limits),
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
        async with asyncio.timeout(3 * _SECONDS):
            while chunk := await process.stdout.read(1 << 16):
                said += chunk
            await process.wait()
    except TimeoutError:
        pass
    finally:
        feeding.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    whole = bytes(said).split(b"\n")[:-1]
    return [json.loads(line) for line in whole], process.returncode == 0


async def _feed(pipe: asyncio.StreamWriter, body: bytes) -> None:
    with suppress(OSError):  # it ended before it had read everything
        pipe.write(body)
        await pipe.drain()
        pipe.close()
