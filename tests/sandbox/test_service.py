"""The line to Podman's service: whatever becomes of a request, its socket is closed when it returns."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from alita_tui.sandbox.host import Host
from alita_tui.sandbox.podman_http import RestError, ServiceLost
from alita_tui.sandbox.podman_service import PodmanService
from alita_tui.sandbox.settings import EngineSettings

BUSY = b"HTTP/1.1 500 Internal\r\nContent-Length: 17\r\n\r\n" + b'{"message":"bad"}'
CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"
REQUESTS: dict[str, Callable[[PodmanService], Awaitable[object]]] = {
    "request": lambda service: service.request("GET", "/info"),
    "upload": lambda service: service.upload("/load", io.BytesIO(bytes(4 << 20)), 4 << 20),
    "attach": lambda service: service.attach("abc"),
}


class Played:
    """A service on a socket of its own that gives one answer to all, or none."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "podman.sock"
        self.answer = b""
        self.asked = asyncio.Event()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked.set()
        if self.answer:
            writer.write(self.answer)
        else:
            while await reader.read(65_536):
                pass
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


@pytest.fixture
async def played(tmp_path: Path) -> AsyncIterator[Played]:
    one = Played(tmp_path)
    async with await asyncio.start_unix_server(one.talk, one.path):
        yield one


def service(played: Played, tmp_path: Path) -> PodmanService:
    settings = EngineSettings(cache_dir=str(tmp_path / "cache"))
    return PodmanService(Host(msgspec.structs.replace(settings, socket=str(played.path))))


def sockets() -> set[str]:
    """The sockets of this process, by their inode."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    return {one for one in found if one.startswith("socket:")}


@pytest.mark.parametrize("kind", REQUESTS)
async def test_a_cancelled_request_leaves_no_socket(played: Played, tmp_path: Path, kind: str) -> None:
    line = service(played, tmp_path)
    before = sockets()
    asking = asyncio.ensure_future(REQUESTS[kind](line))
    await played.asked.wait()
    theirs = sockets() - before  # both ends are in this process
    asking.cancel()
    await asyncio.wait((asking,))
    assert asking.cancelled()
    assert len(theirs & sockets()) <= 1, "the server's end alone may still be there"


@pytest.mark.parametrize("answer", [BUSY, CUT])
@pytest.mark.parametrize("kind", REQUESTS)
async def test_a_request_that_fails_leaves_no_socket(
    played: Played, tmp_path: Path, kind: str, answer: bytes
) -> None:
    line = service(played, tmp_path)
    played.answer = answer
    before = sockets()
    with pytest.raises((RestError, ServiceLost, EOFError)) as caught:
        stream = await REQUESTS[kind](line)
        if kind == "attach" and answer == CUT:  # attached: what follows is the container's
            stream[1].close()  # type: ignore[index]
            await stream[1].wait_closed()  # type: ignore[index]
            raise EOFError
    assert not isinstance(caught.value, RestError) or caught.value.status == 500
    assert len(sockets() - before) <= 1, "the server's end alone may still be there"
