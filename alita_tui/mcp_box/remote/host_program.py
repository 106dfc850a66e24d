"""A server that runs on this machine without a sandbox, as a process with all rights of the person."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress

from alita_tui.spine.errors import UsageError

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "SHELL", "XDG_RUNTIME_DIR")
_TAIL = 16_000
_PIECE = 1 << 16


class HostProgram:
    """Implements `RunningProgram`; grants have no effect here."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.stderr_tail = bytearray()
        self._listening = asyncio.create_task(self._listen())

    @property
    def ended(self) -> str:
        """Why it ended, in one line; empty while it runs or its stderr is still being read."""
        code = self._process.returncode
        complete = code is not None and self._listening.done()
        return f"it ended with exit code {code}" if complete else ""

    async def read(self) -> bytes:
        """Return the next bytes of its stdout; empty at the end."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(_PIECE)

    async def write(self, data: bytes) -> None:
        """Write to its stdin. Raises ConnectionError if it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        await self._process.stdin.drain()

    def begin(self, call_id: str) -> None:
        """Do nothing."""

    async def finish(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """End it and the processes that it started."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(2.0):
                    await self._process.wait()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        with suppress(TimeoutError):  # a pipe closes once it is read to its end
            async with asyncio.timeout(1.0):
                while await self.read():
                    pass
        self._listening.cancel()
        await asyncio.wait((self._listening,))

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_PIECE):
            self.stderr_tail = (self.stderr_tail + chunk)[-_TAIL:]


async def start_on_host(argv: tuple[str, ...], env: Mapping[str, str], folder: str = "/") -> HostProgram:
    """Return a server started with the person's rights and a few of their environment variables. Raises UsageError.

    `folder` is the one in which the server was added; files where alita was started may be somebody else's.
    """
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=folder,
            env={**environment, **env},
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"{argv[0]} cannot be started: {error.strerror or error}.") from error
    return HostProgram(process)
