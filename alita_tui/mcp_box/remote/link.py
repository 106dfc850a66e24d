"""One connection to a server, held by its own asyncio task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Any

from mcp import Client, MCPError
from mcp.client._transport import TransportStreams
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, Implementation, PaginatedRequestParams

from alita_tui import __version__
from alita_tui.mcp_box.remote.answering import Answering
from alita_tui.mcp_box.remote.pinning import MOST_TOOLS
from alita_tui.mcp_box.remote.wire import Tap
from alita_tui.spine.text import one_line

LEGACY = "legacy"
_PAGES = 100
_LIST_BYTES = 4 << 20
_LIST_SECONDS = 30.0
_CLOSE_SECONDS = 5.0
_GRACE_SECONDS = 3.0
"""Extra time for a call, because a server that reads nothing delays the SDK's own timeout."""
Transport = Callable[[Tap, Callable[[str], None]], AbstractAsyncContextManager[TransportStreams]]
"""Opens the streams of one connection; the second argument is called with the reason if they are given up."""

for _name in ("client", "mcp"):  # the SDK logs what servers send, which would be printed over the screen
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class LinkError(Exception):
    """A request failed. `sent` is True if the server may have begun to work on it."""

    def __init__(self, reason: str, *, sent: bool = False, lost: bool = False, timeout: bool = False) -> None:
        super().__init__(reason)
        self.sent = sent
        self.lost = lost
        """True if the connection is gone."""
        self.timeout = timeout


class Link:
    """An open connection."""

    def __init__(
        self, transport: Transport, on_request: Callable[[str], None], *, mode: str = LEGACY
    ) -> None:
        """`on_request` gets the method of each server request; `mode` is a protocol version, `legacy` or `auto`."""
        self.tap = Tap(on_request)
        self.broken = ""
        """Why it failed or was closed; empty while it works."""
        self.answering: Answering | None = None
        """Answers the server's requests; to be set before opening. With None all of them are refused."""
        self._transport = transport
        self._mode = mode
        self._client: Client | None = None
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """True if requests can be sent."""
        return (
            self._client is not None and not self.broken and self._task is not None and not self._task.done()
        )

    @property
    def protocol(self) -> str:
        """The negotiated protocol version; empty before the connection is open."""
        return self._client.protocol_version if self._client else ""

    @property
    def calls_itself(self) -> dict[str, str]:
        """The name and version that the server claims."""
        info = self._client.server_info if self._client else None
        return {"name": info.name, "version": info.version} if info else {}

    async def open(self, seconds: float) -> None:
        """Connect. Raises LinkError."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(ready)
        except TimeoutError:
            await self.close()
            raise LinkError(f"it did not answer within {seconds:g} s", timeout=True) from None
        except asyncio.CancelledError:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connection."""
        self._stop.set()
        self.broken = self.broken or "it was closed"
        if self._task is not None:
            if self._client is not None:
                await asyncio.wait((self._task,), timeout=_CLOSE_SECONDS)
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def tools(self) -> list[Any]:
        """Return every tool that the server lists, as received. Raises LinkError."""
        client = self._connected()
        tools: list[Any] = []
        cursor: str | None = None
        size = 0
        self.tap.changed = False
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                for _ in range(_PAGES):
                    page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
                    size += sum(len(str(tool)) for tool in self.tap.tools)
                    tools += self.tap.tools
                    if size > _LIST_BYTES or len(tools) > 10 * MOST_TOOLS:
                        raise LinkError(f"its list of tools is larger than {_LIST_BYTES >> 20} MB")
                    cursor = page.next_cursor
                    if not cursor:
                        return tools
        except TimeoutError:
            raise LinkError(f"it did not list its tools within {_LIST_SECONDS:g} s", timeout=True) from None
        except LinkError:
            raise
        except Exception as error:  # whatever a server makes the SDK raise
            raise self._link_error(error, sent=False) from error
        raise LinkError(f"its list of tools has more than {_PAGES} pages")

    async def call(
        self, tool: str, arguments: dict[str, Any], seconds: float, call_id: str = ""
    ) -> dict[str, Any]:
        """Call a tool; return its result as JSON. Raises LinkError.

        The time limit pauses while a request of the server is answered, which the SDK's own limit cannot do.
        """
        client = self._connected()
        sdk_timeout = seconds if self.answering is None else None
        try:
            async with asyncio.timeout(seconds + _GRACE_SECONDS) as deadline:
                with self.answering.during(deadline, call_id) if self.answering else nullcontext():
                    result = await client.call_tool(tool, arguments, read_timeout_seconds=sdk_timeout)
            return result.model_dump(mode="json", by_alias=True, exclude_none=True)
        except TimeoutError:
            self._give_up(
                "it did not answer in time" if sdk_timeout is None else "it does not read what it is sent"
            )
            raise LinkError(self.broken, sent=True, lost=True) from None
        except Exception as error:  # whatever a server makes the SDK raise
            raise self._link_error(error, sent=True) from error

    def _connected(self) -> Client:
        if not self.alive or self._client is None:
            raise LinkError(self.broken or "it ended", lost=True)
        return self._client

    def _link_error(self, error: Exception, *, sent: bool) -> LinkError:
        if isinstance(error, MCPError):
            if error.code == REQUEST_TIMEOUT:
                return LinkError("it did not answer in time", sent=sent, timeout=True)
            if error.code == CONNECTION_CLOSED or self.broken:
                self.broken = self.broken or "the connection was closed"
                return LinkError(self.broken, sent=sent, lost=True)
            return LinkError(one_line(str(error), 400), sent=sent)
        problem = "its answer is not what the protocol says"
        return LinkError(f"{problem}: {one_line(str(error), 200)}", sent=sent)

    async def _live(self, ready: asyncio.Future[None]) -> None:
        """Hold the connection open. The SDK requires that the same task enters and leaves it."""
        try:
            client = Client(
                self._transport(self.tap, self._give_up),
                mode=self._mode,
                cache=None,
                client_info=Implementation(name="alita", version=__version__),
                **(self.answering.callbacks() if self.answering else {}),
            )
            async with client:
                client.session.validate_tool_result = _unchecked  # type: ignore[method-assign]
                self._client = client
                ready.set_result(None)
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001  # whatever a server makes the SDK raise
            self.broken = self.broken or _first_message(error)
            if not ready.done():
                ready.set_exception(LinkError(self.broken))
        finally:
            self.broken = self.broken or "it was closed"
            if not ready.done():
                ready.set_exception(LinkError("it was interrupted"))
            with suppress(Exception):
                ready.exception()  # asyncio would log an exception that nobody retrieves

    def _give_up(self, reason: str) -> None:
        self.broken = self.broken or reason


async def _unchecked(name: str, result: Any) -> None:
    """Do not validate a result in this process: a hostile schema would block the loop. Another process does it."""


def _first_message(error: BaseException) -> str:
    """Return the message of the first error in nested groups."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return one_line(str(error), 300) or type(error).__name__
