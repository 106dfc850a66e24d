"""An item as it is stored: what it says, how far it is trusted, how fast it ages, and what its digest is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR, datetime
from hashlib import sha256
from typing import Annotated

import msgspec

from alita_tui.events import Json, MemoryItem, Rating, Value, ready
from alita_tui.memory.lessons import FOOTNOTE
from alita_tui.memory.recipes import Graph, said
from alita_tui.memory.stated import stems
from alita_tui.spine.ports.memory import MemorySort, Remembered, sort_of

TRUST = {
    "statement": 1.0, "correction": 1.0, "person": 1.0, "answer": 0.9, "rejection": 0.9, "task": 0.8, "failure": 0.8,
    "result": 0.7,
}  # fmt: skip
"""How far what is no recipe is relied on, by where it was learned."""
_FOUND_WRONG, _FOUND_GOOD = 0.1, 1.0
"""The same for an answer or a result that the person rated."""
_RATED_ORIGINS = ("task", "result")
"""Where what was learned rests on an answer. What the person said themselves holds, whatever became of the answer."""
_ABOUT = 0.6
"""Relevance of a fact whose whole subject the task names."""
_HALF_LIFE: dict[MemorySort, float] = {
    "fact": 365.0,
    "recipe": 180.0,
    "episode": 90.0,
    "failure": 45.0,
    "rejection": 365.0,
}
"""Days after which something counts half."""


class Kept(Value, frozen=True):
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
    """For a fact that was contradicted: since when."""
    closes: tuple[str, ...] = ()
    """For a fact: ids of those that it contradicted as it was learned; none in older files."""
    pinned: bool = False
    project: str = ""
    graph: Graph = Graph()
    """For recipes: what the calls of its successes have in common."""
    said: dict[str, Rating] = {}
    """What the person says of the answers that it was learned from, by their source; none in older files."""

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
        """How far it is relied on, 0 to 1: a recipe by its successes, drawn towards one half while there are few."""
        if self.pinned:
            return 1.0
        if self.is_recipe:
            worked, failed = self.record
            return (worked + 1) / (worked + failed + 2)
        rating = self.said.get(self.sources[-1]) if self.sources else None
        if rating is not None and self.item.origin in _RATED_ORIGINS:
            return _FOUND_GOOD if rating == "up" else _FOUND_WRONG
        return TRUST[self.item.origin]

    @property
    def record(self) -> tuple[int, int]:
        """How often a recipe worked and did not; a 👍 counts as one more success, a 👎 makes one a failure."""
        good, wrong = (sum(one == rating for one in self.said.values()) for rating in ("up", "down"))
        return max(self.worked - wrong, 0) + good, self.failed + wrong

    def rated(self, source: str, rating: Rating | None) -> Kept:
        """Return it with what the person says of the answer it was learned from at a source; None: nothing."""
        others = {known: word for known, word in self.said.items() if known != source}
        if rating is None or not (self.is_recipe or self.item.origin in _RATED_ORIGINS):
            return msgspec.structs.replace(self, said=others)
        return msgspec.structs.replace(self, said={**others, source: rating})

    def freshness(self, now: datetime) -> float:
        """How little it has aged, 0 to 1; what is pinned, or from before that was recorded, does not age."""
        if self.pinned or not self.at:
            return 1.0
        days = (now - datetime.fromisoformat(self.at)).total_seconds() / 86_400
        return float(0.5 ** (max(days, 0.0) / _HALF_LIFE[self.sort]))

    def shown(self, project: str | None = None) -> MemoryItem:
        """Return the item with what is known about it in its text.

        The tasks that a recipe answered in another project are not told there.
        """
        if not self.is_recipe:
            return self.item
        calls = said(self.graph.steps) if self.graph.steps else " → ".join(self.item.tools)
        worked, failed = self.record
        record = f"worked {worked} of {worked + failed} times"
        own = project is None or self.project in ("", project)
        text = f"{self.item.text}: {calls} ({record})" if own else f"{calls} ({record})"
        return msgspec.structs.replace(self.item, text=text, steps=())

    def remembered(self) -> Remembered:
        """Return it as people see it."""
        worked, failed = self.record
        wrong = sum(one == "down" for one in self.said.values())
        return Remembered(
            item=self.shown(), project=self.project, at=self.at, until=self.until, pinned=self.pinned,
            worked=worked, failed=failed, sources=self.sources, steps=self.graph.steps,
            shape_worked=max(self.graph.worked - wrong, 0), liked=len(self.said) - wrong, disliked=wrong,
        )  # fmt: skip


class Tombstone(Value, frozen=True):
    """What is left of something that was forgotten: digests, so that it does not come back."""

    forgotten: str
    """Digest of its id."""
    content: str
    at: str = ""


def bears_on(kept: Kept, asked: set[str]) -> float:
    """Return how far a fact is about something that a task names, however much else the task says."""
    about = stems(kept.item.subject) if kept.sort == "fact" else ()
    named = sum(stem in asked for stem in about)
    share = named / len(about) if about else 0.0
    return _ABOUT * share if share == 1 or (share >= 0.5 and named > 1) else 0.0


def closes(newer: Kept, older: Kept) -> bool:
    """Return whether a fact that names another as closed was learned after it: that may have been said again since."""
    return older.at < newer.at or (older.at == newer.at and newer.item.item_id not in older.closes)


def encodable(known: Mapping[str, Kept]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the texts that an encoder is asked about: the tasks of recipes, the newest first, then all that holds."""
    newest = [*known.values()][::-1]
    recipes = {kept.item.item_id: ("", kept.tasks) for kept in newest if kept.is_recipe}
    others = [kept.item for kept in newest if not kept.is_recipe and not kept.until]
    return recipes | {item.item_id: ("", (item.text.split(FOOTNOTE)[0],)) for item in others}


def id_digest(item_id: str) -> str:
    """Return the digest by which an id is known once it was forgotten."""
    return sha256(item_id.encode("utf-8", "replace")).hexdigest()


def content_digest(item: MemoryItem) -> str:
    """Return the digest of what an item says, however it is written: case, blanks and marks do not count."""
    text = item.text.split(FOOTNOTE)[0]
    tools = item.tools if item.memory == "procedural" else ()
    plain = "".join(char if char.isalnum() else " " for char in text.casefold()).split()
    said_so = " ".join(tools) if tools else " ".join(plain)
    return sha256(f"{item.memory}\n{said_so}".encode("utf-8", "replace")).hexdigest()


def read(document: Json) -> Kept | Tombstone | None:
    """Return a document as a value, or None; one that cannot be read is skipped and stays on disk."""
    try:
        if isinstance(document, dict) and "forgotten" in document:
            return msgspec.convert(document, ready(Tombstone))
        kept = msgspec.convert(document, ready(Kept))
    except msgspec.ValidationError:
        return None
    return kept if all(map(_is_moment, filter(None, (kept.at, kept.until)))) else None


def _is_moment(text: str) -> bool:
    """Return whether a text is a moment that can be told in any time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return False
    return moment.tzinfo is not None and MINYEAR < moment.year < MAXYEAR
