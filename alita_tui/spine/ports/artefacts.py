"""Where the bytes of a session's artefacts are."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from alita_tui.events.artefact import Artefact


class Artefacts(Protocol):
    """The artefacts of one session. Implemented by `store`; every call may block on the disk."""

    def add(self, path: Path, name: str = "", *, take: bool = False) -> Artefact:
        """Copy a file in, or move it with `take`; return its artefact.

        Raise UsageError if it is not a file or too large, StoreError.
        """

    def add_bytes(self, data: bytes, name: str) -> Artefact:
        """Store bytes under a name; return their artefact. Raise UsageError if there are too many, StoreError."""

    def landing(self) -> Path:
        """Return an empty folder for the files that a run leaves; the caller gives it back. Raise StoreError."""

    def spare_landing(self) -> Path | None:
        """Return a landing folder that an earlier run left empty; None if there is none. Never blocks."""

    def give_back(self, landing: Path, *, ended: bool) -> None:
        """Remove a landing folder and its files; if the run `ended`, an empty one is kept for the next run."""

    def path(self, artefact: Artefact) -> Path:
        """Return where an artefact's bytes are. Raise StoreError if they are missing or changed."""
