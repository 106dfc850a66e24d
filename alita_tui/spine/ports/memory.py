"""Memory."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, Protocol

from alita_tui.events.base import Value
from alita_tui.events.memory import MemoryItem, MemoryOrigin, RecipeStep
from alita_tui.events.track import Rating

REJECTION = "rejection:"
"""Begins the id of what a rejection teaches; the tool's name follows."""
FAILURE = "failure:"
"""Begins the id of what a task that led nowhere teaches."""

OFFERED = 3
"""Successes of one shape from which a recipe is offered as one tool."""

OWN_WORDS: tuple[MemoryOrigin, ...] = ("statement", "correction", "person")
"""Where a fact comes from that is the person's word alone; in an answer the question is a model's."""

SHARED = ""
"""The project of what holds everywhere."""


MemorySort = Literal["fact", "recipe", "episode", "failure", "rejection"]


def sort_of(item: MemoryItem) -> MemorySort:
    """Return what an item is, by its id and its kind of memory."""
    if item.item_id.startswith(FAILURE):
        return "failure"
    if item.item_id.startswith(REJECTION):
        return "rejection"
    if item.memory == "procedural":
        return "recipe"
    return "episode" if item.memory == "episodic" else "fact"


class ProposedFact(Value, frozen=True):
    """What a model thinks worth remembering of a task. It counts only if the record bears it out."""

    subject: str
    statement: str
    event: int
    """Number of the event in which the statement stands word for word."""


class Learn(Protocol):
    """Derives what one task teaches from the record, and which of the proposed facts it bears out."""

    def __call__(self, task_id: str, proposed: tuple[ProposedFact, ...] = ()) -> tuple[MemoryItem, ...]:
        """Return the items of one task."""


class Remembered(Value, frozen=True):
    """An item as memory keeps it, for people."""

    item: MemoryItem
    """With what is known about it in its text."""
    project: str = SHARED
    at: str = ""
    """When it was last learned or confirmed (ISO 8601, UTC); empty in older files."""
    until: str = ""
    """For a fact that was contradicted: since when it holds no longer."""
    pinned: bool = False
    worked: int = 0
    failed: int = 0
    sources: tuple[str, ...] = ()
    """`session:seq` of the events that it was learned from, newest last."""
    steps: tuple[RecipeStep, ...] = ()
    """For a recipe: the calls that its successes have in common."""
    shape_worked: int = 0
    """How many successes those calls stand for."""
    liked: int = 0
    """How many of the answers that it was learned from got a 👍."""
    disliked: int = 0
    """And how many a 👎: these count as failures of a recipe, and let an answer hardly be recalled."""

    @property
    def said(self) -> str:
        """What the person said of those answers, in words; empty for nothing."""
        words = [f"👍 {self.liked}×"] if self.liked else []
        return ", ".join([*words, f"👎 {self.disliked}×"] if self.disliked else words)

    @property
    def sort(self) -> MemorySort:
        """What it is."""
        return sort_of(self.item)

    @property
    def offered(self) -> bool:
        """True for a recipe of several calls that has worked often enough, in one shape, to be one tool."""
        return self.sort == "recipe" and self.shape_worked >= OFFERED and len(self.steps) > 1

    @property
    def holds(self) -> bool:
        """True unless a newer fact contradicts it."""
        return not self.until


class Forgotten(Value, frozen=True):
    """That something was forgotten; what it was is not kept."""

    digest: str
    at: str = ""


class Memory(Protocol):
    """What earlier tasks taught. Met by `memory`; synchronous and in memory."""

    def recall(self, task: str) -> tuple[MemoryItem, ...]:
        """Return a few items that bear on the task, best first."""

    def write(self, item: MemoryItem) -> tuple[str, ...] | None:
        """Store one item, in place of one with the same id.

        Return the ids of the facts that it contradicts, which hold no longer; None where the person had this
        forgotten, and nothing is stored. Raise StoreError.
        """

    def lessons(self, name: str, goal: str) -> tuple[MemoryItem, ...]:
        """Return why earlier builds of this name, or for such a goal, were rejected; best first."""

    def record(self, tools: tuple[str, ...]) -> tuple[int, int]:
        """Return how often this chain of tools answered a task, and how often it did not."""

    def offers(self, item_id: str) -> bool:
        """Return whether a recipe has just worked often enough to be offered as one tool."""

    def recipe_failed(self, item_id: str) -> None:
        """Record that a task which followed this recipe was not answered."""

    def rate(self, item_id: str, source: str, rating: Rating | None) -> None:
        """Keep what the person says of the answer that an item was learned from, at `session:seq`; None: nothing.

        Doing it again changes nothing. Raise StoreError.
        """

    def forgotten_among(self, item_ids: Collection[str]) -> set[str]:
        """Return those of these ids that the person had forgotten."""


class MemoryDesk(Protocol):
    """What a person may do with the memory. Met by `memory`; blocks on the disk. Each method may raise StoreError."""

    def remembered(self) -> tuple[Remembered, ...]:
        """Return everything remembered, oldest first."""

    def forgotten(self) -> tuple[Forgotten, ...]:
        """Return what was forgotten, oldest first."""

    def find(self, item_id: str) -> Remembered:
        """Return an item by its id or its beginning. Raise UsageError."""

    def edit(self, item_id: str, text: str) -> Remembered:
        """Put the person's words in place of a fact's or a lesson's. Raise UsageError."""

    def pin(self, item_id: str, pinned: bool) -> Remembered:
        """Keep an item from ageing and from being left out, or no longer. Raise UsageError."""

    def move(self, item_id: str, project: str) -> Remembered:
        """Let an item belong to a project, or to all (`SHARED`). Raise UsageError."""

    def forget(self, item_id: str) -> Remembered | None:
        """Remove an item for good; return what it was, None for a missing one."""

    def bring_back(self, kept: Remembered) -> None:
        """Take back that an item was forgotten."""
