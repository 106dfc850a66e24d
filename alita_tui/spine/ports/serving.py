"""What a server of the Model Context Protocol needs of the rest: tools, calls, files and builds for its clients."""

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
    """What the run left."""


class BuildRequest(Value, frozen=True):
    """A tool that a client asks for."""

    name: str
    need: str
    details: str = ""
    examples: tuple[Json, ...] = ()
    hosts: tuple[str, ...] = ()
    """Hosts that it has to reach, as `name:port`; a person grants them or does not."""


class Standing(Value, frozen=True):
    """How far a build is."""

    build_id: str
    name: str
    state: Literal["building", "waiting", "approved", "rejected", "failed"]
    text: str = ""
    """What it waits for, or came to."""


class Document(Value, frozen=True):
    """Something else that can be read, or a prompt: only what the settings offer."""

    name: str
    title: str
    text: str = ""


class Prompt(Value, frozen=True):
    """A way to do something that worked before."""

    name: str
    text: str
    parameters: tuple[str, ...] = ()


class Served(Protocol):
    """The library as clients have it. Met by `app`."""

    def tools(self) -> tuple[ToolRecord, ...]:
        """Return the tools that may be called, by name. Blocks on the disk. Raise StoreError."""

    def find(self, need: str, limit: int) -> tuple[tuple[ToolRecord, float], ...]:
        """Return those that fit a need, best first, each with how likely it is the one. Blocks."""

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
        """Whether tools may be asked for."""

    async def build(self, client: Client, request: BuildRequest) -> Standing:
        """Begin a build that waits for a person's verdict. Raise UsageError."""

    async def standing(self, build_id: str) -> Standing:
        """Return the progress of a build that a client asked for. Raise UsageError."""

    def prompts(self) -> tuple[Prompt, ...]:
        """Return what worked before, if the settings offer it. Blocks."""

    def documents(self) -> tuple[Document, ...]:
        """Return what else can be read, without its text, if the settings offer it. Blocks."""

    def document(self, name: str) -> Document | None:
        """Return one of these with its text. Blocks. Raise StoreError."""
