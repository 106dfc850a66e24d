"""One home and four processes at once: a console on a terminal, a server over pipes, one over HTTP, and a shell."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client

from alita_tui import events as e
from alita_tui.app.context import AppContext
from tests.e2e.test_plain import DEMO, review_and_approve, verdicts
from tests.e2e.test_terminal import Terminal
from tests.support import mcp_lab as lab

pytestmark = [pytest.mark.podman, pytest.mark.pty, pytest.mark.walk]
CALLS = 6


class Peer:
    """A client of one of the servers, which notes that a change was announced."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.announced = asyncio.Event()

    async def names(self) -> set[str]:
        """Return the names of the tools that the server lists now."""
        return {tool.name for tool in (await self._client.list_tools(cache_mode="refresh")).tools}

    async def until_listed(self, names: set[str]) -> None:
        """Wait for announcements until the server lists exactly these tools; never ask without one."""
        async with asyncio.timeout(240):
            while True:
                await self.announced.wait()
                self.announced.clear()
                if await self.names() == names:
                    return

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self._client.call_tool(tool, arguments)


@asynccontextmanager
async def over_pipes(shell: Any) -> AsyncIterator[Peer]:
    """A client with a handshake, which is notified without asking."""
    peers: list[Peer] = []

    async def on(message: Any) -> None:
        if type(getattr(message, "root", message)).__name__ == "ToolListChangedNotification":
            peers[0].announced.set()

    given = {name: value for name, value in shell.environ.items() if name.startswith("ALITA_")}
    async with lab.client(shell.home, "legacy", name="piped", on=on, **given) as client:
        peers.append(Peer(client))
        await peers[0].names()  # from this list on it is told of changes
        yield peers[0]


@asynccontextmanager
async def over_http(shell: Any) -> AsyncIterator[Peer]:
    """A client of revision 2026-07-28, which listens on a stream of its own."""
    given = {name: value for name, value in shell.environ.items() if name.startswith("ALITA_")}
    async with (
        lab.http_server(shell.home, **given) as url,
        lab.http_client(shell.home, url, "2026-07-28", name="webbed") as client,
    ):
        peer, listens = Peer(client), asyncio.Event()

        async def listen() -> None:
            async with client.listen(tools_list_changed=True) as events:
                listens.set()
                async for _ in events:
                    peer.announced.set()

        listening = asyncio.create_task(listen())
        await listens.wait()
        await peer.names()
        try:
            yield peer
        finally:
            listening.cancel()
            await asyncio.wait((listening,))


def build(console: Terminal) -> str:
    """Have a tool built in the console until it waits for its verdict; return its name."""
    console.type(DEMO, until=rb"(\w+) v1 waits for your decision")
    waiting = re.search(rb"(\w+) v1 waits for your decision", console.said)
    assert waiting
    console.wait(rb"/review looks at it")
    return waiting[1].decode()


async def sums(peer: Peer, base: int) -> list[float]:
    """Call a tool several times at once; return the results in the order of the calls."""
    answers = await asyncio.gather(*(peer.call("add_numbers", a=base, b=n) for n in range(CALLS)))
    assert [answer.is_error for answer in answers] == [False] * CALLS, answers
    return [answer.structured_content["sum"] for answer in answers]


def calls_by_client(shell: Any) -> dict[str, Counter[tuple[str, str]]]:
    """Return of each session's title the tools called and how each call ended."""
    ended: dict[str, Counter[tuple[str, str]]] = {}
    for path in lab.sessions(shell.home):
        events = lab.recorded(shell.home, path)
        names = {event.call_id: str(event.name) for event in events if isinstance(event, e.ToolCalled)}
        ends = [event for event in events if isinstance(event, e.ToolReturned | e.ToolFailed)]
        assert sorted(names) == sorted(event.call_id for event in ends), "each call has one end"
        assert isinstance(events[-1], e.SessionClosed)
        ended[events[0].title] = Counter((names[end.call_id], type(end).__name__) for end in ends)
    return ended


async def test_servers_a_console_and_a_shell_lose_nothing_of_one_another(shell: Any) -> None:
    lab.furnished(shell.home, lab.ADD, lab.WORDS)
    shell.environ |= {"ALITA_MODEL": "demo:recorded"}
    console = Terminal(shell.environ, "--plain")
    try:
        await asyncio.to_thread(console.wait, rb"Type a task")
        async with over_pipes(shell) as piped, over_http(shell) as webbed:
            assert await piped.names() >= {"add_numbers", "split_words"}
            own = await piped.names() - {"add_numbers", "split_words"}

            # While the console builds a tool, both clients call another one.
            name, *results = await asyncio.gather(
                asyncio.to_thread(build, console), sums(piped, 10), sums(webbed, 20)
            )
            assert results == [[base + n for n in range(CALLS)] for base in (10, 20)]
            assert not piped.announced.is_set() and not webbed.announced.is_set(), "it is not approved yet"

            # The console approves; meanwhile a shell withdraws, and the calls go on.
            await asyncio.gather(
                asyncio.to_thread(review_and_approve, console), sums(piped, 30), sums(webbed, 40)
            )
            both = {"add_numbers", "split_words", name} | own
            await asyncio.gather(piped.until_listed(both), webbed.until_listed(both))
            withdrawn, *_ = await asyncio.gather(
                asyncio.to_thread(shell, "tools", "quarantine", "split_words"),
                sums(piped, 50),
                sums(webbed, 60),
            )
            assert withdrawn.returncode == 0, withdrawn.stderr
            left = both - {"split_words"}
            await asyncio.gather(piped.until_listed(left), webbed.until_listed(left))
            for peer in (piped, webbed):
                refused = await peer.call("split_words", text="a b")
                assert refused.is_error and "quarantined" in refused.content[0].text
                checked = await peer.call(name, addresses=["ada@example.org"])
                assert not checked.is_error, checked

        console.type(b"/quit\r", until=rb"To come back")
        assert await asyncio.to_thread(console.end) == 0
    finally:
        console.process.kill()

    ended = calls_by_client(shell)
    for client in ("piped", "webbed"):
        assert ended.pop(f"{client} over MCP") == {("add_numbers", "ToolReturned"): 3 * CALLS, (name, "ToolReturned"): 1}  # fmt: skip
    (in_console,) = ended.values()
    (verdict,) = verdicts(shell)
    assert verdict["decision"] == "approved"

    app = AppContext.open(shell.home)
    try:
        newest = {tool: app.library.versions(tool)[-1] for tool in ("add_numbers", "split_words", name)}
    finally:
        app.close()
    assert newest["split_words"].state == "quarantined", "what the shell withdrew stays withdrawn"
    assert newest["add_numbers"].runs == 6 * CALLS, "each run of both servers is counted"
    assert newest[name].runs == 2 + in_console[name, "ToolReturned"]
    log = shell("audit", "list").stdout
    assert all(tool in log for tool in newest) and "quarantined" in log
    assert shell("audit", "verify").returncode == 0
    assert shell("sessions", "verify").returncode == 0
