"""Memory: what was recalled, written and forgotten."""

from __future__ import annotations

from typing import Literal

import msgspec

from alita_tui.events.base import Fact, Json, ToolName, Value

MemoryKind = Literal["episodic", "semantic", "procedural"]

MemoryOrigin = Literal[
    "task", "failure", "rejection", "statement", "answer", "correction", "result", "person"
]
"""Where it was learned: a task's course or failure, a rejected build, the person's words (unasked, as an answer,
against what was remembered), a tool's result, or the person's own edit of the memory.
"""


class RecipeStep(Value, frozen=True):
    """One call of a recipe."""

    tool: ToolName
    arguments: Json = msgspec.field(default_factory=dict)
    """`{"$param": NAME}` stands for what a task gives, `{"$ref": "s1#/json/pointer"}` for what step 1 brought."""


class MemoryItem(Value, frozen=True):
    """One remembered thing, tied to the event it came from."""

    item_id: str
    memory: MemoryKind
    text: str
    source_session: str = ""
    source_seq: int = 0
    score: float = 0.0
    """How well it fits the task, 0 to 1; 0 when not recalled."""
    why: str = ""
    """The words that matched, and what else speaks for it."""
    tools: tuple[str, ...] = ()
    """The tool chain of a recipe."""
    origin: MemoryOrigin = "task"
    subject: str = ""
    """What a fact is about; a newer fact about the same closes it."""
    outcome: str = ""
    """How the task ended; empty in older files, and for what is no task."""
    cost_usd: float | None = None
    """What the task cost; None where a call had no known price."""
    artefacts: tuple[str, ...] = ()
    """Names of the files that the task made."""
    steps: tuple[RecipeStep, ...] = ()
    """The calls of a recipe; empty in older files, and where it is recalled: the text says them."""


class MemoryRecalled(Fact, frozen=True):
    """What the agent remembered of earlier tasks."""

    task_id: str
    items: tuple[MemoryItem, ...] = ()


class MemoryWritten(Fact, frozen=True):
    """What the agent will remember of this one."""

    item: MemoryItem
    closes: tuple[str, ...] = ()
    """Item ids of the facts that it contradicts; they hold no longer."""


class MemoryForgotten(Fact, frozen=True):
    """The person had an item forgotten or restored. The model does not see a forgotten one."""

    item_id: str
    back: bool = False
    """True if the item was restored."""
