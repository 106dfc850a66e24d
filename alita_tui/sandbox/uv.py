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


class InstallLimitExceeded(Exception):
    """uv exceeded an installation limit, and was killed."""


async def uv(
    *arguments: str, seconds: float, stdin: str = "", measure: Callable[[int], str] | None = None
) -> tuple[int, str, str]:
    """Return exit code, standard output, and standard error on one line. Raise TimeoutError after `seconds`.

    `measure` is called every 0.2 s in a thread with uv's process id. When it returns which limit uv has exceeded,
    InstallLimitExceeded is raised with that. uv has always ended when this returns or raises.
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
    command = running(
        *bound(), find_uv_bin(), *arguments, kill_group=True, env=environ, stdin=pipe, stderr=pipe
    )
    async with command as process, asyncio.timeout(seconds):
        communicating = asyncio.ensure_future(process.communicate(stdin.encode()))
        try:
            while measure and not (await asyncio.wait((communicating,), timeout=_LOOK_SECONDS))[0]:
                if excess := await asyncio.to_thread(measure, process.pid):
                    raise InstallLimitExceeded(excess)
            stdout, stderr = await communicating
        finally:
            communicating.cancel()
    complaints = " ".join(stderr.decode("utf-8", "replace").split())
    return process.returncode or 0, stdout.decode("utf-8", "replace"), complaints
