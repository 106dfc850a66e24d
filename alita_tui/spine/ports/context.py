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
    """What was found for a task."""

    blocks: tuple[ContextBlock, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read, for the person."""


class Part(Value, frozen=True):
    """One part of a request."""

    name: str
    turns: int
    tokens: int
    """Estimated, rather too many than too few."""
    block: str = ""
    """The block that it is; empty for what cannot be switched off."""
    on: bool = True
    text: str = ""
    """Raw, as it is sent."""


class NextCall(Value, frozen=True):
    """A request that was not made."""

    parts: tuple[Part, ...]
    """Those that are off as well, with no tokens."""
    tokens: int
    window: int
    """Tokens that the model reads and writes at most."""
    known_window: bool
    masked: int = 0
    """Observations that are down to one line."""
    shortened: int = 0
    left_out: int = 0
    """Turns that are not sent."""
    problems: tuple[str, ...] = ()
    """What could not be read."""


class Provider(Protocol):
    """Brings texts from outside the session. Met by `context`."""

    def provide(self, task: str, wanted: Collection[str]) -> Provided:
        """Return the blocks of these names that have something to say about a task; block on the disk.

        Secrets are taken out before anything is cut.
        """

    def skill_file(self, path: str) -> bytes:
        """Return a file of an approved skill by `NAME/PATH`; block on the disk. Raise RegistryError, StoreError."""


def off(defaults: Collection[str], switches: Mapping[str, bool]) -> frozenset[str]:
    """Return the blocks that are off, given those that the settings have on and what the person switched."""
    return frozenset(name for name in BLOCKS if not switches.get(name, name in defaults))
