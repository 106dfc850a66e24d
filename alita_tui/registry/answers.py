"""Stores how tools answered their probes, so that a build is compared with the library without running all of it."""

from __future__ import annotations

from collections.abc import Mapping

from alita_tui.events import Json
from alita_tui.spine.ports.library import Documents

_WAITING = 20
"""Builds whose answers are held until they are registered."""


class Answers:
    """Implements `ProbeAnswers`."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._seen: tuple[Json, ...] | None = None
        self._by_digest: dict[str, Mapping[str, Json]] = {}
        self._waiting: dict[str, dict[str, Json]] = {}

    def of(self, digest: str) -> Mapping[str, Json]:
        """Return the answers of a build, by input. Raises StoreError."""
        documents = self._documents.all()
        if documents is not self._seen:
            records = (
                document["answers"]
                for document in documents
                if isinstance(document, dict) and "answers" in document
            )
            self._by_digest = {
                record["digest"]: record["given"]
                for record in records
                if isinstance(record, dict)
                and isinstance(record.get("digest"), str)
                and isinstance(record.get("given"), dict)
            }
            self._seen = documents
        return self._by_digest.get(digest) or self._waiting.get(digest, {})

    def keep(self, digest: str, answers: Mapping[str, Json], *, registered: bool) -> None:
        """Store answers; those of a build that is not registered are held until it is. Raises StoreError."""
        if registered:
            self._write(digest, dict(answers))
            return
        self._waiting[digest] = dict(answers)
        while len(self._waiting) > _WAITING:
            del self._waiting[next(iter(self._waiting))]

    def registered(self, digest: str) -> None:
        """Store the answers held for a build that is now a tool. Raises StoreError."""
        if answers := self._waiting.pop(digest, None):
            self._write(digest, answers)

    def _write(self, digest: str, answers: dict[str, Json]) -> None:
        self._documents.put(f"answers:{digest}", {"answers": {"digest": digest, "given": answers}})
