"""Serving tools over MCP: what it adds to a run, a long list, the start against a bare server, many clients.

Run alone: python -m tests.benchmarks.bench_mcp
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.support import mcp_lab as lab

Row = dict[str, float | str | None]
CALLS, LISTS, STARTS, CLIENTS, EACH = 120, 9, 7, 8, 50
AT_ONCE = """
import sys
from alita_tui.events import RunReport
from alita_tui.sandbox.fleet import Fleet
async def run(self, job, on_output, progress):
    return RunReport(status="ok", result={"sum": job.arguments["a"] + job.arguments["b"]})
async def nothing(self, *_):
    return None
Fleet.run, Fleet.prepare, Fleet.warm_up = run, nothing, nothing
from alita_tui.__main__ import main
sys.exit(main())
"""
"""alita with a sandbox that answers at once: what is left is everything around it."""
NUMBERS = lab.schema("a", "b", a=lab.NUMBER, b=lab.NUMBER)
BARE = """
import asyncio, json, sys
from functools import cache
import mcp_types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
NUMBERS = json.loads(sys.argv[1])
NAMES = ["add_numbers", *(f"tool_{n:03}" for n in range(499))]
@cache
def listed():
    same = dict(description="Adds. " + "x" * 140, input_schema=NUMBERS, output_schema=NUMBERS)
    return t.ListToolsResult(tools=[t.Tool(name=name, **same) for name in NAMES])
async def tools(ctx, params):
    return listed()
async def call(ctx, params):
    found = {"a": params.arguments["a"] + 1, "b": 1}
    return t.CallToolResult(content=[t.TextContent(type="text", text=str(found))], structured_content=found)
server = Server("bare", version="1", on_list_tools=tools, on_call_tool=call)
async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
asyncio.run(main())
"""
"""A server of the SDK and nothing else: what it takes is the SDK's and the client's."""
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}  # fmt: skip


def serving(*words: str) -> list[str]:
    return [sys.executable, "-c", AT_ONCE, "mcp", "serve", *words]


@asynccontextmanager
async def connected(home: Path, command: list[str]) -> AsyncIterator[Client]:
    program, *words = command
    server = StdioServerParameters(command=program, args=words, env=lab.environ(home))
    async with Client(stdio_client(server), mode="legacy") as one:
        gc.collect()
        gc.freeze()  # else each answer has this process look through all that it imported
        yield one


async def calls(home: Path, command: list[str]) -> float:
    """Milliseconds of a call whose run takes no time."""
    spent = []
    async with connected(home, command) as one:
        for number in range(CALLS):
            started = time.perf_counter()
            found = await one.call_tool("add_numbers", {"a": number, "b": 1})
            spent.append((time.perf_counter() - started) * 1000)
            assert found.structured_content and number + 1 in found.structured_content.values(), found
    return statistics.median(spent[CALLS // 4 :])


async def lists(home: Path, command: list[str]) -> float:
    """Milliseconds of a list of 500 tools until the SDK's client has parsed it, without the first, which reads the
    library.
    """
    spent = []
    async with connected(home, command) as one:
        for _ in range(LISTS + 2):
            started = time.perf_counter()
            found = await one.list_tools(cache_mode="refresh")
            spent.append((time.perf_counter() - started) * 1000)
            assert len(found.tools) == 500
    return statistics.median(spent[2:])


def lists_on_the_wire(home: Path, command: list[str]) -> float:
    """Milliseconds from the request for a list of 500 tools to its last byte, without the first."""
    program, *words = command
    environ, pipe = lab.environ(home), subprocess.PIPE
    with subprocess.Popen(
        [program, *words], env=environ, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None and server.stdout is not None

        def sent(message: dict[str, Any]) -> None:
            server.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]
            server.stdin.flush()  # type: ignore[union-attr]

        sent(HELLO)
        server.stdout.readline()
        sent({"jsonrpc": "2.0", "method": "notifications/initialized"})
        spent = []
        for number in range(LISTS + 2):
            started = time.perf_counter()
            sent({"jsonrpc": "2.0", "id": 10 + number, "method": "tools/list"})
            while b'"tools"' not in (reply := server.stdout.readline()):
                assert reply, "the server ended"
            spent.append((time.perf_counter() - started) * 1000)
            assert len(json.loads(reply)["result"]["tools"]) == 500
        server.kill()
    return statistics.median(spent[2:])


def first_reply(command: list[str], home: Path) -> float:
    """Milliseconds from the start of a server to its first reply."""
    started = time.perf_counter()
    server = subprocess.Popen(
        command, env=lab.environ(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(HELLO).encode() + b"\n")
    server.stdin.flush()
    assert b"protocolVersion" in server.stdout.readline()
    spent = (time.perf_counter() - started) * 1000
    server.kill()
    server.communicate()
    return spent


async def crowd(home: Path) -> tuple[float, int]:
    """Seconds of 8 clients with 50 calls each over HTTP, and how many answers were wrong or missing."""
    process = await asyncio.create_subprocess_exec(
        *serving("--http", "127.0.0.1:0"), env=lab.environ(home), stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    url = (await process.stderr.readline()).decode().split()[1]

    async def one(number: int) -> int:
        right = 0
        async with lab.http_client(home, url, lab.ERAS[number % 2], f"client {number % 3}") as client:
            for n in range(EACH):
                found: Any = await client.call_tool("add_numbers", {"a": number * 1000, "b": n})
                right += found.structured_content == {"sum": number * 1000 + n}
        return right

    started = time.perf_counter()
    right = sum(await asyncio.gather(*map(one, range(CLIENTS))))
    seconds = time.perf_counter() - started
    process.terminate()
    await process.wait()
    runs = sum(
        type(event).__name__ == "ToolReturned"
        for path in lab.sessions(home)
        for event in lab.recorded(home, path)
    )
    return seconds, 2 * CLIENTS * EACH - right - runs


def mcp(results: dict[str, Row], row: Callable[..., Row]) -> None:
    """Add the rows of MCP."""
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        home = lab.furnished(Path(folder) / "one", lab.ADD)
        bare = [sys.executable, "-c", BARE, json.dumps(NUMBERS)]
        results["mcp.call_overhead_ms"] = row(
            asyncio.run(calls(home, serving())), "ms", asyncio.run(calls(home, bare))
        )
        ours, theirs = [], []
        for _ in range(STARTS):
            ours.append(first_reply(lab.command("serve"), home))
            theirs.append(first_reply(bare, home))
        results["mcp.start_vs_bare"] = row(statistics.median(ours), "ms", statistics.median(theirs))
        shared = lab.furnished(Path(folder) / "crowd", lab.ADD)
        seconds, lost = asyncio.run(crowd(shared))
        results["mcp.8_clients_50_calls_s"] = row(seconds, "s")
        results["mcp.8_clients_lost"] = row(lost, "")
        body = "def run(a: float, b: float) -> dict[str, float]:\n    return {'sum': a + b}\n"
        gives = lab.schema("sum", sum=lab.NUMBER)
        many = [lab.tool(f"tool_{n:03}", body, NUMBERS, gives, f"Adds two numbers, {n}. " + "x" * 120) for n in range(500)]  # fmt: skip
        listed = f"{lab.SERVED}listed = 500\n"
        large = lab.furnished(Path(folder) / "many", *many, settings=listed)
        results["mcp.list_500_tools_on_the_wire_ms"] = row(
            lists_on_the_wire(large, serving()), "ms", lists_on_the_wire(large, bare)
        )
        results["mcp.list_500_tools_ms"] = row(
            asyncio.run(lists(large, serving())), "ms", asyncio.run(lists(large, bare))
        )


if __name__ == "__main__":
    from tests.benchmarks.__main__ import row as make_row

    found: dict[str, Row] = {}
    mcp(found, make_row)
    print(json.dumps(found, indent=2))
