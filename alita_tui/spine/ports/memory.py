"""Memory."""

from __future__ import annotations

from typing import Protocol

from alita_tui.events.memory import MemoryItem

REJECTION = "rejection:"
"""Begins the id of what a rejection teaches; the tool's name follows."""


class Memory(Protocol):
    """What earlier tasks taught. Met by `memory`; synchronous and in memory."""

    def recall(self, task: str) -> tuple[MemoryItem, ...]:
        """Return a few items that bear on the task, best first."""

    def write(self, item: MemoryItem) -> None:
        """Store one item, in place of one with the same id."""

    def lessons(self, name: str, goal: str) -> tuple[MemoryItem, ...]:
        """Return why earlier builds of this name, or for such a goal, were rejected; best first."""

    def recipe_failed(self, item_id: str) -> None:
        """Record that a task which followed this recipe was not answered."""
