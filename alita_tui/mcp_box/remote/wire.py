"""What passes between the SDK's client and a server: read by our own bounded reader, seen raw before the SDK parses it.

The SDK's own splitter rescans every line from its beginning and has no limit, its models drop what they do not know,
and one bad tool fails a whole list. So each message passes the tap: it keeps a list's tools as they were on the wire,
hands on those alone that the SDK can parse, counts what comes, and notes what the server asks for.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import mcp_types
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from alita_tui.mcp_box.remote.lines import Lines
from alita_tui.spine.ports.sandbox import RunningProgram

LONGEST_LINE = 8 << 20
_BURST, _PER_SECOND = 5_000, 500.0
"""Messages that may come at once, and on average, beyond the answers to requests."""
_UNREADABLE = -32700
_ENDS = (mcp_types.CONNECTION_CLOSED, mcp_types.REQUEST_TIMEOUT)
"""Codes by which the SDK tells its own failures. Servers use them for whatever went wrong."""
_BY_SDK = "SSE stream "
"""How the messages begin by which the SDK's HTTP transport answers for a server that fell silent."""
_ANSWERS = (mcp_types.JSONRPCResponse, mcp_types.JSONRPCError)


class Flood(ValueError):
    """More messages came than anybody could mean."""


class Tap:
    """Sees every message of one connection."""

    def __init__(self, asked: Callable[[str], None]) -> None:
        """`asked` is told the method of each request that the server makes."""
        self._asked = asked
        self._open: dict[Any, str] = {}
        self._free, self._counted_at = float(_BURST), time.monotonic()
        self.tools: list[Any] = []
        """The tools of the newest page, as they were on the wire."""
        self.changed = False
        """True once the server said that its list is another."""

    def sent(self, message: SessionMessage) -> None:
        """Note a request on its way."""
        if isinstance(message.message, mcp_types.JSONRPCRequest):
            self._open[message.message.id] = message.message.method

    def came(self, message: SessionMessage) -> None:
        """Look at a message, and leave in it what the SDK may parse. Raise Flood."""
        one = message.message
        if isinstance(one, mcp_types.JSONRPCError) and one.error.code in _ENDS:
            if not one.error.message.startswith(_BY_SDK):
                one.error.code = mcp_types.INTERNAL_ERROR
        if isinstance(one, _ANSWERS) and self._open.get(one.id):
            method = self._open.pop(one.id)
            if isinstance(one, mcp_types.JSONRPCResponse) and method == "tools/list":
                self.tools = list(one.result.get("tools") or ()) if isinstance(one.result, dict) else []
                one.result = {**one.result, "tools": [tool for tool in self.tools if _parses(tool)]}
            if isinstance(one, mcp_types.JSONRPCResponse) and isinstance(
                one.result.get("inputRequests"), dict
            ):
                for request in list(one.result["inputRequests"].values())[:20]:
                    self._asked(str(request.get("method"))[:80] if isinstance(request, dict) else "?")
            return
        self.count()
        if isinstance(one, mcp_types.JSONRPCRequest) and one.method != "ping":
            self._asked(one.method[:80])
        if (
            isinstance(one, mcp_types.JSONRPCNotification)
            and one.method == "notifications/tools/list_changed"
        ):
            self.changed = True

    def count(self) -> None:
        """Count what answers no request. Raise Flood."""
        now = time.monotonic()
        self._free = min(self._free + (now - self._counted_at) * _PER_SECOND, float(_BURST)) - 1
        self._counted_at = now
        if self._free < 0:
            raise Flood(f"it sent more than {_BURST:,} messages that nobody asked for")

    def failures(self, why: str) -> list[SessionMessage]:
        """Return an answer for every open request: one of them can never be answered, and nobody knows which."""
        error = mcp_types.ErrorData(code=_UNREADABLE, message=f"The server's answer cannot be read: {why}")
        left, self._open = list(self._open), {}
        return [SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=one, error=error)) for one in left]


def _parses(tool: Any) -> bool:
    try:
        mcp_types.Tool.model_validate(tool, by_name=False)
    except (ValidationError, RecursionError):
        return False
    return True


@asynccontextmanager
async def over_program(
    program: RunningProgram, tap: Tap, broken: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """Return the streams of a program's stdin and stdout; `broken` is told why it was given up."""
    to_us, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, from_us = anyio.create_memory_object_stream[SessionMessage](0)

    async def reader() -> None:
        async with to_us:  # closing it is how the end of the server reaches the session
            try:
                async for line in _lines(program):
                    for message in _read(line, tap):
                        await to_us.send(message)
            except ValueError as error:
                broken(str(error))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def writer() -> None:
        async with from_us:
            async for message in from_us:
                tap.sent(message)
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await program.write(data)
                except ConnectionError:
                    await to_us.aclose()
                    return

    async with read, write, anyio.create_task_group() as group:
        group.start_soon(reader)
        group.start_soon(writer)
        yield read, write
        group.cancel_scope.cancel()


async def _lines(program: RunningProgram) -> AsyncIterator[bytes]:
    lines = Lines(LONGEST_LINE)
    while piece := await program.read():
        for line in lines.feed(piece):
            if line.strip():
                yield line


def _read(line: bytes, tap: Tap) -> list[SessionMessage]:
    """Return the message of a line; for what cannot be read, the failure of what waits for it. Raise Flood."""
    try:
        message = SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValidationError, RecursionError):
        tap.count()
        return tap.failures("it is no message of the protocol") if line.lstrip().startswith(b"{") else []
    tap.came(message)
    return [message]


@asynccontextmanager
async def tapped(
    inner: AbstractAsyncContextManager[TransportStreams], tap: Tap, broken: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """Return the streams of another transport with the tap between."""
    async with inner as (read, write):
        to_us, ours = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        theirs, from_us = anyio.create_memory_object_stream[SessionMessage](0)

        async def inward() -> None:
            async with to_us:
                try:
                    async for message in read:
                        if isinstance(message, SessionMessage):
                            tap.came(message)
                        await to_us.send(message)
                except Flood as error:
                    broken(str(error))

        async def outward() -> None:
            async with from_us:
                async for message in from_us:
                    tap.sent(message)
                    await write.send(message)

        async with ours, theirs, anyio.create_task_group() as group:
            group.start_soon(inward)
            group.start_soon(outward)
            yield ours, theirs
            group.cancel_scope.cancel()
