"""The console in a browser, attacked as a page of another site, another program and a person in a hurry could."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.app.served import Served

pytestmark = pytest.mark.pty
_SECONDS = 90


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path / "home")
    yield made
    made.end()


async def ticket(web: aiohttp.ClientSession, served: Served) -> str:
    """Return the address of the WebSocket that the page holds."""
    async with web.get(served.link) as answer:
        found = re.search(r'data-session-websocket-url="(ws://[^"]+)"', await answer.text())
        assert answer.status == 200 and found
        return found[1]


async def opened(web: aiohttp.ClientSession, address: str, **headers: str) -> int:
    """Return the status with which a WebSocket is answered; 101 if it is opened."""
    try:
        async with web.ws_connect(address, headers=headers):
            return 101
    except aiohttp.WSServerHandshakeError as error:
        return error.status


async def test_a_console_opens_only_for_the_page_with_the_token(served: Served) -> None:
    base = f"http://{served.host}"
    async with aiohttp.ClientSession() as web:
        for address in (
            base,
            base + "/?token=",
            base + "/?token=x",
            served.link + "x",
            f"{served.link}&token=x",
        ):
            async with web.get(address) as answer:
                assert answer.status == 403, address
        for headers in (
            {"Host": "evil.example"},
            {"Host": f"localhost:{urlsplit(base).port}"},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": f"https://{served.host}"},
        ):
            async with web.get(served.link, headers=headers) as answer:
                assert answer.status == 403, headers
        address = await ticket(web, served)
        assert await opened(web, address) == 403, "no page sends no Origin"
        assert await opened(web, address, Origin="http://evil.example") == 403
        assert await opened(web, f"ws://{served.host}/ws/x", Origin=base) == 403
        assert await opened(web, f"ws://{served.host}/ws", Origin=base) == 404
        assert served.consoles() == []
        assert await opened(web, address, Origin=base) == 101
        assert await opened(web, address, Origin=base) == 403, "a ticket opens one console"
        for path in ("/static/", "/static/../server.py", "/static/%2e%2e/server.py", "/download/x"):
            async with web.get(base + path) as answer:
                assert answer.status in (403, 404), path


async def test_the_page_loads_and_frames_nothing_from_elsewhere(served: Served) -> None:
    async with aiohttp.ClientSession() as web, web.get(served.link) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert f"connect-src ws://{served.host};" in policy
        assert (
            answer.headers["Referrer-Policy"] == "no-referrer" and answer.headers["X-Frame-Options"] == "DENY"
        )
        assert "Set-Cookie" not in answer.headers and answer.headers["Cache-Control"] == "no-store"
        assert set(re.findall(r"https?://([^/\"]+)", await answer.text())) <= {served.host}


async def test_at_most_four_consoles_run_and_none_outlives_its_page(served: Served) -> None:
    base = f"http://{served.host}"
    async with aiohttp.ClientSession() as web:
        sockets = [
            await web.ws_connect(await ticket(web, served), headers={"Origin": base}) for _ in range(4)
        ]
        assert await opened(web, await ticket(web, served), Origin=base) == 503
        assert (await sockets[0].receive(_SECONDS)).type is aiohttp.WSMsgType.BINARY
        for socket in sockets:
            await socket.close()
        end = time.monotonic() + _SECONDS
        while served.consoles():
            assert time.monotonic() < end, "a console outlives its page"
            await asyncio.sleep(0.1)


async def test_connections_that_ask_for_nothing_keep_nobody_out_and_do_not_stay(served: Served) -> None:
    """Any account of this machine can connect; beyond a limit it is refused, and after a while it is cut off."""
    address, port = urlsplit(served.link).hostname, urlsplit(served.link).port
    async with aiohttp.ClientSession() as web:
        console = await web.ws_connect(await ticket(web, served), headers={"Origin": f"http://{served.host}"})
        assert (await console.receive(_SECONDS)).type is aiohttp.WSMsgType.BINARY
        idle = [await asyncio.open_connection(address, port) for _ in range(300)]
        for number, (_, writer) in enumerate(idle):
            if number % 2:  # headers that never end
                writer.write(b"GET / HTTP/1.1\r\nHost: ")
        assert len(os.listdir(f"/proc/{served.process.pid}/fd")) < 150
        async with asyncio.timeout(_SECONDS):
            for reader, writer in idle:
                with contextlib.suppress(ConnectionError):
                    assert await reader.read() == b""
                writer.close()
        await ticket(web, served)
        await console.send_str('["ping", "7"]')
        async with asyncio.timeout(_SECONDS):
            while (message := await console.receive()).type is not aiohttp.WSMsgType.TEXT:
                assert message.type is aiohttp.WSMsgType.BINARY, "the console has ended"
        assert message.data == '["pong", "7"]'


@pytest.mark.parametrize(
    "message", ["", "[]", "{}", '["stdin"]', '["resize", {"width": "x"}]', "[" * 100_000, '["open", "x"]']
)
async def test_a_message_that_no_page_sends_ends_the_console(served: Served, message: str) -> None:
    async with aiohttp.ClientSession() as web:
        socket = await web.ws_connect(await ticket(web, served), headers={"Origin": f"http://{served.host}"})
        await socket.send_str('["resize", {"width": 100000, "height": -3}]')
        await socket.send_str(message)
        async with asyncio.timeout(_SECONDS):
            async for _ in socket:
                pass
        assert socket.closed


def test_a_port_in_use_is_reported(tmp_path: Path, served: Served) -> None:
    port = str(urlsplit(served.link).port)
    told = subprocess.run(
        [sys.executable, "-m", "alita_tui", "--home", str(tmp_path), "serve", "--web", "--port", port],
        capture_output=True,
        text=True,
    )
    assert told.returncode == 2 and f"Port {port}" in told.stderr and "--port" in told.stderr
