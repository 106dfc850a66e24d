"""Memory: what was recalled and written."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import Fact, Value


class MemoryItem(Value, frozen=True):
    """One remembered thing, tied to the event it came from."""

    item_id: str
    memory: Literal["episodic", "semantic", "procedural"]
    text: str
    source_session: str = ""
    source_seq: int = 0
    score: float = 0.0
    """Relevance to the query, 0 to 1; 0 when not recalled."""
    why: str = ""
    """The words that matched."""
    tools: tuple[str, ...] = ()
    """The tool chain of a recipe."""


class MemoryRecalled(Fact, frozen=True):
    """What the agent remembered of earlier tasks."""

    task_id: str
    items: tuple[MemoryItem, ...] = ()


class MemoryWritten(Fact, frozen=True):
    """What the agent will remember of this one."""

    item: MemoryItem
