"""What the table of actions is made of."""

from __future__ import annotations

import msgspec


class Action(msgspec.Struct, frozen=True):
    """Something a person can do, and the key that does it."""

    id: str
    """`owner.name`; the owner is the screen or widget that has the binding."""
    key: str
    """Textual key names, separated by commas."""
    run: str
    """The owner's action, with its parameters."""
    label: str
    tooltip: str
    palette: str = ""
    """Name in the command palette, as `group: verb`; empty for keys that make sense in place only."""
    live: bool = True
    """Offered while an engine listens."""
    replay: bool = True
    """Offered while a recording plays."""
    priority: bool = False
    """Works whatever has the focus."""

    @property
    def owner(self) -> str:
        """The first part of the id."""
        return self.id.partition(".")[0]
