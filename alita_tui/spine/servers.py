"""Servers of the Model Context Protocol: how one is started or reached, and what a person approves of its tools. Pure.

A remote tool is a `ToolDraft` like any other. In the place of code it has one document of canonical JSON (RFC 8785):
the descriptor exactly as the server sent it, how the server is started or reached, and what it calls itself. The digest
covers all of it, so what was approved can run without any other file being believed, and any change is another digest.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from alita_tui.events import Capabilities, Json, ToolDraft, ToolRecord, Value, digest_of, ready
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.grants import ON_HOST, used_by

NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
Place = Literal["sandbox", "host", "url"]


class ServerSpec(Value, frozen=True):
    """How a server is started or reached. It is complete: nothing else decides what runs."""

    name: str
    """The person's word for it."""
    place: Place = "sandbox"
    """`sandbox`: a program in a container. `host`: a program with all rights of the person. `url`: somebody else's."""
    argv: tuple[str, ...] = ()
    env: dict[str, str] = {}
    lock: str = ""
    """Digest of its locked wheels."""
    folder: str = ""
    """Where its files were taken from."""
    tree: str = ""
    """Digest of these files."""
    node: bool = False
    """True for a program of node, which reserves more memory than it uses."""
    url: str = ""
    headers: dict[str, str] = {}
    """Header -> name of the secret that is its value."""
    network: tuple[str, ...] = ()
    """Hosts that a boxed server may talk to, as in `Capabilities`."""
    secrets: tuple[str, ...] = ()
    model_calls: int = 0
    """How often it may ask a model while one of its tools runs (sampling)."""
    elicitation: bool = False
    """Whether it may ask the person while one of its tools runs."""
    roots: tuple[str, ...] = ()
    """Folders that it gets when it asks for roots, as `file://` URIs."""

    @property
    def capabilities(self) -> Capabilities:
        """What the server may use while one of its tools runs."""
        return Capabilities(network=self.network, secrets=self.secrets, model_calls=self.model_calls)

    @property
    def granted_requests(self) -> tuple[str, ...]:
        """The requests of the protocol that are answered if it makes them."""
        granted = (
            ("sampling/createMessage", bool(self.model_calls)),
            ("elicitation/create", self.elicitation),
            ("roots/list", bool(self.roots)),
        )
        return tuple(method for method, may in granted if may)

    @property
    def requests_in_words(self) -> tuple[str, ...]:
        """The requests that it may make, in words."""
        times = "once" if self.model_calls == 1 else f"{self.model_calls} times"
        requests = (
            (f"ask your model {times} a run", bool(self.model_calls)),
            ("ask you while it runs", self.elicitation),
            (f"be told of {', '.join(self.roots)}", bool(self.roots)),
        )
        return tuple(words for words, may in requests if may)

    @property
    def where(self) -> str:
        """Where it runs, in one word, or its address without anything that may be a key."""
        return self.url.partition("?")[0] or self.place

    @property
    def digest(self) -> str:
        """Its identity: SHA-256 (hex) over all of this."""
        return digest_of(msgspec.json.encode(self, order="sorted").decode())


class Pinned(Value, frozen=True):
    """The document that is the code of a remote tool."""

    server: ServerSpec
    calls_itself: dict[str, str]
    """Name and version as the server reports them: a claim, and part of what is approved."""
    tool: dict[str, Any]
    """The descriptor as it was on the wire."""

    @property
    def tool_name(self) -> str:
        """The name by which the server knows the tool."""
        return str(self.tool["name"])


def pinned(draft: ToolDraft) -> Pinned:
    """Return the pinned descriptor of a remote tool. Raise RegistryError for any other tool."""
    try:
        return msgspec.json.decode(draft.code.encode(), type=ready(Pinned))
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        raise RegistryError(f"{draft.name} is no tool of a server: {error}.") from error


def uses_of(record: ToolRecord) -> tuple[str, ...]:
    """Return what a run of a tool may use, by way of the tools that it calls included: its grants, or all there is."""
    anything = record.origin == "remote" and pinned(record.draft).server.place == "host"
    return (*used_by(record.granted), *((ON_HOST,) if anything else ()))


def shown(record: ToolRecord) -> str:
    """Return a tool's code as people read it: what was pinned of a remote one with a value a line."""
    if record.origin != "remote":
        return record.draft.code
    return msgspec.json.format(record.draft.code, indent=2)


def parts_of(tool: dict[str, Any]) -> tuple[str, Json, Json]:
    """Return description and both schemas of a descriptor."""
    described = tool.get("description") or tool.get("title") or tool["name"]
    return str(described), tool["inputSchema"], tool.get("outputSchema") or {}
