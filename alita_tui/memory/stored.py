"""A stored item: its text, trust, age and digest."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR, datetime
from hashlib import sha256
from typing import Annotated

import msgspec

from alita_tui.events import Json, MemoryItem, Rating, Value, ready
from alita_tui.memory.lessons import FOOTNOTE
from alita_tui.memory.recipes import Graph, in_words, manner
from alita_tui.memory.stated import known_about, stems
from alita_tui.spine.ports.memory import MemorySort, Remembered, record_words, sort_of

TRUST = {
    "statement": 1.0, "correction": 1.0, "person": 1.0, "answer": 0.9, "rejection": 0.9, "task": 0.8, "failure": 0.8,
    "result": 0.7,
}  # fmt: skip
"""Origin -> trust in an item, for items other than recipes."""
_FOUND_WRONG, _FOUND_GOOD = 0.1, 1.0
"""The same for an answer or a result that the person rated."""
_RATED_ORIGINS = ("task", "result")
"""Origins of items that rest on an answer. A statement of the person is valid even if the answer was wrong."""
_ABOUT = 0.6
"""Relevance of a fact whose whole subject the task names."""
_HALF_LIFE: dict[MemorySort, float] = {
    "fact": 365.0,
    "recipe": 180.0,
    "episode": 90.0,
    "failure": 45.0,
    "rejection": 365.0,
}
"""Half-life in days."""


class StoredItem(Value, frozen=True):
    """One document of the memory."""

    item: MemoryItem
    worked: Annotated[int, msgspec.Meta(ge=0)] = 0
    failed: Annotated[int, msgspec.Meta(ge=0)] = 0
    sources: tuple[str, ...] = ()
    """`session:seq` of the events it was learned from, newest last."""
    tasks: tuple[str, ...] = ()
    """For recipes: the tasks it answered."""
    at: str = ""
    """When it was last learned, confirmed or edited (ISO 8601); empty in older files."""
    until: str = ""
    """For a fact that was contradicted: when that happened."""
    closes: tuple[str, ...] = ()
    """For a fact: the ids of the facts that it contradicted and replaced; empty in older files."""
    pinned: bool = False
    project: str = ""
    graph: Graph = Graph()
    """For recipes: what the calls of its successes have in common."""
    ratings: dict[str, Rating] = msgspec.field(default_factory=dict, name="said")
    """The person's ratings of the answers that it was learned from, by source; empty in older files."""

    @property
    def sort(self) -> MemorySort:
        """What it is."""
        return sort_of(self.item)

    @property
    def is_recipe(self) -> bool:
        """True for a chain of calls that answered tasks."""
        return self.sort == "recipe"

    @property
    def trust(self) -> float:
        """Trust, 0 to 1: for a recipe its success rate, shrunk towards one half while there are few uses."""
        if self.pinned:
            return 1.0
        if self.is_recipe:
            worked, failed = self.record
            return (worked + 1) / (worked + failed + 2)
        rating = self.ratings.get(self.sources[-1]) if self.sources else None
        if rating is not None and self.item.origin in _RATED_ORIGINS:
            return _FOUND_GOOD if rating == "up" else _FOUND_WRONG
        return TRUST[self.item.origin]

    @property
    def record(self) -> tuple[int, int]:
        """How often a recipe worked and failed; a 👍 counts as one more success, a 👎 turns one into a failure."""
        good, wrong = (sum(value == rating for value in self.ratings.values()) for rating in ("up", "down"))
        return max(self.worked - wrong, 0) + good, self.failed + wrong

    def rated(self, source: str, rating: Rating | None) -> StoredItem:
        """Return the item with the person's rating of the answer at a source; None removes the rating."""
        remaining = {
            rated_source: value for rated_source, value in self.ratings.items() if rated_source != source
        }
        if rating is None or not (self.is_recipe or self.item.origin in _RATED_ORIGINS):
            return msgspec.structs.replace(self, ratings=remaining)
        return msgspec.structs.replace(self, ratings={**remaining, source: rating})

    def freshness(self, now: datetime) -> float:
        """Freshness, 0 to 1; pinned items, and those from before dates were recorded, do not age."""
        if self.pinned or not self.at:
            return 1.0
        days = (now - datetime.fromisoformat(self.at)).total_seconds() / 86_400
        return float(0.5 ** (max(days, 0.0) / _HALF_LIFE[self.sort]))

    def shown(self, project: str | None = None) -> MemoryItem:
        """Return the item with notes about it added to its text.

        Tasks that a recipe answered in another project are left out.
        """
        if not self.is_recipe:
            return self.item
        calls = in_words(self.graph.steps) if self.graph.steps else " → ".join(self.item.tools)
        liked = sum(rating == "up" for rating in self.ratings.values())
        record = f"worked {record_words(*self.record, liked)}"
        same_project = project is None or self.project in ("", project)
        text = f"{self.item.text}: {calls} ({record})" if same_project else f"{calls} ({record})"
        return msgspec.structs.replace(self.item, text=text, steps=())

    def remembered(self) -> Remembered:
        """Return the item in its form for display."""
        worked, failed = self.record
        wrong = sum(rating == "down" for rating in self.ratings.values())
        return Remembered(
            item=self.shown(), project=self.project, at=self.at, until=self.until, pinned=self.pinned,
            worked=worked, failed=failed, sources=self.sources, steps=self.graph.steps,
            shape_worked=max(self.graph.worked - wrong, 0), liked=len(self.ratings) - wrong, disliked=wrong,
        )  # fmt: skip


class Tombstone(Value, frozen=True):
    """What remains of a forgotten item: digests, so that it is not learned again."""

    forgotten: str
    """Digest of its id."""
    content: str
    at: str = ""

    @classmethod
    def of(cls, stored: StoredItem, at: str) -> Tombstone:
        """Return what remains of an item."""
        item = msgspec.structs.replace(stored.item, steps=stored.graph.steps)
        return cls(forgotten=id_digest(item.item_id), content=content_digest(item), at=at)

    def covers(self, item: MemoryItem) -> bool:
        """Return whether an item is the forgotten one; an earlier version forgot recipes by their tools alone."""
        contents = (content_digest(item), content_digest(msgspec.structs.replace(item, steps=())))
        return self.forgotten == id_digest(item.item_id) or self.content in contents


def bears_on(stored: StoredItem, named: set[str]) -> float:
    """Return the relevance of a fact by the share of its subject's stems that the task names."""
    subject = stems(stored.item.subject) if stored.sort == "fact" else ()
    matching = sum(stem in named for stem in subject)
    share = matching / len(subject) if subject else 0.0
    return _ABOUT * share if share == 1 or (share >= 0.5 and matching > 1) else 0.0


def contradicts(newer: StoredItem, older: StoredItem) -> bool:
    """Return whether a fact says something else of the same subject than an older one, which holds where it does.

    Neither a tool's result nor an answer to a model's question contradicts a statement of the person: their origin is
    trusted less.
    """
    if not (newer.sort == older.sort == "fact") or older.until or newer.item.item_id == older.item.item_id:
        return False
    if older.project not in ("", newer.project) or TRUST[older.item.origin] > TRUST[newer.item.origin]:
        return False
    subject = known_about(newer.item.subject)
    return bool(subject) and subject == known_about(older.item.subject)


def closes(newer: StoredItem, older: StoredItem) -> bool:
    """Return whether the newer fact still replaces the older one, which may have been restated since."""
    return older.at < newer.at or (older.at == newer.at and newer.item.item_id not in older.closes)


def encodable(items: Mapping[str, StoredItem]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the texts for an encoder: the tasks of recipes, newest first, then all current items."""
    newest = [*items.values()][::-1]
    recipes = {stored.item.item_id: ("", stored.tasks) for stored in newest if stored.is_recipe}
    current = [stored.item for stored in newest if not stored.is_recipe and not stored.until]
    return recipes | {entry.item_id: ("", (entry.text.split(FOOTNOTE)[0],)) for entry in current}


def id_digest(item_id: str) -> str:
    """Return the digest that identifies an id after it was forgotten."""
    return sha256(item_id.encode("utf-8", "replace")).hexdigest()


def content_digest(item: MemoryItem) -> str:
    """Return the digest of an item's text, ignoring case, whitespace and punctuation; for a recipe of its calls."""
    text = item.text.split(FOOTNOTE)[0]
    tools = item.tools if item.memory == "procedural" else ()
    plain = "".join(char if char.isalnum() else " " for char in text.casefold()).split()
    content = " ".join((*tools, *manner(item.steps))) if tools else " ".join(plain)
    return sha256(f"{item.memory}\n{content}".encode("utf-8", "replace")).hexdigest()


def read(document: Json) -> StoredItem | Tombstone | None:
    """Return a document as a value, or None; one that cannot be read is skipped and stays on disk."""
    try:
        if isinstance(document, dict) and "forgotten" in document:
            return msgspec.convert(document, ready(Tombstone))
        stored = msgspec.convert(document, ready(StoredItem))
    except msgspec.ValidationError:
        return None
    return stored if all(map(_is_moment, filter(None, (stored.at, stored.until)))) else None


def _is_moment(text: str) -> bool:
    """Return whether a text is a time that is valid in every time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return False
    return moment.tzinfo is not None and MINYEAR < moment.year < MAXYEAR
