"""The library's documents as values, and the state that follows from them and the audit log.

Unchanged documents are read once, and counting a run costs the same in a library of any size.
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
_WHOLE = timedelta(hours=1)
"""Time after which everything is derived again: idle versions become stale, and old outcomes count less."""


class Reader:
    """Reads documents, and caches those of the last read."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Json, Entry | None]] = {}
        """Parsed documents by identity; the document itself is held, so that its id is not reused."""

    def entries(self, documents: tuple[Json, ...]) -> Iterator[Entry]:
        """Yield documents as values; one that cannot be read is skipped and kept."""
        fresh: dict[int, tuple[Json, Entry | None]] = {}
        for document in documents:
            known = self._known.get(id(document))
            if known is None:
                known = (document, _read(document))
            fresh[id(document)] = known
            if known[1] is not None:
                yield known[1]
        self._known = fresh

    def replaced(self, old: Json | None, new: Json) -> Use | Track | None:
        """Return the new counts of a version in a document; None if anything else changed.

        `old` is the document that it replaces, or None.
        """
        entry = _read(new)
        if not isinstance(entry, Use | Track):
            return None
        if old is not None:
            before = self._known[id(old)][1]
            if not isinstance(before, type(entry)):
                return None
            if (before.name, before.version) != (entry.name, entry.version):
                return None
            del self._known[id(old)]
        self._known[id(new)] = (new, entry)
        return entry


class LibraryState:
    """Records, counts and pins as the documents and the audit log have them. Not to be used by two threads at once."""

    def __init__(self, *, audited: bool) -> None:
        """Without `audited` no approval has to be proved."""
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
        """Take in what changed; return whether anything did. The same tuple of documents has the same content."""
        same_log = standing is self.standing or not self._audited
        recent = self._derived_at is not None and timedelta(0) <= now - self._derived_at < _WHOLE
        if documents is self._documents and same_log and recent:
            return False
        if not (same_log and recent and self._counted(documents, now)):
            self._derive(documents, standing, now)
        self._documents, self.standing = documents, standing
        return True

    def _counted(self, documents: tuple[Json, ...], now: datetime) -> bool:
        """Apply new counts of versions; return False if more than counts changed."""
        old = self._documents
        if old is None or len(documents) < len(old):
            return False
        pairs = [(a, b) for a, b in zip(old, documents, strict=False) if a is not b]
        for before, document in [*pairs, *((None, added) for added in documents[len(old) :])]:
            entry = self._reader.replaced(before, document)
            if entry is None:
                return False
            at = (entry.name, entry.version)
            if isinstance(entry, Use):
                self.uses[at] = entry
            else:
                self.tracks[at] = entry
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
        at, versions = (name, version), self.records[name]
        pinned = self.pins.get(name) == version
        versions[version] = with_use(
            versions[version], self.uses.get(at), now, pinned=pinned, track=self.tracks.get(at)
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
