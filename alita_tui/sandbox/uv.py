"""uv, run on the host with the machine's own proxies, certificates and package indexes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from alita_tui.sandbox.processes import bound, running

_SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_LOOK_SECONDS = 0.2


class TooMuch(Exception):
    """uv wrote more than it may, and was killed."""


async def uv(
    *arguments: str, seconds: float, stdin: str = "", measure: Callable[[int], str] | None = None
) -> tuple[int, str, str]:
    """Return exit code, output, and the complaints on one line. Raise TimeoutError after so many seconds.

    `measure` is called every 0.2 s in a thread with uv's process id. When it returns what uv has too much of, TooMuch
    is raised with it. However this ends, uv has ended too.
    """
    from uv import find_uv_bin

    environ = {
        **os.environ,
        "UV_NO_PROGRESS": "1",
        "NO_COLOR": "1",
        "PYC_INVALIDATION_MODE": "UNCHECKED_HASH",
        "UV_PYTHON": sys.executable,
    }
    environ.setdefault("UV_HTTP_RETRIES", "2")
    # As pip does: a company's own certificate authority is among them.
    if await asyncio.to_thread(_SYSTEM_CERTIFICATES.exists):
        environ.setdefault("UV_SYSTEM_CERTS", "true")
    for uv_name, pip in (("UV_DEFAULT_INDEX", "PIP_INDEX_URL"), ("UV_INDEX", "PIP_EXTRA_INDEX_URL")):
        if pip in os.environ:
            environ.setdefault(uv_name, os.environ[pip])
    pipe = asyncio.subprocess.PIPE
    command = running(*bound(), find_uv_bin(), *arguments, whole=True, env=environ, stdin=pipe, stderr=pipe)
    async with command as process, asyncio.timeout(seconds):
        ended = asyncio.ensure_future(process.communicate(stdin.encode()))
        try:
            while measure and not (await asyncio.wait((ended,), timeout=_LOOK_SECONDS))[0]:
                if excess := await asyncio.to_thread(measure, process.pid):
                    raise TooMuch(excess)
            out, err = await ended
        finally:
            ended.cancel()
    complaints = " ".join(err.decode("utf-8", "replace").split())
    return process.returncode or 0, out.decode("utf-8", "replace"), complaints
