"""Everything that alita's MCP server needs from the other packages: tools, calls, files and builds for its clients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from alita_tui.events.artefact import Artefact
from alita_tui.events.base import Json, Value
from alita_tui.events.library import ToolRecord

Tell = Callable[[str], None]
"""Called on the event loop with one line about a call's progress."""


class Client(Value, frozen=True):
    """The calling client as it names itself: a name for the record, never an identity."""

    name: str
    version: str = ""


class Answer(Value, frozen=True):
    """The answer to a call."""

    result: Json = None
    failed: str = ""
    """Why there is no reliable result; empty if there is one."""
    hint: str = ""
    """What the client can do about it."""
    files: tuple[Artefact, ...] = ()
    """The files that the run left."""


class BuildRequest(Value, frozen=True):
    """A tool that a client asks for."""

    name: str
    need: str
    details: str = ""
    examples: tuple[Json, ...] = ()
    hosts: tuple[str, ...] = ()
    """Hosts that it needs, as `name:port`; a person decides whether they are granted."""


class BuildStatus(Value, frozen=True):
    """The state of a build."""

    build_id: str
    name: str
    state: Literal["building", "waiting", "approved", "rejected", "failed"]
    text: str = ""
    """What it waits for, or its outcome."""


class Document(Value, frozen=True):
    """A transcript or an audit that clients may read, if the settings offer it."""

    name: str
    title: str
    text: str = ""


class Prompt(Value, frozen=True):
    """A recipe, offered to clients as a prompt."""

    name: str
    text: str
    parameters: tuple[str, ...] = ()


class Served(Protocol):
    """The library as it is served to clients. Implemented by `app`."""

    def tools(self) -> tuple[ToolRecord, ...]:
        """Return the tools that may be called, by name. Blocks on the disk. Raise StoreError."""

    def find(self, need: str, limit: int) -> tuple[tuple[ToolRecord, float], ...]:
        """Return the tools that fit a need, best first, each with its probability. Blocks."""

    async def call(self, client: Client, name: str, arguments: Json, tell: Tell) -> Answer:
        """Run a tool in the sandbox and record it; an error is returned as an answer. Cancelling ends the run."""

    def files(self, client: Client) -> tuple[Artefact, ...]:
        """Return the files that this client's calls were given or left, the newest last."""

    def file(self, client: Client, digest: str) -> tuple[Artefact, Path] | None:
        """Return one of them, and where its bytes are. Raise StoreError if they are missing or changed."""

    def redacted(self, client: Client, text: str) -> str:
        """Return a text of this client's files without secrets."""

    @property
    def builds(self) -> bool:
        """Whether clients may request tools."""

    async def build(self, client: Client, request: BuildRequest) -> BuildStatus:
        """Begin a build that waits for a person's verdict, and return its status. Raise UsageError."""

    async def status(self, build_id: str) -> BuildStatus:
        """Return the state of a build that a client requested. Raise UsageError."""

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the recipes, if the settings offer them. Blocks."""

    def documents(self) -> tuple[Document, ...]:
        """Return the documents without their texts, if the settings offer them. Blocks."""

    def document(self, name: str) -> Document | None:
        """Return one of these with its text. Blocks. Raise StoreError."""
