"""A home with approved tools, and clients of the real SDK at the other end of a real process."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client import stdio
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.tool_runs import approve_anew
from alita_tui.events import Capabilities, Json, Lock, ToolDraft

stdio.PROCESS_TERMINATION_TIMEOUT = 60.0
"""Seconds after which the SDK's client kills a server that was told to end; a busy machine takes its time."""
ERAS = ("legacy", "2026-07-28")
"""How the SDK's client is told which protocol to speak: the handshake of 2025, or none."""


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}  # fmt: skip


NUMBER, TEXT = {"type": "number"}, {"type": "string"}
FILE = {"type": "string", "format": "file", "description": "The table."}
PNG = "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"


def tool(
    name: str, body: str, takes: dict[str, Any], gives: Json = None, about: str = "", **more: Any
) -> ToolDraft:
    return ToolDraft(
        name=e.ToolName(name), description=about or f"Does {name}.", code=f'"""{name}."""\n{body}',
        tests=f"from {name} import run\n", input_schema=takes, output_schema=gives or {}, **more,
    )  # fmt: skip


ADD = tool(
    "add_numbers", "def run(a: float, b: float) -> dict[str, float]:\n    return {'sum': a + b}\n",
    schema("a", "b", a=NUMBER, b=NUMBER), schema("sum", sum=NUMBER), "Adds two numbers.",
)  # fmt: skip
WORDS = tool(
    "split_words", "def run(text: str) -> list[str]:\n    return text.split()\n", schema("text", text=TEXT),
    {"type": "array", "items": TEXT}, "Splits a text into its words.",
)  # fmt: skip
BOOM = tool(
    "always_fails",
    "def run(why: str) -> str:\n    raise RuntimeError('\\x1b[31m' + why)\n",
    schema("why", why=TEXT),
)
LIES = tool(
    "says_otherwise",
    "def run() -> dict[str, str]:\n    return {'sum': 'seven'}\n",
    schema(),
    schema("sum", sum=NUMBER),
)
CHART = tool(
    "draw_chart",
    f"from pathlib import Path\ndef run() -> str:\n    Path('chart.png').write_bytes(bytes.fromhex('{PNG}'))\n"
    "    Path('table.csv').write_text('a,b\\n1,2\\n' + 'ghp_' + 'a1' * 18)\n    return '\\x1b]0;title\\x07drawn'\n",
    schema(),
    TEXT,
)
FIRST_LINE = tool(
    "first_line",
    "def run(table: str) -> str:\n    return open(table).readline().strip()\n",
    schema("table", table=FILE),
    TEXT,
)
SLOW = tool(
    "take_time",
    "import time\ndef run(seconds: float) -> str:\n    end = time.time() + seconds\n    while time.time() < end:\n"
    "        print('still at it', flush=True)\n        time.sleep(0.2)\n    return 'done'\n",
    schema("seconds", seconds=NUMBER),
    TEXT,
)
FETCH = tool(
    "fetch_page", "def run() -> str:\n    return ''\n", schema(), TEXT, "Fetches a page.",
    capabilities=Capabilities(network=("GET,HEAD example.org:443",)),
)  # fmt: skip
POST = tool(
    "send_note", "def run() -> str:\n    return ''\n", schema(), TEXT, "Sends a note.",
    capabilities=Capabilities(network=("example.org:443",), workspace="write"),
)  # fmt: skip
ALL = (ADD, WORDS, BOOM, LIES, CHART, FIRST_LINE, SLOW, FETCH, POST)
SERVED = '[mcp]\nserve = ["provisional", "trusted"]\n'


def approve(home: Path, *drafts: ToolDraft) -> AppContext:
    """Approve tools as a person does from a shell."""
    app = AppContext.open(home)
    for draft in drafts:
        approve_anew(app, draft, Lock(), origin="starter")
    return app


def furnished(home: Path, *drafts: ToolDraft, settings: str = SERVED) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(settings)
    approve(home, *(drafts or ALL)).close()
    return home


def environ(home: Path, **more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ALITA_", "OPENAI", "ANTHROPIC"))
    }
    return {**kept, "ALITA_HOME": str(home), **more}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "alita_tui", "mcp", *words]


@asynccontextmanager
async def client(
    home: Path, era: str = "legacy", name: str = "tester", on: Any = None, asked: Any = None, **more: str
) -> AsyncIterator[Client]:
    """A client of the SDK over a process that serves this home; `asked` answers what the server asks of it."""
    program, *words = command("serve")
    server = StdioServerParameters(command=program, args=words, env=environ(home, **more))
    info = Implementation(name=name, version="1.0")
    async with Client(
        stdio_client(server), mode=era, client_info=info, message_handler=on, elicitation_callback=asked
    ) as one:
        yield one


def sessions(home: Path) -> list[Path]:
    return sorted((home / "data" / "sessions").glob("*.json"))


def recorded(home: Path, path: Path) -> list[Any]:
    """The events of a session."""
    from alita_tui.app.recordings import recording

    app = AppContext.open(home)
    try:
        return [one.event for one in recording(app, path.stem)]
    finally:
        app.close()


async def until(true: Any, seconds: float = 240) -> Any:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not (found := true()):
            await asyncio.sleep(0.02)
    return found


@asynccontextmanager
async def http_server(home: Path, *words: str, **more: str) -> AsyncIterator[str]:
    """The address of a process that serves this home over HTTP; its end is in good order."""
    process = await asyncio.create_subprocess_exec(
        *command("serve", "--http", *(words or ("127.0.0.1:0",))), env=environ(home, **more),
        stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        said = (await process.stderr.readline()).decode()
        assert said.startswith("Serving http://"), said + (await process.stderr.read()).decode()
        yield said.split()[1]
    finally:
        process.terminate()
        left = await process.stderr.read()
        assert await process.wait() == 0, left.decode()
        assert b"Traceback" not in left, left.decode()


@asynccontextmanager
async def http_client(
    home: Path, url: str, era: str = "legacy", name: str = "tester", on: Any = None
) -> AsyncIterator[Client]:
    token = (home / "mcp.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=400) as web:
        transport = streamable_http_client(url, http_client=web)
        info = Implementation(name=name, version="1.0")
        async with Client(transport, mode=era, client_info=info, message_handler=on) as one:
            yield one
