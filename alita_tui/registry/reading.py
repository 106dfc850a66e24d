"""The library's documents as values. One that has not changed is read once."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from alita_tui.events import Json, ToolRecord, Track, Value, ready
from alita_tui.registry.trust import Use


class Pin(Value, frozen=True):
    """A version that runs although there are newer ones; None where it was taken back."""

    name: str
    version: int | None


Entry = ToolRecord | Use | Track | Pin


class Reader:
    """Reads documents, and remembers those of the last time."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Json, Entry | None]] = {}
        """By identity, with the document itself, so that no other one takes its place."""

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
