"""Which tools call which: the pins of the versions that run now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from alita_tui.events import ToolRecord, Value
from alita_tui.spine.grants import ToolGrant, tool_grants

if TYPE_CHECKING:
    from alita_tui.registry.library import ToolLibrary


class Edge(Value, frozen=True):
    """A tool and a tool that it may call."""

    caller: str
    caller_version: int
    callee: str
    callee_version: int
    """The version that it is pinned to."""
    current: int | None = None
    """The version of the called tool that runs now; None if none does."""

    @property
    def behind(self) -> bool:
        """True if the called tool now runs in another version, which this caller does not call."""
        return self.current != self.callee_version


def edges(library: ToolLibrary) -> tuple[Edge, ...]:
    """Return which tool may call which, by name."""
    calls = (
        Edge(
            caller=record.draft.name,
            caller_version=record.version,
            callee=grant.name,
            callee_version=grant.version,
            current=library.current(grant.name),
        )
        for record in running(library)
        for grant in tool_grants(record.granted)
    )
    return tuple(sorted(calls, key=lambda edge: (edge.caller, edge.callee)))


def callers_of(library: ToolLibrary, name: str) -> tuple[tuple[ToolRecord, ToolGrant], ...]:
    """Return the running versions that may call a tool, with the version that each is pinned to. No files are read."""
    return tuple(
        (record, grant)
        for record in running(library)
        for grant in tool_grants(record.granted)
        if grant.name == name
    )


def running(library: ToolLibrary) -> Iterator[ToolRecord]:
    """Yield the version of each tool that runs when none is named, by name. Files are not read."""
    for name in library.names():
        current = library.current(name)
        yield from (record for record in library.versions(name) if record.version == current)
