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
