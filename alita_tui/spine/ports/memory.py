"""Memory."""

from __future__ import annotations

from typing import Protocol

from alita_tui.events.memory import MemoryItem

REJECTION = "rejection:"
"""Begins the id of what a rejection teaches; the tool's name follows."""


class Memory(Protocol):
    """What earlier tasks taught. Met by `memory`; synchronous and in memory."""

    def recall(self, task: str) -> tuple[MemoryItem, ...]:
        """A few items that bear on the task, best first, or none."""

    def write(self, item: MemoryItem) -> None:
        """Keep one item. An item with the same id is replaced."""

    def lessons(self, name: str, goal: str) -> tuple[MemoryItem, ...]:
        """Why earlier builds of this name, or for such a goal, were rejected; best first, or none."""

    def recipe_failed(self, item_id: str) -> None:
        """A task that followed this recipe was not answered."""
