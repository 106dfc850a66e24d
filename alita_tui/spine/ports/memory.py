"""Memory: items, facts, and what the agent asks of it."""

from __future__ import annotations

from typing import Literal, Protocol

from alita_tui.events import TaskId
from alita_tui.events.base import Value
from alita_tui.events.memory import MemoryItem, MemoryOrigin, RecipeStep
from alita_tui.events.track import Rating

REJECTION = "rejection:"
"""Prefix of the id of a lesson from a rejection; the tool's name follows."""
FAILURE = "failure:"
"""Prefix of the id of a lesson from a task that led nowhere."""

OFFERED = 3
"""Number of successes with the same calls from which a recipe is offered as one tool."""

OWN_WORDS: tuple[MemoryOrigin, ...] = ("statement", "correction", "person")
"""Origins of facts in the person's own words; an answer is not among them, because a model wrote its question."""

SHARED = ""
"""The project of items that are shared by all projects."""


MemorySort = Literal["fact", "recipe", "episode", "failure", "rejection"]


def sort_of(item: MemoryItem) -> MemorySort:
    """Return the sort of an item, by its id and its kind of memory."""
    if item.item_id.startswith(FAILURE):
        return "failure"
    if item.item_id.startswith(REJECTION):
        return "rejection"
    if item.memory == "procedural":
        return "recipe"
    return "episode" if item.memory == "episodic" else "fact"


class ProposedFact(Value, frozen=True):
    """A fact that a model proposes to remember from a task. It counts only if the record confirms it."""

    subject: str
    statement: str
    event: int
    """Number of the event that contains the statement word for word."""


def record_words(worked: int, failed: int, liked: int) -> str:
    """Return a recipe's record in words. `worked` includes `liked`, the 👍, each for a try that is counted, too."""
    tries = max(worked - liked, 0)
    times = f"{tries} of {tries + failed} times"
    return f"{times}, and liked {'once' if liked == 1 else f'{liked} times'}" if liked else times


class Learn(Protocol):
    """Derives what one task teaches from the record, and which of the proposed facts the record confirms."""

    def __call__(self, task_id: TaskId, proposed: tuple[ProposedFact, ...] = ()) -> tuple[MemoryItem, ...]:
        """Return the items of one task."""


class Remembered(Value, frozen=True):
    """A stored item, for display."""

    item: MemoryItem
    """The item, with notes about it added to its text."""
    project: str = SHARED
    at: str = ""
    """When it was last learned or confirmed (ISO 8601, UTC); empty in older files."""
    until: str = ""
    """For a contradicted fact: the time from which it is no longer true."""
    pinned: bool = False
    worked: int = 0
    """How often a recipe answered a task; each 👍 counts as one more."""
    failed: int = 0
    sources: tuple[str, ...] = ()
    """`session:seq` of the events that it was learned from, newest last."""
    steps: tuple[RecipeStep, ...] = ()
    """For a recipe: the calls that its successes have in common."""
    shape_worked: int = 0
    """How many successes used exactly those calls."""
    liked: int = 0
    """How many of the answers that it was learned from got a 👍."""
    disliked: int = 0
    """How many of them got a 👎: a recipe counts each as a failure, and an answer is hardly ever recalled then."""

    @property
    def answered(self) -> tuple[int, int]:
        """How often a recipe answered a task, and of how many tries; a 👍 does not count here."""
        worked = max(self.worked - self.liked, 0)
        return worked, worked + self.failed

    @property
    def record(self) -> str:
        """How often a recipe answered a task, and how many of these answers the person liked, in words."""
        return record_words(self.worked, self.failed, self.liked)

    @property
    def said(self) -> str:
        """The person's ratings of those answers in words; empty if there are none."""
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
    """The fact that something was forgotten; its content is not stored."""

    digest: str
    at: str = ""


class Memory(Protocol):
    """The memory of earlier tasks. Implemented by `memory`; synchronous and in memory."""

    def recall(self, task: str) -> tuple[MemoryItem, ...]:
        """Return a few items that are relevant to a task, best first."""

    def write(self, item: MemoryItem) -> tuple[str, ...] | None:
        """Store one item, in place of one with the same id.

        Return the ids of the facts that it contradicts and replaces; None if the person had this item forgotten, so
        that it is not stored. Raise StoreError.
        """

    def lessons(self, name: str, goal: str) -> tuple[MemoryItem, ...]:
        """Return why earlier builds of this name, or for such a goal, were rejected; best first."""

    def record(self, tools: tuple[str, ...]) -> tuple[int, int]:
        """Return how often this chain of tools answered a task, and how often it did not."""

    def offers(self, item_id: str) -> bool:
        """Return whether a recipe has just reached the number of successes from which it is offered as one tool."""

    def recipe_failed(self, item_id: str) -> None:
        """Record that a task which followed this recipe was not answered."""

    def rate(self, item_id: str, source: str, rating: Rating | None) -> None:
        """Store the person's rating of the answer at `session:seq` that an item was learned from; None removes it.

        Repeating it changes nothing. Raise StoreError.
        """
