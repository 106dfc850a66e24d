"""Reads and inspects the messages between the SDK's client and a server before the SDK parses them.

The SDK's own line splitter rescans each line from its start and has no limit, its models drop unknown fields, and one
invalid tool fails a whole list. So each message passes a tap, which stores listed tools as received, passes on only
those that the SDK can parse, limits the rate of messages, and reports the server's own requests.
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
"""Messages allowed at once, and per second on average, besides answers to requests."""
_UNREADABLE = -32700
_ENDS = (mcp_types.CONNECTION_CLOSED, mcp_types.REQUEST_TIMEOUT)
"""Codes of the SDK's own failures, which servers use for other errors."""
_BY_SDK = "SSE stream "
"""Prefix of the messages that the SDK's HTTP transport makes up for a server that stopped answering."""
_ANSWERS = (mcp_types.JSONRPCResponse, mcp_types.JSONRPCError)


class Flood(ValueError):
    """A server sent too many messages."""


class Tap:
    """Inspects every message of one connection."""

    def __init__(self, on_request: Callable[[str], None]) -> None:
        """`on_request` gets the method of each request that the server makes."""
        self._on_request = on_request
        self._open: dict[Any, str] = {}
        self._free, self._counted_at = float(_BURST), time.monotonic()
        self.tools: list[Any] = []
        """The tools of the newest page, as received."""
        self.changed = False
        """True once the server has reported that its list changed."""

    def sent(self, message: SessionMessage) -> None:
        """Record a request that is being sent."""
        if isinstance(message.message, mcp_types.JSONRPCRequest):
            self._open[message.message.id] = message.message.method

    def received(self, message: SessionMessage) -> None:
        """Inspect a received message and remove what the SDK cannot parse. Raises Flood."""
        rpc = message.message
        if isinstance(rpc, mcp_types.JSONRPCError) and rpc.error.code in _ENDS:
            if not rpc.error.message.startswith(_BY_SDK):
                rpc.error.code = mcp_types.INTERNAL_ERROR
        if isinstance(rpc, _ANSWERS) and self._open.get(rpc.id):
            method = self._open.pop(rpc.id)
            if isinstance(rpc, mcp_types.JSONRPCResponse) and method == "tools/list":
                self.tools = list(rpc.result.get("tools") or ()) if isinstance(rpc.result, dict) else []
                rpc.result = {**rpc.result, "tools": [tool for tool in self.tools if _parses(tool)]}
            if isinstance(rpc, mcp_types.JSONRPCResponse) and isinstance(
                rpc.result.get("inputRequests"), dict
            ):
                for request in list(rpc.result["inputRequests"].values())[:20]:
                    self._on_request(str(request.get("method"))[:80] if isinstance(request, dict) else "?")
            return
        self.count()
        if isinstance(rpc, mcp_types.JSONRPCRequest) and rpc.method != "ping":
            self._on_request(rpc.method[:80])
        if (
            isinstance(rpc, mcp_types.JSONRPCNotification)
            and rpc.method == "notifications/tools/list_changed"
        ):
            self.changed = True

    def count(self) -> None:
        """Count a message that answers no request. Raises Flood."""
        now = time.monotonic()
        self._free = min(self._free + (now - self._counted_at) * _PER_SECOND, float(_BURST)) - 1
        self._counted_at = now
        if self._free < 0:
            raise Flood(f"it sent more than {_BURST:,} messages that nobody asked for")

    def failures(self, reason: str) -> list[SessionMessage]:
        """Return an error for every open request, because it is unknown which of them the lost answer was for."""
        error = mcp_types.ErrorData(code=_UNREADABLE, message=f"The server's answer cannot be read: {reason}")
        unanswered, self._open = list(self._open), {}
        return [
            SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
            for request_id in unanswered
        ]


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
    """Yield the streams of a program's stdin and stdout; `broken` gets the reason if they are given up."""
    to_us, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, from_us = anyio.create_memory_object_stream[SessionMessage](0)

    async def reader() -> None:
        async with to_us:  # closing it tells the session that the server has ended
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
    while chunk := await program.read():
        for line in lines.feed(chunk):
            if line.strip():
                yield line


def _read(line: bytes, tap: Tap) -> list[SessionMessage]:
    """Return the message of a line; for an unreadable line, errors for the open requests. Raises Flood."""
    try:
        message = SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValidationError, RecursionError):
        tap.count()
        return tap.failures("it is no message of the protocol") if line.lstrip().startswith(b"{") else []
    tap.received(message)
    return [message]


@asynccontextmanager
async def tapped(
    inner: AbstractAsyncContextManager[TransportStreams], tap: Tap, broken: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """Yield the streams of another transport, with the tap in between."""
    async with inner as (read, write):
        to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)

        async def inward() -> None:
            async with to_us:
                try:
                    async for message in read:
                        if isinstance(message, SessionMessage):
                            tap.received(message)
                        await to_us.send(message)
                except Flood as error:
                    broken(str(error))

        async def outward() -> None:
            async with from_us:
                async for message in from_us:
                    tap.sent(message)
                    await write.send(message)

        async with incoming, outgoing, anyio.create_task_group() as group:
            group.start_soon(inward)
            group.start_soon(outward)
            yield incoming, outgoing
            group.cancel_scope.cancel()
