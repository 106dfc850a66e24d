"""A session's shelf: the library, and in front of it what was approved for the running task alone."""

from __future__ import annotations

from collections.abc import Container

from alita_tui.spine.errors import DigestMismatch, RegistryError
from alita_tui.spine.ports import Library, SearchResult
from alita_tui.spine.text import one_line
from alita_tui.spine.values import (
    Alias,
    Ban,
    Capabilities,
    Lock,
    Source,
    ToolCard,
    ToolDraft,
    ToolRecord,
    ToolState,
    Twin,
    build_digest,
)


class TaskLibrary:
    """Meets `ToolShelf` over another one. What is lent is on no disk and in no other session."""

    def __init__(self, shelf: Library) -> None:
        self._shelf = shelf
        self._lent: dict[str, ToolRecord] = {}

    def lend(
        self,
        draft: ToolDraft,
        lock: Lock,
        *,
        version: int,
        approval_id: str,
        digest: str,
        grants: Capabilities | None = None,
    ) -> ToolRecord:
        """See `ToolShelf.lend`."""
        if build_digest(draft, lock) != digest:
            raise DigestMismatch(f"The draft of {one_line(draft.name, 60)} is not the one that was approved.")
        if refused := self._shelf.banned(draft.name, draft, digest):
            raise RegistryError(refused, hint="`alita tools bans` lists what is banned.")
        record = ToolRecord(
            draft=draft,
            version=version,
            digest=digest,
            state="provisional",
            lock=lock,
            approval_id=approval_id,
            grants=grants,
        )
        self._lent[draft.name] = record
        return record

    def lends(self, digest: str) -> bool:
        """See `ToolShelf.lends`."""
        return any(record.digest == digest for record in self._lent.values())

    def give_back(self, keep: Container[str] = ()) -> bool:
        """See `ToolShelf.give_back`."""
        had = len(self._lent)
        self._lent = {name: record for name, record in self._lent.items() if record.digest in keep}
        return len(self._lent) < had

    def cards(self) -> tuple[ToolCard, ...]:
        """See `Library.cards`."""
        lent = [record.card for record in self._lent.values()]
        kept = [card for card in self._shelf.cards() if card.name not in self._lent]
        return tuple(sorted((*kept, *lent), key=lambda card: card.name))

    def search(self, query: str, *, limit: int = 5) -> SearchResult:
        """See `Library.search`; what is lent was built for this very task and needs no finding."""
        return self._shelf.search(query, limit=limit)

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """See `Library.get`."""
        lent = self._lent.get(name)
        if lent is not None and version in (None, lent.version):
            return lent
        return self._shelf.get(name, version)

    def next_version(self, name: str) -> int:
        """See `Library.next_version`."""
        lent = self._lent.get(name)
        return max(self._shelf.next_version(name), lent.version + 1 if lent else 1)

    def register(
        self,
        draft: ToolDraft,
        lock: Lock,
        *,
        approval_id: str,
        digest: str,
        sources: tuple[Source, ...],
        grants: Capabilities | None = None,
    ) -> ToolRecord:
        """See `Library.register`."""
        record = self._shelf.register(
            draft, lock, approval_id=approval_id, digest=digest, sources=sources, grants=grants
        )
        self._lent.pop(draft.name, None)
        return record

    def record_run(self, name: str, version: int, *, ok: bool, query: str) -> ToolState | None:
        """See `Library.record_run`; runs of what is lent are counted nowhere."""
        lent = self._lent.get(name)
        if lent is not None and lent.version == version:
            return lent.state
        return self._shelf.record_run(name, version, ok=ok, query=query)

    def alias(self, name: str, description: str, twin: Twin, *, approval_id: str, by: str) -> Alias:
        """See `Library.alias`; what is lent gets no other name."""
        return self._shelf.alias(name, description, twin, approval_id=approval_id, by=by)

    def banned(self, name: str, draft: ToolDraft | None = None, digest: str = "") -> str:
        """See `Library.banned`."""
        return self._shelf.banned(name, draft, digest)

    def ban(self, ban: Ban) -> None:
        """See `Library.ban`."""
        self._shelf.ban(ban)
