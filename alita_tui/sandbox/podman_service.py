"""Podman's REST service: started and ended with alita, and the requests to it.

podman-py does images, versions and listing. It drops security options, cannot attach and cannot pass on a hijacked
connection, so containers are created, attached to and started here.
API: https://docs.podman.io/en/latest/_static/api.html
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from alita_tui.sandbox.host import Host
from alita_tui.sandbox.host_folders import check_socket_path
from alita_tui.sandbox.owner import me
from alita_tui.sandbox.podman_http import Exchange, RestError, ServiceLost, unbroken
from alita_tui.spine.errors import SandboxUnavailable

_IDLE_SECONDS = 60
"""The service ends by itself after this long without a connection, should its supervisor be killed."""
_START_CHECKS = 500
_PING_SECONDS = 5.0
_PIECE = 1 << 20
_REPEATABLE = ("GET", "HEAD", "DELETE")
RETRY_SECONDS = (0.1, 0.5)
"""Pauses in seconds before a request is repeated: a killed service may accept connections a moment longer."""
_unattended: list[subprocess.Popen[bytes]] = []
"""Supervisors that still clean up; alita does not wait for them."""


class PodmanService:
    """A running Podman service and the requests to it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._starting = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        token = secrets.token_hex(4)
        self._name = f"alita-{os.getpid()}-{token}.sock"
        self.owner = f"{me()}.{token}"
        """Label of everything that is made through this service."""

    @property
    def socket(self) -> Path:
        """Return the path of the service's socket."""
        configured = self._host.settings.socket
        return Path(configured) if configured else self._host.runtime / self._name

    @property
    def url(self) -> str:
        """Return the address for podman-py."""
        return f"http+unix://{self.socket}"

    # --- requests -------------------------------------------------------------------------

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; return the parsed answer or None. Raise RestError, SandboxUnavailable.

        If the service is lost, a request that may be repeated is sent again, to its successor.
        """
        for pause in RETRY_SECONDS if method in _REPEATABLE else ():
            try:
                return await self._request(method, path, body)
            except ServiceLost:
                await asyncio.sleep(pause)
        return await self._request(method, path, body)

    async def _request(self, method: str, path: str, body: Any) -> Any:
        content = json.dumps(body).encode() if body is not None else b""
        exchange = await self._connect()
        try:
            with unbroken():
                await exchange.begin(method, path, size=len(content))
                await exchange.send(content)
                answer = await _answer(exchange)
                return json.loads(answer) if answer.strip() else None
        finally:
            await exchange.close()

    async def upload(self, path: str, archive: IO[bytes], size: int) -> None:
        """Send a tar archive of `size` bytes. Raise RestError, SandboxUnavailable."""
        exchange = await self._connect()
        try:
            with unbroken():
                await exchange.begin("PUT", path, size=size, kind="x-tar")
                while piece := await asyncio.to_thread(archive.read, _PIECE):
                    await exchange.send(piece)
                await _answer(exchange)
        finally:
            await exchange.close()

    async def attach(self, container: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return the container's standard streams as one hijacked connection. Raise RestError, SandboxUnavailable."""
        query = "stream=true&stdin=true&stdout=true&stderr=true&logs=false"
        exchange = await self._connect()
        try:
            with unbroken():
                await exchange.begin("POST", f"/containers/{container}/attach?{query}", upgrade=True)
                status = await exchange.status()
                if status not in (101, 200):
                    raise RestError(status, await exchange.body())
        except BaseException:
            await exchange.close()
            raise
        return exchange.reader, exchange.writer

    async def _connect(self) -> Exchange:
        with suppress(OSError):
            return await Exchange.open(self.socket)
        await self.ensure()
        with unbroken():
            return await Exchange.open(self.socket)

    async def answers(self) -> bool:
        """Return whether the service answers; a tunnel to it may be up earlier."""
        try:
            exchange = await Exchange.open(self.socket)
        except OSError:
            return False
        try:
            with unbroken():
                async with asyncio.timeout(_PING_SECONDS):
                    await exchange.begin("GET", "/_ping")
                    return await exchange.status() == 200
        except ServiceLost:
            return False
        finally:
            await exchange.close()

    # --- the process ----------------------------------------------------------------------

    async def ensure(self) -> None:
        """Start the service unless it answers. Raise SandboxUnavailable."""
        async with self._starting:
            check_socket_path(self.socket)
            external = bool(self._host.settings.socket)
            if await self.answers():
                if external and (self._supervisor is None or self._supervisor.poll() is not None):
                    await self._start()  # a supervisor alone: what we make there has to go with us too
                return
            if external:
                raise SandboxUnavailable(
                    f"No Podman service answers at {self.socket}.",
                    hint="Start it, or unset sandbox.socket so that alita starts its own.",
                )
            await self._end_supervisor()
            self.socket.unlink(missing_ok=True)
            self._host.prepare()
            output = await self._serve()
            if output is not None and (
                await self._host.recovered(" ".join(output)) or self._supervisor_ended
            ):
                await self._end_supervisor()
                output = await self._serve()
            if output is not None:
                raise SandboxUnavailable(
                    f"{self._host.title} does not start: {' '.join(output)[-400:] or 'no answer'}",
                    hint=self._host.hint,
                )

    async def _serve(self) -> list[str] | None:
        """Start the service and wait until it answers; return None then, else its output."""
        output = await self._start(*await self._host.serving(self.socket, _IDLE_SECONDS))
        for _ in range(_START_CHECKS):
            if await self.answers():
                return None
            if self._reading is None or self._reading.done():
                break
            await asyncio.sleep(0.02)
        return output

    @property
    def _supervisor_ended(self) -> bool:
        """Return whether supervisor and service have ended, as after a kill of either."""
        return not self._host.elsewhere and (self._reading is None or self._reading.done())

    def _supervise(self, command: tuple[str, ...]) -> subprocess.Popen[bytes]:
        """Return a supervisor, started without asyncio, which would kill it when the event loop ends."""
        program = str(Path(__file__).with_name("podman_supervisor.py"))
        return subprocess.Popen(
            [sys.executable, "-I", "-S", program, str(self.socket), self.owner, *command],
            cwd="/", env=self._host.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    async def _start(self, *command: str) -> list[str]:
        """Start a supervisor and under it the service; return the list that collects their output."""
        self._supervisor = supervisor = self._supervise(command)
        output: list[str] = []
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        pipe, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), supervisor.stdout
        )
        self._reading = asyncio.create_task(_collect(reader, pipe, supervisor, output))
        return output

    async def close(self, *, clean: bool = True) -> None:
        """End the service if it is ours. Unless all containers are gone (`clean`), the supervisor removes them."""
        supervisor = self._supervisor
        if supervisor is not None and supervisor.stdin is not None:
            if clean:
                with suppress(OSError):
                    supervisor.stdin.write(b".")
                    supervisor.stdin.flush()
            else:
                self._supervisor = None
                supervisor.stdin.close()
                _unattended.append(supervisor)
                if self._reading is not None:
                    self._reading.cancel()
                    await asyncio.wait((self._reading,))
                    self._reading = None
        await self._end_supervisor()

    async def _end_supervisor(self) -> None:
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None and supervisor.stdin is not None:
            with suppress(OSError):
                supervisor.stdin.close()
        if self._reading is not None:
            await self._reading
            self._reading = None


async def _answer(exchange: Exchange) -> bytes:
    """Return the body of a success. Raise RestError."""
    status = await exchange.status()
    body = await exchange.body()
    if status >= 400:
        raise RestError(status, body)
    return body


async def _collect(
    reader: asyncio.StreamReader,
    pipe: asyncio.BaseTransport,
    supervisor: subprocess.Popen[bytes],
    output: list[str],
) -> None:
    """Collect the last lines of output until the supervisor has ended."""
    try:
        async for line in reader:
            output.append(line.decode("utf-8", "replace").strip())
            del output[:-20]
        await asyncio.to_thread(supervisor.wait)
    finally:
        pipe.close()
