"""The blocks of the context, and the provider of those from outside the session."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, Protocol

from alita_tui.events import ContextBlock, Value

BlockName = Literal[
    "environment",
    "library",
    "named",
    "workspace",
    "memory",
    "earlier",
    "preferences",
    "documents",
    "skills",
    "repository",
]

BLOCKS: Mapping[BlockName, str] = {
    "environment": "date, time zone, locale, and what tools run on",
    "library": "how many tools the library has",
    "named": "hosts and secrets, by name, that you named for tools",
    "workspace": "names of the files in the workspace",
    "memory": "what was learned from earlier sessions",
    "earlier": "earlier tasks of the session",
    "preferences": "what you want to hold for every task",
    "documents": "passages of your documents that bear on the task",
    "skills": "names and descriptions of the skills that you approved",
    "repository": "tree, README and symbols of the folder where alita was started",
}
"""Every block that can be switched off, and what it contains."""


class Provided(Value, frozen=True):
    """The blocks that were read for a task."""

    blocks: tuple[ContextBlock, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read, for the person."""


class Part(Value, frozen=True):
    """One part of a request."""

    name: str
    turns: int
    tokens: int
    """An upper estimate."""
    block: str = ""
    """Name of the block; empty for a part that cannot be switched off."""
    on: bool = True
    text: str = ""
    """The text as it is sent, not neutralised."""


class NextCall(Value, frozen=True):
    """A request that was built but not sent."""

    parts: tuple[Part, ...]
    """All parts; those that are switched off have no tokens."""
    tokens: int
    window: int
    """The model's window in tokens, for reading and writing together."""
    known_window: bool
    masked: int = 0
    """Number of observations that are shortened to one line."""
    shortened: int = 0
    left_out: int = 0
    """Number of turns that are not sent."""
    problems: tuple[str, ...] = ()
    """What could not be read."""


class Provider(Protocol):
    """Reads texts from outside the session. Implemented by `context`."""

    def provide(self, task: str, wanted: Collection[str]) -> Provided:
        """Return those of the wanted blocks that have content for a task; block on the disk.

        Secrets are removed before anything is cut.
        """

    def skill_file(self, path: str) -> bytes:
        """Return a file of an approved skill by `NAME/PATH`; block on the disk. Raise RegistryError, StoreError."""


def off(defaults: Collection[str], switches: Mapping[str, bool]) -> frozenset[str]:
    """Return the blocks that are off: `defaults` are on by the settings, `switches` are the person's changes."""
    return frozenset(name for name in BLOCKS if not switches.get(name, name in defaults))
