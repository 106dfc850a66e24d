"""Recalls the few items that bear on a task, or none: unrelated memories only mislead."""

from __future__ import annotations

import threading

import msgspec

from alita_tui.events import Json, MemoryItem, Value
from alita_tui.memory.lessons import FOOTNOTE
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.memory import REJECTION
from alita_tui.spine.ranking import Ranked, Ranking

_RELEVANT = 0.3
"""Share of a task's words that an item has to cover to be recalled at all."""
_AT_MOST = 3
"""Maximum number of items of each kind: recipes, and everything else."""
_LESSONS = 5
_TASKS = 12
"""How many of the newest tasks a recipe keeps."""


class _Kept(Value, frozen=True):
    """An item as it is stored."""

    item: MemoryItem
    worked: int = 0
    failed: int = 0
    sources: tuple[str, ...] = ()
    """`session:seq` of the events it was learned from, newest last."""
    tasks: tuple[str, ...] = ()
    """For recipes: the tasks it answered."""

    @property
    def reliability(self) -> float:
        """Share of successes, drawn towards one half while there are few (Laplace); 1 if it is not a recipe."""
        if self.item.memory != "procedural":
            return 1.0
        return (self.worked + 1) / (self.worked + self.failed + 2)

    @property
    def shown(self) -> MemoryItem:
        """Return the item with what is known about it in its text."""
        if self.item.memory != "procedural":
            return self.item
        chain = " → ".join(self.item.tools)
        record = f"worked {self.worked} of {self.worked + self.failed} times"
        return msgspec.structs.replace(self.item, text=f"{self.item.text}: {chain} ({record})")


class Recollection:
    """Implements `Memory`. Sees at once what another process wrote to the same documents."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._seen: tuple[Json, ...] | None = None
        self._kept: dict[str, _Kept] = {}
        self._recipes = Ranking()
        self._others = Ranking()
        self._guard = threading.Lock()  # the engine asks from its loop and from threads

    def recall(self, task: str) -> tuple[MemoryItem, ...]:
        """Return at most three recipes, then at most three other items, each with its score and why it matched."""
        with self._guard:
            self._refresh()
            return tuple(self._best(self._recipes, task) + self._best(self._others, task))

    def write(self, item: MemoryItem) -> None:
        """Store one item; a known recipe counts one more success, once per source.

        Any other item with the same id is replaced. Raises StoreError.
        """
        with self._guard:
            self._refresh()
            bare = msgspec.structs.replace(item, score=0.0, why="")
            known = self._kept.get(item.item_id)
            source = f"{item.source_session}:{item.source_seq}"
            if item.memory != "procedural" or known is None or known.item.memory != "procedural":
                self._keep(_Kept(item=bare, worked=1, sources=(source,), tasks=(item.text,)))
            elif source not in known.sources:
                tasks = tuple(dict.fromkeys((*known.tasks, item.text)))[-_TASKS:]
                sources = (*known.sources, source)[-_TASKS:]
                more = known.worked + 1
                self._keep(
                    msgspec.structs.replace(known, item=bare, worked=more, sources=sources, tasks=tasks)
                )

    def lessons(self, name: str, goal: str) -> tuple[MemoryItem, ...]:
        """Return lessons for a build: those of the same name first, newest first, then those that bear on it."""
        with self._guard:
            self._refresh()
            rejections = {key: entry.item for key, entry in self._kept.items() if key.startswith(REJECTION)}
            named = [item for key, item in rejections.items() if key.startswith(f"{REJECTION}{name}:")]
            wanted = f"{name.replace('_', ' ')} {goal}"
            matches = [match for match in self._others.rank(wanted) if match.key in rejections]
            near = [self._recalled(match) for match in matches if match.score >= _RELEVANT]
            known = {item.item_id for item in named}
            texts = [*reversed(named), *(item for item in near if item.item_id not in known)]
            return tuple(texts[:_LESSONS])

    def recipe_failed(self, item_id: str) -> None:
        """Record that a task which followed this recipe was not answered. Raises StoreError."""
        with self._guard:
            self._refresh()
            if (known := self._kept.get(item_id)) is not None:
                self._keep(msgspec.structs.replace(known, failed=known.failed + 1))

    def items(self) -> tuple[MemoryItem, ...]:
        """Return everything remembered, oldest first."""
        with self._guard:
            self._refresh()
            return tuple(kept.shown for kept in self._kept.values())

    def forget(self, item_id: str) -> None:
        """Remove one item; a missing one is not an error. Raises StoreError."""
        self._documents.remove(item_id)

    def _best(self, ranking: Ranking, task: str) -> list[MemoryItem]:
        matches = [match for match in ranking.rank(task) if match.score >= _RELEVANT]
        matches.sort(key=lambda match: -match.score * self._kept[match.key].reliability)
        alike: dict[str, Ranked] = {}
        for match in matches:
            alike.setdefault(_gist(self._kept[match.key].item), match)
        return [self._recalled(match) for match in [*alike.values()][:_AT_MOST]]

    def _recalled(self, match: Ranked) -> MemoryItem:
        item = self._kept[match.key].shown
        return msgspec.structs.replace(item, score=match.score, why=", ".join(match.words))

    def _keep(self, kept: _Kept) -> None:
        self._documents.put(kept.item.item_id, msgspec.to_builtins(kept))

    def _refresh(self) -> None:
        """Read what changed; the documents return the same tuple as long as nothing did."""
        documents = self._documents.all()
        if documents is self._seen:
            return
        fresh = {
            stored.item.item_id: stored for document in documents if (stored := _read(document)) is not None
        }
        for gone in self._kept.keys() - fresh.keys():
            self._recipes.remove(gone)
            self._others.remove(gone)
        for item_id, stored in fresh.items():
            if self._kept.get(item_id) != stored:
                recipe = stored.item.memory == "procedural"
                (self._others if recipe else self._recipes).remove(item_id)
                text = "\n".join(stored.tasks) if recipe else stored.item.text.split(FOOTNOTE)[0]
                (self._recipes if recipe else self._others).put(item_id, [(text, 1.0)])
        self._kept, self._seen = fresh, documents


def _gist(item: MemoryItem) -> str:
    """Return what an item says in the end: for two of the same only one is recalled."""
    said = item.text.split(FOOTNOTE)[0] if item.memory == "episodic" else item.text
    tools = item.tools if item.memory == "procedural" else ()
    return " ".join((item.memory, *tools, *said.lower().split()))


def _read(document: Json) -> _Kept | None:
    """Return a document as a value, or None; one that cannot be read is skipped and stays on disk."""
    try:
        return msgspec.convert(document, _Kept)
    except msgspec.ValidationError:
        return None
