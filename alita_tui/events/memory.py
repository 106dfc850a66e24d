"""Memory: what was recalled, written and forgotten."""

from __future__ import annotations

from typing import Literal

import msgspec

from alita_tui.events.base import Fact, Json, TaskId, ToolName, Value

MemoryKind = Literal["episodic", "semantic", "procedural"]

MemoryOrigin = Literal[
    "task", "failure", "rejection", "statement", "answer", "correction", "result", "person"
]
"""Where it was learned: from a task's course or failure, a rejected build, the person's words (unasked, as an answer or
a correction), a tool's result, or the person's edit of the memory.
"""


class RecipeStep(Value, frozen=True):
    """One call of a recipe."""

    tool: ToolName
    arguments: Json = msgspec.field(default_factory=dict)
    """`{"$param": NAME}` is a value from the task, `{"$ref": "s1#/json/pointer"}` one from step 1's result."""


class MemoryItem(Value, frozen=True):
    """One item of the memory, with the event that it was learned from."""

    item_id: str
    memory: MemoryKind
    text: str
    source_session: str = ""
    source_seq: int = 0
    score: float = 0.0
    """How well it fits the task, 0 to 1; 0 if it is not recalled."""
    why: str = ""
    """The words that matched, and other reasons for recalling it."""
    tools: tuple[str, ...] = ()
    """The tool chain of a recipe."""
    origin: MemoryOrigin = "task"
    subject: str = ""
    """The subject of a fact; a newer fact with the same subject replaces it."""
    outcome: str = ""
    """How the task ended; empty in older files, and for items that are no task."""
    cost_usd: float | None = None
    """The cost of the task; None if a call had no known price."""
    artefacts: tuple[str, ...] = ()
    """Names of the files that the task made."""
    steps: tuple[RecipeStep, ...] = ()
    """The calls of a recipe; empty in older files, and in a recalled recipe, whose text describes them."""


class MemoryRecalled(Fact, frozen=True):
    """Items from earlier tasks were recalled for this one."""

    task_id: TaskId
    items: tuple[MemoryItem, ...] = ()


class MemoryWritten(Fact, frozen=True):
    """An item was learned from this task."""

    item: MemoryItem
    closes: tuple[str, ...] = ()
    """Ids of the facts that it contradicts and replaces."""


class MemoryForgotten(Fact, frozen=True):
    """The person had an item forgotten or restored. The model does not see a forgotten one."""

    item_id: str
    back: bool = False
    """True if the item was restored."""
