"""Commands that alita starts on the host: each ends when alita does, and none outlives its use."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any


def bound() -> tuple[str, ...]:
    """Return the prefix of a command that the kernel kills with its parent (prctl(2), PR_SET_PDEATHSIG)."""
    return ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


@asynccontextmanager
async def running(
    *argv: str, kill_group: bool = False, **options: Any
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Yield a command started with pipes and no terminal; kill it if it still runs at the end. Raise OSError.

    With `kill_group` all processes of its group are killed, too.
    """
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    settings = {"cwd": "/", "stdin": null, "stdout": pipe, "stderr": asyncio.subprocess.STDOUT, **options}
    process = await asyncio.create_subprocess_exec(*argv, start_new_session=True, **settings)
    try:
        yield process
    finally:
        if kill_group:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
