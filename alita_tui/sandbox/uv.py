"""uv, run on the host with the settings of the person's machine: proxies, certificates, indexes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from alita_tui.sandbox.host import bound

_SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


_LOOK_SECONDS = 0.2


class TooMuch(Exception):
    """uv wrote more than it may, and was ended."""


async def uv(
    *arguments: str, seconds: float, stdin: str = "", measure: Callable[[int], str] | None = None
) -> tuple[int, str, str]:
    """Exit code, output, and what it complained of in one line. Raises TimeoutError after so many seconds.

    `measure` is asked every 0.2 s, in a thread and with uv's process id, what it has too much of; where it
    answers anything but an empty string, TooMuch is raised with that. However this ends, uv has ended too.
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
    # As pip does: a company's own authority is among them.
    if await asyncio.to_thread(_SYSTEM_CERTIFICATES.exists):
        environ.setdefault("UV_SYSTEM_CERTS", "true")
    for ours, pips in (("UV_DEFAULT_INDEX", "PIP_INDEX_URL"), ("UV_INDEX", "PIP_EXTRA_INDEX_URL")):
        if pips in os.environ:
            environ.setdefault(ours, os.environ[pips])
    process = await asyncio.create_subprocess_exec(
        *bound(), find_uv_bin(), *arguments, env=environ, cwd="/", stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            ended = asyncio.ensure_future(process.communicate(stdin.encode()))
            try:
                while measure and not (await asyncio.wait((ended,), timeout=_LOOK_SECONDS))[0]:
                    if found := await asyncio.to_thread(measure, process.pid):
                        raise TooMuch(found)
                out, err = await ended
            finally:
                ended.cancel()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = " ".join(err.decode("utf-8", "replace").split())
    return process.returncode or 0, out.decode("utf-8", "replace"), said
