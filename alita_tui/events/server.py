"""MCP servers whose tools are used."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import Fact, ToolName


class ServerStarted(Fact, frozen=True):
    """A server is started or connected to, for one of its approved tools."""

    start_id: str
    server: str
    where: str
    """`sandbox`, `host`, or the address of a remote server."""
    identity: str
    """Digest of how it is started or reached, which is part of an approval."""


class ServerStopped(Fact, frozen=True):
    """A server ended, could not be started, or was stopped."""

    server: str
    reason: str
    fault: bool = False
    """True unless alita stopped it."""


class ServerAsked(Fact, frozen=True):
    """A server sent a request to alita; it was refused unless `granted`."""

    server: str
    request: str
    """The method, such as `sampling/createMessage`."""
    granted: bool = False
    text: str = ""
    """The granted request's content, clipped; for roots, the answer."""
    reason: str = ""
    """Why it was refused although requests of this kind are granted."""


class ServerQuestion(Fact, frozen=True):
    """A server asks the person something while one of its tools runs. The answer is sent to the server."""

    question_id: str
    server: str
    text: str
    choices: tuple[str, ...] = ()
    """The only valid answers; empty: any text."""


class ServerQuestionEnded(Fact, frozen=True):
    """A server's question was answered, refused or withdrawn."""

    question_id: str
    server: str
    text: str = ""
    """What the person typed."""
    outcome: Literal["answered", "refused", "withdrawn"] = "answered"
    """`refused`: the typed text is not a valid answer. `withdrawn`: the call ended first."""


class ToolSuspended(Fact, frozen=True):
    """A server changed a tool after it was approved, so it does not run until it is approved again."""

    name: ToolName
    version: int
    server: str
    reason: str
