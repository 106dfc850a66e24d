"""The server on stdin and stdout. Lines are limited, so that no client can fill this process's memory."""

from __future__ import annotations

import asyncio
import json
import os
import select
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from mcp.server.stdio import stdio_server
from mcp.types import PARSE_ERROR

from alita_tui.mcp_box.serve.server import ToolServer
from alita_tui.spine.levels import DEEPEST, shallow_json

LONGEST_LINE = 16 << 20
_CHUNK = 1 << 16
_TOO_LONG = '{"too long": '
"""Replaces a line over the cap: it is not JSON, so it is answered as an unreadable message."""


class CappedLines:
    """Lines of a descriptor, read by a thread that ends with the process; lines over the cap are skipped."""

    def __init__(self, descriptor: int, limit: int = LONGEST_LINE) -> None:
        self._descriptor = descriptor
        self._most = limit
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(maxsize=1)
        self._loop = asyncio.get_running_loop()

    async def __aiter__(self) -> AsyncIterator[str]:
        threading.Thread(target=self._feed, name="mcp stdin", daemon=True).start()
        while (line := await self._lines.get()) is not None:
            yield line

    def _feed(self) -> None:
        for line in lines_of(self._descriptor, self._most):
            if not self._put(line):
                return
        self._put(None)

    def _put(self, line: str | None) -> bool:
        """Wait until a line is taken, so that unread input stays in the pipe; return False if the loop has ended."""
        try:
            asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
        except (RuntimeError, asyncio.CancelledError):
            return False
        return True


def lines_of(descriptor: int, limit: int) -> Iterator[str]:
    """Yield lines without line ends; a line of more than `limit` bytes is replaced by invalid JSON."""
    collected: list[bytes] = []
    size, dropping = 0, False
    while chunk := os.read(descriptor, _CHUNK):
        *complete, remaining = chunk.split(b"\n")
        for line_bytes in complete:
            if dropping or size + len(line_bytes) > limit:
                yield _TOO_LONG
            elif line := b"".join((*collected, line_bytes)).strip():
                yield line.decode("utf-8", "replace")
            collected, size, dropping = [], 0, False
        size += len(remaining)
        dropping = dropping or size > limit
        collected = (
            []
            if dropping
            else [*collected, remaining]
            if len(collected) < 64
            else [b"".join((*collected, remaining))]
        )


class PromptLines:
    """Writes to a descriptor: short text at once if the other end reads, otherwise in a thread that may wait."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._whole = asyncio.Lock()

    async def write(self, text: str) -> None:
        """Write all of a text. Raises OSError."""
        data = text.encode()
        async with self._whole:
            # A writable pipe takes this many bytes without blocking (pipe(7)).
            if len(data) <= select.PIPE_BUF and self._poll.poll(0):
                data = data[os.write(self._descriptor, data) :]
            if data:
                await asyncio.to_thread(self._write_all, data)

    def _write_all(self, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(self._descriptor, remaining) :]

    async def flush(self) -> None:
        """Do nothing: writes are not buffered."""


class _Readable:
    """The lines that the SDK can read; a request among the others gets an error, as its client waits for an answer."""

    def __init__(self, lines: CappedLines, answers: PromptLines) -> None:
        self._lines = lines
        self._answers = answers

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            if refusal := refused(line):
                await self._answers.write(f"{refusal}\n")
            else:
                yield line


def refused(line: str) -> str:
    """Return the answer to a request that the SDK would pass over in silence; empty for any other line.

    These are requests with half a surrogate pair, which is JSON and no text, and those with too many levels.
    """
    if "\\u" not in line and line.count("[") + line.count("{") <= DEEPEST:
        return ""
    try:
        shallow_json(line)
        return ""
    except ValueError as error:
        problem = str(error)
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    number = message.get("id") if isinstance(message, dict) and "method" in message else None
    if not isinstance(number, int | str) or not str(number).isprintable():
        return ""
    fault = {"code": PARSE_ERROR, "message": f"The request cannot be read: {problem}."}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": fault})


def _take_over(descriptor: int, target: str | int, flags: int) -> int:
    """Return a copy of a descriptor and put `target` in its place, so that only the protocol uses the original."""
    wire = os.dup(descriptor)
    replacement = os.open(target, flags) if isinstance(target, str) else os.dup(target)
    os.dup2(replacement, descriptor)
    os.close(replacement)
    return wire


async def serve_stdio(tools: ToolServer) -> None:
    """Serve the client at the other end until it closes stdin."""
    lines = CappedLines(_take_over(0, os.devnull, os.O_RDONLY))
    answers: Any = PromptLines(_take_over(1, 2, os.O_WRONLY))
    readable: Any = _Readable(lines, answers)
    async with stdio_server(stdin=readable, stdout=answers) as (read, write):
        await tools.server.run(read, write, tools.server.create_initialization_options())
