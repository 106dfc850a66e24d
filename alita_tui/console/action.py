"""An action and its key."""

from __future__ import annotations

import msgspec


class Action(msgspec.Struct, frozen=True):
    """Something a person can do, and its key."""

    id: str
    """`owner.name`; the owner is the screen or widget that has the binding."""
    key: str
    """Textual key names, separated by commas."""
    run: str
    """Textual action to run on the owner, with its parameters."""
    label: str
    tooltip: str
    palette: str = ""
    """Name in the command palette, as `group: verb`; empty to leave it out."""
    live: bool = True
    """Available in a live session."""
    replay: bool = True
    """Available in a replay."""
    priority: bool = False
    """Works whatever has focus."""

    @property
    def owner(self) -> str:
        """Return the first part of the id."""
        return self.id.partition(".")[0]
