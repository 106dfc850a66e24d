"""The history of changes to each tool, in the registry's documents."""

from __future__ import annotations

import msgspec

from alita_tui.events import Json, Move, ready
from alita_tui.spine.ports.library import Documents


class Moves:
    """The moves of each tool, oldest first."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def of(self, name: str) -> tuple[Move, ...]:
        """Return the moves of one tool."""
        moves: Json = next((doc["moves"] for doc in self._documents.all() if _is_of(doc, name)), [])
        return msgspec.convert(moves, ready(tuple[Move, ...]))

    def remember(self, name: str, moves: tuple[Move, ...]) -> None:
        """Replace the stored moves of a tool. Raises StoreError."""
        self._documents.put(f"moves:{name}", {"of": name, "moves": msgspec.to_builtins(moves)})


def _is_of(document: Json, name: str) -> bool:
    return isinstance(document, dict) and "moves" in document and document.get("of") == name
