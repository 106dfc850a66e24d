"""What the memory screen needs; implemented in `app`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

from alita_tui.spine.commands import Improve
from alita_tui.spine.ports.memory import Remembered

MemoryChange = Literal["pin", "unpin", "forget", "back", "edit", "move"]


class MemoryView(msgspec.Struct, frozen=True):
    """The memory as it is now."""

    items: tuple[Remembered, ...] = ()
    """Oldest first."""
    project: str = ""
    """The one whose items are recalled besides the shared ones; empty for none."""
    forgotten: int = 0
    calls: Mapping[str, tuple[str, ...]] = {}
    """Item id of each recipe -> its calls in words."""


class MemoryCatalog(Protocol):
    """The memory of all sessions. Every method may raise AlitaError."""

    async def memory(self) -> MemoryView:
        """Return everything that is remembered."""

    async def change_memory(self, change: MemoryChange, item_id: str, text: str = "") -> MemoryView:
        """Change an item, or forget it; `text` is what it should say, or the project that it moves to."""

    async def recipe_as_tool(self, item_id: str) -> Improve:
        """Return the order to build a recipe as one tool."""
