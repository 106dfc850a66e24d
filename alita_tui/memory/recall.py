"""The memory: writes what tasks teach, and recalls the few items that bear on a task, or none.

Unrelated memories only mislead. An item counts by how well it fits, how far it is trusted and how old it is. What the
person had forgotten is known by digests alone and does not come back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from datetime import UTC, datetime

import msgspec

from alita_tui.events import Json, MemoryItem, Rating
from alita_tui.memory.lessons import FOOTNOTE
from alita_tui.memory.pipeline import offerable
from alita_tui.memory.recipes import Graph
from alita_tui.memory.relevance import Relevance, why_of
from alita_tui.memory.stated import about, fact, known_about, subject_of
from alita_tui.memory.stored import (
    TRUST,
    StoredItem,
    Tombstone,
    bears_on,
    closes,
    content_digest,
    contradicts,
    encodable,
    id_digest,
    read,
)
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.memory import OFFERED, REJECTION, Forgotten, Remembered
from alita_tui.spine.ranking import Ranker
from alita_tui.spine.ranking.vectors import NOT_ENCODED, Near, Vectors
from alita_tui.spine.text import one_line

_ALIKE = 0.28
"""Minimum score of a recalled recipe; needed because a single recipe has no others to compare it with."""
_RELEVANT = 0.3
"""Share of a task's words that any other item has to cover."""
_CLOSE = 0.06
"""Relevance for each standard deviation by which an item's cosine exceeds those of requests of every kind.

From five on it is recalled: among 33 tasks one in three of those alike, and a wrong one for 7 % of new kinds.
"""
_OTHER_WORDS = "the same in other words"
_WORTH = 0.1
"""Relevance × trust × age below which nothing is recalled."""
_OTHERS = 5
"""Maximum number of recalled items other than recipes."""
_LESSONS = 5
_TASKS = 12
"""Number of newest tasks that a recipe stores."""
_TOMBSTONE = "forgotten:"


class Recollection:
    """Implements `Memory`, and the person's own actions on it. Sees changes by other processes at once."""

    def __init__(
        self,
        documents: Documents,
        project: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        vectors: Vectors | None = None,
    ) -> None:
        """Items written here belong to `project`, except recipes and rejections; empty: to all.

        `vectors` are an encoder's vectors of the items; without them items are recalled by their words.
        """
        self.vectors = vectors
        self._documents = documents
        self._project = project
        self._now = now
        self._read_documents: tuple[Json, ...] | None = None
        self._stored: dict[str, StoredItem] = {}
        self._graves: dict[str, Tombstone] = {}
        self._unfinished: dict[str, StoredItem | None] = {}
        """Changes that a kill left undone: items as they should be on disk, None for forgotten ones."""
        self._parsed: dict[int, tuple[Json, StoredItem | Tombstone | None]] = {}
        """Documents by their identity, with their parsed value: only changed ones are parsed again."""
        self._forgotten_here: dict[str, StoredItem] = {}
        """Items that were forgotten in this process, so that it can be undone."""
        self._recipes = Relevance()
        self._other_items = Ranker()
        self._guard = threading.RLock()  # the engine asks from its loop and from threads

    # --- what the agent asks ----------------------------------------------------------------

    def recall(self, task: str) -> tuple[MemoryItem, ...]:
        """Return at most three recipes, then at most five other items, each with its score and why it matched."""
        with self._guard:
            self._refresh()
            near = self.vectors.near(task) if self.vectors else NOT_ENCODED
            return (*self._fitting_recipes(task, near), *self._relevant_others(task, near))

    def write(self, item: MemoryItem) -> tuple[str, ...] | None:
        """Store one item; a known recipe counts one more success, once per source. Raise StoreError.

        Any other item with the same id is replaced, unless the person edited it and has not said it again since. See
        `Memory.write`.
        """
        with self._guard:
            self._refresh()
            if self._is_forgotten(item):
                return None
            unscored = msgspec.structs.replace(item, score=0.0, why="")
            existing = self._stored.get(item.item_id)
            source = f"{item.source_session}:{item.source_seq}"
            new = StoredItem(
                item=unscored, worked=1, sources=(source,), tasks=(item.text,), at=self._stamp(),
                project="" if item.item_id.startswith(REJECTION) else self._project,
            )  # fmt: skip
            if new.is_recipe:
                self._count(new, existing, source)
                return ()
            if existing is None:
                return self._save_fact(new).closes
            learned_again = source in existing.sources or TRUST[item.origin] < TRUST["person"]
            if existing.item.origin == "person" and learned_again:
                return ()  # the person's edit is not overwritten
            if source in existing.sources and existing.item.text == item.text:
                return existing.closes  # written again, as after a crash
            sources = (*existing.sources, source)[-_TASKS:]
            new = msgspec.structs.replace(new, sources=sources, pinned=existing.pinned)
            elsewhere = not existing.until and existing.project != self._project
            return self._save_fact(new, shared=elsewhere).closes

    def lessons(self, name: str, goal: str) -> tuple[MemoryItem, ...]:
        """Return lessons for a build: first those about its name, the newest first, then others that are relevant."""
        with self._guard:
            self._refresh()
            rejections = {key: entry.item for key, entry in self._stored.items() if key.startswith(REJECTION)}
            same_name = [item for key, item in rejections.items() if key.startswith(f"{REJECTION}{name}:")]
            query = f"{name.replace('_', ' ')} {goal}"
            matches = [match for match in self._other_items.rank(query) if match.key in rejections]
            near = [
                msgspec.structs.replace(rejections[match.key], score=match.cover, why=why_of(match.words))
                for match in matches
                if match.cover >= _RELEVANT
            ]
            named_ids = {item.item_id for item in same_name}
            texts = [*reversed(same_name), *(item for item in near if item.item_id not in named_ids)]
            return tuple(texts[:_LESSONS])

    def offers(self, item_id: str) -> bool:
        """Return whether a recipe has just reached the number of successes from which it is offered as one tool."""
        stored = self._current(item_id)
        return stored is not None and stored.graph.worked == OFFERED and offerable(stored.remembered())

    def record(self, tools: tuple[str, ...]) -> tuple[int, int]:
        """Return how often this chain of tools, in whatever manner, answered a task, and how often it did not."""
        recipes = [one for one in self._latest().values() if one.is_recipe and one.item.tools == tools]
        return sum(one.record[0] for one in recipes), sum(one.record[1] for one in recipes)

    def recipe_failed(self, item_id: str) -> None:
        """Record that a task which followed this recipe was not answered. Raise StoreError."""
        with self._guard:
            if (recipe := self._current(item_id)) is not None:
                self._save(msgspec.structs.replace(recipe, failed=recipe.failed + 1))

    def rate(self, item_id: str, source: str, rating: Rating | None) -> None:
        """Store the person's rating of the answer that an item was learned from. Raise StoreError."""
        with self._guard:
            if (stored := self._current(item_id)) and (rated := stored.rated(source, rating)) != stored:
                self._save(rated)

    def forgotten_among(self, item_ids: Collection[str]) -> set[str]:
        """Return those of these ids that the person had forgotten. Raise StoreError."""
        with self._guard:
            self._refresh()
            return {item_id for item_id in item_ids if id_digest(item_id) in self._graves}

    def items(self) -> tuple[MemoryItem, ...]:
        """Return everything remembered, oldest first."""
        with self._guard:
            self._refresh()
            return tuple(stored.shown() for stored in self._stored.values())

    # --- what a person does -------------------------------------------------------------------

    def remembered(self) -> tuple[Remembered, ...]:
        """Return everything remembered, what was learned or edited last at the end. Raise StoreError."""
        return tuple(one.remembered() for one in sorted(self._latest().values(), key=lambda one: one.at))

    def forgotten(self) -> tuple[Forgotten, ...]:
        """Return what was forgotten, oldest first: digests, and when. Raise StoreError."""
        with self._guard:
            self._refresh()
            return tuple(Forgotten(digest=grave.content, at=grave.at) for grave in self._graves.values())

    def find(self, item_id: str) -> Remembered:
        """Return an item by its id or its beginning. Raise UsageError, StoreError."""
        return self._find(item_id).remembered()

    def edit(self, item_id: str, text: str) -> Remembered:
        """Replace an item's text by the person's words. Raise UsageError, StoreError."""
        with self._guard:
            existing = self._find(item_id)
            if existing.is_recipe:
                raise UsageError(
                    "A recipe says what was run, so it is not edited.",
                    hint=f"Have it forgotten: alita memory forget {existing.item.item_id}",
                )
            item = existing.item
            changed = msgspec.structs.replace(item, text=one_line(text, 700), origin="person")
            if existing.sort == "fact":
                worded = fact(subject_of(text), text, item.source_session, item.source_seq, "person")
                if worded is None:
                    raise UsageError(
                        "That is not kept as a fact: it is empty, too long, or about a secret.",
                        hint="Say one thing, in at most 240 characters, without passwords or keys.",
                    )
                changed = msgspec.structs.replace(
                    item, text=worded.text, subject=worded.subject, origin="person"
                )
            if not changed.text:
                raise UsageError(
                    "There is nothing left of it.",
                    hint=f"Have it forgotten: alita memory forget {item.item_id}",
                )
            stored = msgspec.structs.replace(existing, item=changed, at=self._stamp(), until="")
            return self._save_fact(stored).remembered()

    def pin(self, item_id: str, pinned: bool) -> Remembered:
        """Stop an item from ageing, or let it age again. Raise UsageError, StoreError."""
        return self._change(item_id, pinned=pinned)

    def move(self, item_id: str, project: str) -> Remembered:
        """Move an item to a project, or to all with an empty name. Raise UsageError, StoreError."""
        return self._change(item_id, project=project)

    def forget(self, item_id: str) -> Remembered | None:
        """Remove one item for good; return what it was, None for a missing one. Raise StoreError."""
        with self._guard:
            self._refresh()
            if (stored := self._stored.get(item_id)) is None:
                return None
            grave = Tombstone.of(stored, self._stamp())
            if self.vectors:
                self.vectors.clear()  # they can be rebuilt, and must hold nothing of a forgotten item
            # The tombstone first: after a crash in between, the item counts as forgotten.
            self._documents.put(f"{_TOMBSTONE}{grave.forgotten}", msgspec.to_builtins(grave))
            self._documents.remove(item_id)
            self._forgotten_here[item_id] = stored
            if self.vectors:
                self._refresh()
                self.vectors.save()
            return stored.remembered()

    def bring_back(self, item_id: str) -> Remembered:
        """Restore an item that was forgotten in this process. Raise UsageError, StoreError."""
        with self._guard:
            if (stored := self._forgotten_here.pop(item_id, None)) is None:
                raise UsageError(
                    f"{one_line(item_id, 80)} was not forgotten here, so it cannot be brought back."
                )
            self._save(stored)
            self._documents.remove(f"{_TOMBSTONE}{id_digest(item_id)}")
            return stored.remembered()

    # --- writing ------------------------------------------------------------------------------

    def _count(self, new: StoredItem, existing: StoredItem | None, source: str) -> None:
        """Count a recipe's success and store the calls that all its successes have in common."""
        steps = new.item.steps
        item = msgspec.structs.replace(new.item, steps=())
        graph = (existing.graph if existing else Graph()).after(steps)
        if existing is None or not existing.is_recipe:
            self._save(msgspec.structs.replace(new, item=item, graph=graph))
        elif source not in existing.sources:
            tasks = tuple(dict.fromkeys((*existing.tasks, item.text)))[-_TASKS:]
            sources = (*existing.sources, source)[-_TASKS:]
            self._save(
                msgspec.structs.replace(
                    existing, item=item, worked=existing.worked + 1, sources=sources, tasks=tasks, at=new.at,
                    graph=graph,
                    project=existing.project if existing.project == new.project else "",
                )
            )  # fmt: skip

    def _save_fact(self, newer: StoredItem, *, shared: bool = False) -> StoredItem:
        """Store an item and close the facts that it contradicts. Return it with their ids.

        The item names them, so after a crash in between no two facts that contradict each other hold. What replaces
        a shared fact is shared, and so is what `shared` says was stated in another project before.
        """
        closed = {key: older for key, older in self._stored.items() if contradicts(newer, older)}
        shared = shared or not all(older.project for older in closed.values())
        newer = msgspec.structs.replace(newer, closes=tuple(closed), project="" if shared else newer.project)
        self._save(newer)
        for older in closed.values():
            self._save(msgspec.structs.replace(older, until=newer.at))
        return newer

    def _change(self, item_id: str, **changes: object) -> Remembered:
        with self._guard:
            stored = msgspec.structs.replace(self._find(item_id), **changes)
            self._save(stored)
            return stored.remembered()

    def _latest(self) -> dict[str, StoredItem]:
        with self._guard:
            self._refresh()
            return self._stored

    def _current(self, item_id: str) -> StoredItem | None:
        return self._latest().get(item_id)

    def _find(self, item_id: str) -> StoredItem:
        with self._guard:
            self._refresh()
            exact = self._stored.get(item_id)
            begins = [stored for key, stored in self._stored.items() if item_id and key.startswith(item_id)]
            matches = [exact] if exact else begins
            if len(matches) == 1:
                return matches[0]
            problem = f"{len(matches)} items begin with" if matches else "There is no item"
            raise UsageError(
                f"{problem} {one_line(item_id, 80)!r}.", hint="`alita memory list` shows what there is."
            )

    def _save(self, item: StoredItem) -> None:
        while self._unfinished:
            unfinished_id, unfinished = self._unfinished.popitem()
            self._store(unfinished) if unfinished else self._documents.remove(unfinished_id)
        self._store(item)

    def _store(self, stored: StoredItem) -> None:
        self._documents.put(stored.item.item_id, msgspec.to_builtins(stored))

    def _stamp(self) -> str:
        return self._now().isoformat(timespec="seconds")

    def _is_forgotten(self, item: MemoryItem) -> bool:
        return any(grave.covers(item) for grave in self._graves.values())

    # --- recalling ----------------------------------------------------------------------------

    def _fitting_recipes(self, task: str, near: Near) -> list[MemoryItem]:
        fits = self._recipes.fits(task, near)
        if not fits or not fits[0].likely or fits[0].score < _ALIKE:
            return []
        now = self._now()
        recipes: list[MemoryItem] = []
        for fit in fits:
            stored = self._stored[fit.key]
            share = fit.score / (fits[0].score or 1.0)
            value = fit.chance * share * stored.trust * stored.freshness(now)
            if value >= _WORTH:
                meaning = why_of(fit.words) or _OTHER_WORDS
                why = f"{meaning}; fits with {fit.chance:.0%}" if len(recipes) == 0 else meaning
                item = stored.shown(self._project)
                recipes.append(msgspec.structs.replace(item, score=round(value, 4), why=why))
        return sorted(recipes, key=lambda recipe: -recipe.score)

    def _relevant_others(self, task: str, near: Near) -> list[MemoryItem]:
        """Return the other items that bear on a task; a fact of this project replaces a shared one of its subject."""
        now, named = self._now(), {*about(task)}
        alike: dict[str, MemoryItem] = {}
        own_subjects: set[tuple[str, ...]] = set()
        shared: set[str] = set()
        for match in self._other_items.rank(task, cosines=near.cosines, background=near.background):
            stored = self._stored[match.key]
            relevant = max(match.cover, bears_on(stored, named), min(_CLOSE * match.close, 1.0))
            if relevant < _RELEVANT or stored.until or stored.project not in ("", self._project):
                continue
            value = relevant * stored.trust * stored.freshness(now)
            if value < _WORTH:
                continue
            item = msgspec.structs.replace(
                stored.shown(self._project), score=round(value, 4), why=why_of(match.words) or _OTHER_WORDS
            )
            gist = content_digest(item)
            if gist not in alike or alike[gist].score < item.score:
                alike[gist] = item
            if item.subject and stored.project:
                own_subjects.add(known_about(item.subject))
            elif item.subject:
                shared.add(gist)
        held = [
            item
            for gist, item in alike.items()
            if gist not in shared or known_about(item.subject) not in own_subjects
        ]
        named_here = {item.item_id: len(named & {*known_about(item.text)}) for item in held}  # numbers, too
        return sorted(held, key=lambda item: (-item.score, -named_here[item.item_id]))[:_OTHERS]

    def _refresh(self) -> None:
        """Read what changed; `all` returns the same tuple as long as nothing did."""
        documents = self._documents.all()
        if documents is self._read_documents:
            return
        parsed = {id(raw): self._parsed.get(id(raw)) or (raw, read(raw)) for raw in documents}
        read_now = [stored for _, stored in parsed.values() if stored is not None]
        self._graves = {stone.forgotten: stone for stone in read_now if isinstance(stone, Tombstone)}
        items = {stored.item.item_id: stored for stored in read_now if isinstance(stored, StoredItem)}
        self._unfinished = {key: None for key in items if self._graves and id_digest(key) in self._graves}
        for forgotten in self._unfinished:
            del items[forgotten]
        for newer in [stored for stored in items.values() if stored.closes]:
            for closed in newer.closes:
                older = items.get(closed)
                if older is not None and not older.until and closes(newer, older):
                    self._unfinished[closed] = items[closed] = msgspec.structs.replace(older, until=newer.at)
        for removed_id in self._stored.keys() - items.keys():
            self._recipes.remove(removed_id)
            self._other_items.remove(removed_id)
        for item_id, stored in items.items():
            previous = self._stored.get(item_id)
            if previous == stored:
                continue
            if stored.is_recipe:
                self._other_items.remove(item_id)
                if previous is None or previous.tasks != stored.tasks:
                    self._recipes.put(item_id, stored.tasks)
            else:
                self._recipes.remove(item_id)
                self._other_items.put(item_id, [(stored.item.text.split(FOOTNOTE)[0], 1.0)])
        self._stored, self._read_documents, self._parsed = items, documents, parsed
        if self.vectors:
            self.vectors.know(encodable(items))
