"""The server on stdin and stdout. A line has a cap, so that no client can fill this process."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from mcp.server.stdio import stdio_server

from alita_tui.mcp_box.serve.server import ToolServer

LONGEST_LINE = 16 << 20
_CHUNK = 1 << 16
_TOO_LONG = '{"too long": '
"""Replaces a line over the cap: it is not JSON, so it is answered as an unreadable message."""


class CappedLines:
    """Lines of a descriptor, read by a thread that ends with the process; lines over the cap are skipped."""

    def __init__(self, descriptor: int, most: int = LONGEST_LINE) -> None:
        self._descriptor = descriptor
        self._most = most
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(maxsize=1)
        self._loop = asyncio.get_running_loop()

    async def __aiter__(self) -> AsyncIterator[str]:
        threading.Thread(target=self._feed, name="mcp stdin", daemon=True).start()
        while (line := await self._lines.get()) is not None:
            yield line

    def _feed(self) -> None:
        for line in lines_of(self._descriptor, self._most):
            if not self._handed(line):
                return
        self._handed(None)

    def _handed(self, line: str | None) -> bool:
        """Wait until a line is taken, so that unread input stays in the pipe; return False once the loop is gone."""
        try:
            asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
        except (RuntimeError, asyncio.CancelledError):
            return False
        return True


def lines_of(descriptor: int, most: int) -> Iterator[str]:
    """Yield lines without their ends; one over `most` bytes is dropped and replaced by invalid JSON."""
    pieces: list[bytes] = []
    size, dropping = 0, False
    while piece := os.read(descriptor, _CHUNK):
        *ended, rest = piece.split(b"\n")
        for part in ended:
            if dropping or size + len(part) > most:
                yield _TOO_LONG
            elif line := b"".join((*pieces, part)).strip():
                yield line.decode("utf-8", "replace")
            pieces, size, dropping = [], 0, False
        size += len(rest)
        dropping = dropping or size > most
        pieces = [] if dropping else [*pieces, rest] if len(pieces) < 64 else [b"".join((*pieces, rest))]


class PromptLines:
    """Text for a descriptor: short text is written at once if the other end reads, otherwise a thread waits for it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        """Write text whole. Raise OSError."""
        data = text.encode()
        # A writable pipe takes this many bytes without blocking (pipe(7)).
        if len(data) <= select.PIPE_BUF and self._poll.poll(0):
            data = data[os.write(self._descriptor, data) :]
        if data:
            await asyncio.to_thread(self._write_all, data)

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    async def flush(self) -> None:
        """Do nothing: writes are not buffered."""


def _taken(descriptor: int, instead: str | int, flags: int) -> int:
    """Return a copy of the wire's descriptor; prints and child processes get `instead` in its place."""
    wire = os.dup(descriptor)
    replacement = os.open(instead, flags) if isinstance(instead, str) else os.dup(instead)
    os.dup2(replacement, descriptor)
    os.close(replacement)
    return wire


async def serve_stdio(tools: ToolServer) -> None:
    """Serve the client at the other end until it closes stdin."""
    lines: Any = CappedLines(_taken(0, os.devnull, os.O_RDONLY))
    answers: Any = PromptLines(_taken(1, 2, os.O_WRONLY))
    async with stdio_server(stdin=lines, stdout=answers) as (read, write):
        await tools.server.run(read, write, tools.server.create_initialization_options())
