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
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
_REPEATABLE = ("GET", "HEAD", "DELETE")
AGAIN_AFTER = (0.1, 0.5)
"""Seconds until something is asked again: a service that was killed may take connections a moment longer."""
_left_to_itself: list[subprocess.Popen[bytes]] = []
"""Guards that clear up by themselves: nobody waits for them."""


class RestError(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"HTTP {status}: {text}")
        self.status = status


class ServiceLost(SandboxUnavailable):
    """The service went away before it had answered, so nobody knows what it did."""


class EngineLost(SandboxUnavailable):
    """The engine went away while a tool ran: it must not be run again by itself."""


class Service:
    """A running Podman service and requests to it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._process: subprocess.Popen[bytes] | None = None
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
                if theirs and (self._process is None or self._process.poll() is not None):
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
            if said is not None and (await self._host.recovered(" ".join(said)) or self._ended):
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

    @property
    def _ended(self) -> bool:
        """True when guard and service are gone again: somebody may have killed one of them."""
        return not self._host.elsewhere and (self._drain is None or self._drain.done())

    def _guard(self, command: tuple[str, ...]) -> subprocess.Popen[bytes]:
        """Start one; not as asyncio does, whose end with the loop would kill it."""
        guard = str(Path(__file__).with_name("guard.py"))
        return subprocess.Popen(
            [sys.executable, "-I", "-S", guard, str(self.socket), self.owner, *command],
            cwd="/", env=self._host.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    async def _start(self, *command: str) -> list[str]:
        """A guard, and under it the service; what they say."""
        self._process = process = self._guard(command)
        said: list[str] = []
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), process.stdout
        )
        self._drain = asyncio.create_task(_collect(reader, transport, process, said))
        return said

    async def close(self, *, clean: bool = True) -> None:
        """End the service if it is ours. Containers must be gone, or else, not `clean`, the guard clears up."""
        process = self._process
        if process is not None and process.stdin is not None:
            if clean:
                with suppress(OSError):
                    process.stdin.write(b".")
                    process.stdin.flush()
            else:
                self._process = None
                process.stdin.close()
                _left_to_itself.append(process)
                if self._drain is not None:
                    self._drain.cancel()
                    await asyncio.wait((self._drain,))
                    self._drain = None
        await self._let_go()

    async def _let_go(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        if self._drain is not None:
            await self._drain
            self._drain = None

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        """One request; the parsed answer or None. Raises RestError, SandboxUnavailable.

        Where the service went away, what does the same a second time is asked again, of its successor.
        """
        for wait in AGAIN_AFTER if method in _REPEATABLE else ():
            try:
                return await self._request(method, path, body)
            except ServiceLost:
                await asyncio.sleep(wait)
        return await self._request(method, path, body)

    async def _request(self, method: str, path: str, body: Any) -> Any:
        reader, writer = await self._connect()
        try:
            data = json.dumps(body).encode() if body is not None else b""
            head = (
                f"{method} {_API}{path} HTTP/1.1\r\nHost: podman\r\nConnection: close\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
            )
            with _unbroken():
                writer.write(head.encode() + data)
                await writer.drain()
                status, headers = await _head(reader)
                raw = await _body(reader, headers) if method != "HEAD" else b""
        finally:
            await _hang_up(writer)
        if status >= 400:
            raise RestError(status, _reason(raw))
        with _unbroken():
            return json.loads(raw) if raw.strip() else None

    async def upload(self, path: str, archive: IO[bytes], size: int) -> None:
        """Put a tar archive of `size` bytes somewhere. Raises RestError, SandboxUnavailable."""
        reader, writer = await self._connect()
        try:
            head = (
                f"PUT {_API}{path} HTTP/1.1\r\nHost: podman\r\nConnection: close\r\n"
                f"Content-Type: application/x-tar\r\nContent-Length: {size}\r\n\r\n"
            )
            with _unbroken():
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
            with _unbroken():
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
        with _unbroken():
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


@contextmanager
def _unbroken() -> Iterator[None]:
    """Raises ServiceLost where the line breaks, or what came over it was cut off."""
    try:
        yield
    except (OSError, EOFError, asyncio.LimitOverrunError, ValueError, IndexError) as error:
        raise ServiceLost(f"Podman's service broke off: {error}.") from error


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


async def _collect(
    reader: asyncio.StreamReader, pipe: asyncio.BaseTransport, guard: subprocess.Popen[bytes], said: list[str]
) -> None:
    """Read what the guard says until it has ended."""
    try:
        async for raw in reader:
            said.append(raw.decode("utf-8", "replace").strip())
            del said[:-20]
        await asyncio.to_thread(guard.wait)
    finally:
        pipe.close()


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    raw = await reader.readuntil(b"\r\n\r\n")
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
