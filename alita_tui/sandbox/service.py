"""Podman's REST service: started for us, ended with us, and a small client on its socket.

podman-py asks for what it can do right (images, versions, listing). It drops security options,
cannot attach and cannot hand a hijacked connection over, so creating, attaching and starting
is done here. API: https://docs.podman.io/en/latest/_static/api.html
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from alita_tui.sandbox.host import Host, check_socket_path
from alita_tui.spine.errors import SandboxUnavailable

_API = "/v4.0.0/libpod"
_IDLE_SECONDS = 60
"""The service ends by itself after this long without a connection: should its guard be killed."""
_START_LOOKS = 500
_PING_SECONDS = 5.0
_PIECE = 1 << 20


class RestError(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"HTTP {status}: {text}")
        self.status = status


class Service:
    """A running Podman service and requests to it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()
        self._drain: asyncio.Task[None] | None = None
        token = secrets.token_hex(4)
        self._name = f"alita-{os.getpid()}-{token}.sock"
        self.owner = f"{me()}.{token}"
        """Label of all that is made through this service."""

    @property
    def socket(self) -> Path:
        """Path of the service's socket."""
        given = self._host.settings.socket
        return Path(given) if given else self._host.runtime / self._name

    @property
    def url(self) -> str:
        """The address for podman-py."""
        return f"http+unix://{self.socket}"

    async def ensure(self) -> None:
        """Start the service unless it answers. Raises SandboxUnavailable."""
        async with self._starting:
            check_socket_path(self.socket)
            theirs = bool(self._host.settings.socket)
            if await self.answers():
                if theirs and self._process is None:
                    await self._start()  # a guard alone: what we make has to go with us there too
                return
            if theirs:
                raise SandboxUnavailable(
                    f"No Podman service answers at {self.socket}.",
                    hint="Start it, or unset sandbox.socket so that alita starts its own.",
                )
            await self._let_go()
            self.socket.unlink(missing_ok=True)
            self._host.prepare()
            said = await self._serve()
            if said is not None and await self._host.recovered(" ".join(said)):
                await self._let_go()
                said = await self._serve()
            if said is not None:
                raise SandboxUnavailable(
                    f"{self._host.what} does not start: {' '.join(said)[-400:] or 'no answer'}",
                    hint=self._host.hint,
                )

    async def _serve(self) -> list[str] | None:
        """Start the service and wait until it answers: None, or what it said where it does not."""
        said = await self._start(*await self._host.serving(self.socket, _IDLE_SECONDS))
        for _ in range(_START_LOOKS):
            if await self.answers():
                return None
            if self._drain is None or self._drain.done():
                break
            await asyncio.sleep(0.02)
        return said

    async def _start(self, *command: str) -> list[str]:
        """A guard, and under it the service; what they say."""
        guard = str(Path(__file__).with_name("guard.py"))
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", guard, str(self.socket), self.owner, *command,
            cwd="/", env=self._host.environ, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        said: list[str] = []
        self._drain = asyncio.create_task(_collect(self._process, said))
        return said

    async def close(self) -> None:
        """End the service if it is ours; containers must be gone."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(ConnectionError):
                self._process.stdin.write(b".")
                await self._process.stdin.drain()
        await self._let_go()

    async def _let_go(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            await process.wait()
        if self._drain is not None:
            await self._drain
            self._drain = None

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        """One request; the parsed answer or None. Raises RestError, SandboxUnavailable."""
        reader, writer = await self._connect()
        try:
            data = json.dumps(body).encode() if body is not None else b""
            head = (
                f"{method} {_API}{path} HTTP/1.1\r\nHost: podman\r\nConnection: close\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
            )
            writer.write(head.encode() + data)
            await writer.drain()
            status, headers = await _head(reader)
            raw = await _body(reader, headers) if method != "HEAD" else b""
        finally:
            await _hang_up(writer)
        if status >= 400:
            raise RestError(status, _reason(raw))
        return json.loads(raw) if raw.strip() else None

    async def upload(self, path: str, archive: IO[bytes], size: int) -> None:
        """Put a tar archive of `size` bytes somewhere. Raises RestError, SandboxUnavailable."""
        reader, writer = await self._connect()
        try:
            head = (
                f"PUT {_API}{path} HTTP/1.1\r\nHost: podman\r\nConnection: close\r\n"
                f"Content-Type: application/x-tar\r\nContent-Length: {size}\r\n\r\n"
            )
            writer.write(head.encode())
            while piece := await asyncio.to_thread(archive.read, _PIECE):
                writer.write(piece)
                await writer.drain()
            status, headers = await _head(reader)
            raw = await _body(reader, headers)
        finally:
            await _hang_up(writer)
        if status >= 400:
            raise RestError(status, _reason(raw))

    async def attach(self, container: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The container's standard streams as one hijacked connection. Raises RestError."""
        reader, writer = await self._connect()
        query = "stream=true&stdin=true&stdout=true&stderr=true&logs=false"
        try:
            writer.write(
                f"POST {_API}/containers/{container}/attach?{query} HTTP/1.1\r\nHost: podman\r\n"
                "Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n".encode()
            )
            await writer.drain()
            status, headers = await _head(reader)
            if status not in (101, 200):
                raise RestError(status, _reason(await _body(reader, headers)))
        except BaseException:
            await _hang_up(writer)
            raise
        return reader, writer

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_unix_connection(str(self.socket), limit=1 << 20)
        except OSError:
            await self.ensure()
        return await asyncio.open_unix_connection(str(self.socket), limit=1 << 20)

    async def answers(self) -> bool:
        """Whether the service is there; a tunnel to it may be up before it is."""
        try:
            reader, writer = await asyncio.open_unix_connection(str(self.socket))
        except OSError:
            return False
        try:
            writer.write(f"GET {_API}/_ping HTTP/1.0\r\nHost: podman\r\n\r\n".encode())
            async with asyncio.timeout(_PING_SECONDS):
                return (await reader.readline()).split()[1:2] == [b"200"]
        except (OSError, ValueError, TimeoutError):
            return False
        finally:
            await _hang_up(writer)


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    """Let a connection go, whatever is left to write, and wait until its socket is closed."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


def machine() -> str:
    """This machine, so that another's containers on a shared engine are told from ours."""
    try:
        name = Path("/etc/machine-id").read_text().strip()
    except OSError:
        name = ""
    return sha256((name or os.uname().nodename).encode()).hexdigest()[:12]


def me() -> str:
    """This process, so that another can tell whether it still lives: pid and start time."""
    return f"{os.getpid()}.{_started(os.getpid())}"


def alive(owner: str) -> bool:
    """True when the process that made this label lives."""
    pid, started, *_ = (*owner.split("."), "", "")
    return pid.isdigit() and bool(started) and _started(int(pid)) == started


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


async def _collect(process: asyncio.subprocess.Process, said: list[str]) -> None:
    assert process.stdout is not None
    async for raw in process.stdout:
        said.append(raw.decode("utf-8", "replace").strip())
        del said[:-20]
    await process.wait()


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
        raise SandboxUnavailable(f"Podman's service broke off: {error}.") from error
    first, *lines = raw.decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    return int(first.split()[1]), headers


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", ""):
        data = b""
        while size := int((await reader.readline()).strip() or b"0", 16):
            data += await reader.readexactly(size)
            await reader.readline()
        return data
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    return await reader.read()


def _reason(raw: bytes) -> str:
    try:
        parsed = json.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")[:400]
    return (
        str(parsed.get("message") or parsed.get("cause") or parsed)[:400] if isinstance(parsed, dict) else ""
    )
