"""Calls of the tools of MCP servers."""

from __future__ import annotations

from typing import Protocol

from alita_tui.events.tool import RunReport
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.ports.sandbox import Job


class ServerUnavailable(RegistryError):
    """A server did not start or answer, or changed a tool: the tool was not called, and is not at fault."""


class ServerCalls(Protocol):
    """Calls tools of MCP servers. Implemented by `mcp_box`."""

    async def call(self, job: Job) -> RunReport:
        """Call the tool whose pinned descriptor is the job's code; return the report, also if the tool fails.

        Raise ServerUnavailable if the tool was not called. Cancelling it cancels the call.
        """

    async def close(self) -> None:
        """End every server that was started."""
