"""What the screen of the servers needs; implemented in `app`. All text is the servers' own: neutralise it."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

ServerChange = Literal["test", "enable", "disable", "remove"]


class ServerTool(msgspec.Struct, frozen=True):
    """A tool that a server lists, as it stands to what was approved."""

    name: str
    state: Literal["approved", "suspended", "changed", "new", "not yet"]
    digest: str
    """SHA-256 (hex) of what would be approved."""
    description: str = ""
    problem: str = ""
    """What keeps it from being approved."""
    risks: tuple[str, ...] = ()
    """Names of what to look at."""


class WholeTool(msgspec.Struct, frozen=True):
    """All that an approval of a server's tool covers. Text is the server's own."""

    server: str
    name: str
    digest: str
    """SHA-256 (hex) of what would be approved."""
    state: str
    risks: tuple[tuple[str, str, bool], ...] = ()
    """Of each risk its name, what it is, and whether it is serious. Each is accepted by its name."""
    changes: tuple[str, ...] = ()
    """What is not as it was approved before: lines of a unified diff."""
    parts: tuple[tuple[str, str], ...] = ()
    """Title and text: the descriptor as the server sent it, and how the server is started or reached."""
    example: str = "{}"
    """Arguments for a test call, as JSON on one line, with an empty value for each that is required."""


class ServerLine(msgspec.Struct, frozen=True):
    """A server and what it listed when it was last looked at."""

    name: str
    where: str
    """`sandbox`, `host` or its address."""
    transport: Literal["stdio", "http"] = "stdio"
    enabled: bool = True
    unsigned: bool = False
    """Whether it is not as the person added it; then it does not start."""
    protocol: str = ""
    claims: str = ""
    """What it calls itself."""
    command: str = ""
    may_use: tuple[str, ...] = ()
    listed_at: str = ""
    """ISO 8601, UTC."""
    start_ms: float = 0.0
    tools: tuple[ServerTool, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Tools that cannot be used, with the reason."""


class ServersCatalog(Protocol):
    """The servers of this home. Every method may raise AlitaError."""

    async def servers(self) -> tuple[ServerLine, ...]:
        """Return every server by name."""

    async def change_server(self, change: ServerChange, name: str) -> str:
        """Test, switch or remove a server; return what came of it, in a sentence."""

    async def server_tool(self, server: str, tool: str) -> WholeTool:
        """Return a tool as its server listed it, whole. Raise UsageError where it cannot be approved."""

    async def approve_server_tool(self, shown: WholeTool, unread: int) -> str:
        """Approve exactly what was shown, its risks accepted, `unread` lines of it never on screen.

        Return what came of it, in a sentence. Raise UsageError where the tool or its risks are others by now.
        """

    async def try_server_tool(self, shown: WholeTool, arguments: str) -> str:
        """Call a tool once with arguments in JSON, approved or not; return what came of it. Nothing is recorded.

        Raise UsageError for arguments that are no object, and where the tool is another one by now.
        """
