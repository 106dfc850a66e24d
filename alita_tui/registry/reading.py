"""Parses the library's documents, and derives the library's state from them and the audit log.

Unchanged documents are parsed once, and counting a run costs the same in a library of any size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from alita_tui.events import Json, ToolRecord, Track, Value, ready
from alita_tui.registry.reconcile import Overridden, Records, reconcile
from alita_tui.registry.trust import Use, with_use
from alita_tui.spine.ports.library import Standing


class Pin(Value, frozen=True):
    """A version that runs although there are newer ones; None if it was unpinned."""

    name: str
    version: int | None


Entry = ToolRecord | Use | Track | Pin
_REDERIVE_AFTER = timedelta(hours=1)
"""Time after which everything is derived again: idle versions become stale, and old outcomes count less."""


class Reader:
    """Reads documents, and caches those of the last read."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Json, Entry | None]] = {}
        """Parsed documents by identity; the document itself is held, so that its id is not reused."""

    def entries(self, documents: tuple[Json, ...]) -> Iterator[Entry]:
        """Yield the documents' values; a document that cannot be read is skipped, not deleted."""
        entries_by_id: dict[int, tuple[Json, Entry | None]] = {}
        for document in documents:
            cached = self._known.get(id(document))
            if cached is None:
                cached = (document, _read(document))
            entries_by_id[id(document)] = cached
            if cached[1] is not None:
                yield cached[1]
        self._known = entries_by_id

    def replaced(self, old: Json | None, new: Json) -> Use | Track | None:
        """Return the new counts of a version in a document; None if anything else changed.

        `old` is the document that `new` replaces; None if it replaces none.
        """
        entry = _read(new)
        if not isinstance(entry, Use | Track):
            return None
        if old is not None:
            previous = self._known[id(old)][1]
            if not isinstance(previous, type(entry)):
                return None
            if (previous.name, previous.version) != (entry.name, entry.version):
                return None
            del self._known[id(old)]
        self._known[id(new)] = (new, entry)
        return entry


class LibraryState:
    """Records, counts and pins from the documents and the audit log. Not thread-safe."""

    def __init__(self, *, audited: bool) -> None:
        """With `audited` a version runs only if the audit log proves its approval."""
        self._audited = audited
        self._documents: tuple[Json, ...] | None = None
        self._reader = Reader()
        self._derived_at: datetime | None = None
        self.records: Records = {}
        self.uses: dict[tuple[str, int], Use] = {}
        self.tracks: dict[tuple[str, int], Track] = {}
        self.pins: dict[str, int | None] = {}
        self.standing = Standing()
        """The audit log's state, as of the last update."""
        self.doubts: dict[tuple[str, int], str] = {}
        """Reasons why versions do not run although their state would allow it."""
        self.overridden: tuple[Overridden, ...] = ()

    def update(self, documents: tuple[Json, ...], standing: Standing, now: datetime) -> bool:
        """Apply what changed; return False if nothing did. An identical tuple of documents is unchanged."""
        same_log = standing is self.standing or not self._audited
        recent = self._derived_at is not None and timedelta(0) <= now - self._derived_at < _REDERIVE_AFTER
        if documents is self._documents and same_log and recent:
            return False
        if not (same_log and recent and self._apply_counts(documents, now)):
            self._derive(documents, standing, now)
        self._documents, self.standing = documents, standing
        return True

    def _apply_counts(self, documents: tuple[Json, ...], now: datetime) -> bool:
        """Apply new counts of versions; return False if more than counts changed."""
        earlier = self._documents
        if earlier is None or len(documents) < len(earlier):
            return False
        changes = [(old, new) for old, new in zip(earlier, documents, strict=False) if old is not new]
        for replaced, document in [*changes, *((None, added) for added in documents[len(earlier) :])]:
            entry = self._reader.replaced(replaced, document)
            if entry is None:
                return False
            key = (entry.name, entry.version)
            if isinstance(entry, Use):
                self.uses[key] = entry
            else:
                self.tracks[key] = entry
            if entry.version in self.records.get(entry.name, {}):
                self._with_use(entry.name, entry.version, now)
        return True

    def _derive(self, documents: tuple[Json, ...], standing: Standing, now: datetime) -> None:
        records: defaultdict[str, dict[int, ToolRecord]] = defaultdict(dict)
        self.uses, self.tracks, self.pins = {}, {}, {}
        for entry in self._reader.entries(documents):
            match entry:
                case ToolRecord():
                    records[entry.draft.name][entry.version] = entry
                case Use():
                    self.uses[entry.name, entry.version] = entry
                case Track():
                    self.tracks[entry.name, entry.version] = entry
                case Pin():
                    self.pins[entry.name] = entry.version
        reconciled = reconcile(standing, records, self.pins, audited=self._audited)
        self.doubts, self.overridden = reconciled.doubts, reconciled.overridden
        self.records, self._derived_at = dict(records), now
        for name, versions in records.items():
            for version in versions:
                self._with_use(name, version, now)

    def _with_use(self, name: str, version: int, now: datetime) -> None:
        key, versions = (name, version), self.records[name]
        pinned = self.pins.get(name) == version
        versions[version] = with_use(
            versions[version], self.uses.get(key), now, pinned=pinned, track=self.tracks.get(key)
        )


def _read(document: Json) -> Entry | None:
    try:
        if "tool" in document:
            return msgspec.convert(document["tool"], ready(ToolRecord))
        if "pin" in document:
            return msgspec.convert(document["pin"], ready(Pin))
        if "track" in document:
            return msgspec.convert(document["track"], ready(Track))
        return msgspec.convert(document["use"], ready(Use))
    except (msgspec.ValidationError, TypeError, KeyError):
        return None
