"""Everything that is read from outside the session for a task, within a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from time import monotonic
from typing import Protocol

from alita_tui.context.documents import Documents, ReadPdf
from alita_tui.context.repository import Repository
from alita_tui.events import ContextBlock
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.spine.ports.context import Provided
from alita_tui.spine.text import one_line

SECONDS = 4.0
"""Seconds for one block; the rest is left out."""
_PREFERENCES = 64 << 10


class Skills(Protocol):
    """Skills that the person approved. Implemented by `app`; every call blocks on the disk and may raise StoreError."""

    def descriptions(self) -> Sequence[tuple[str, str]]:
        """Return the name and description of each."""

    def file(self, path: str) -> bytes:
        """Return a file by `NAME/PATH`. Raise RegistryError."""


class ContextProvider:
    """Meets `spine.ports.context.Provider`."""

    def __init__(
        self,
        *,
        redact: Callable[[str], str],
        read_pdf: ReadPdf,
        repository: Path,
        documents: Path | None = None,
        preferences: str = "",
        preferences_file: Path | None = None,
        skills: Skills | None = None,
        seconds: float = SECONDS,
    ) -> None:
        """`redact` takes secrets out; it is asked before anything is cut."""
        self._redact = redact
        self._preferences = preferences
        self._preferences_file = preferences_file
        self._skills = skills
        self._seconds = seconds
        self._repository = Repository(repository, redact)
        self._documents = Documents(documents, redact, read_pdf) if documents else None
        self._one = threading.Lock()

    def provide(self, task: str, wanted: Collection[str]) -> Provided:
        """Return the blocks of these names that have something to say about a task."""
        makers: dict[str, Callable[[], ContextBlock | None]] = {
            "preferences": self._preferred,
            "documents": lambda: self._documents.block(task, self._until()) if self._documents else None,
            "skills": self._skilled,
            "repository": lambda: self._repository.block(task, self._until()),
        }
        blocks: list[ContextBlock] = []
        problems: list[str] = []
        # A disk that hangs blocks one thread, not all of them.
        if not self._one.acquire(timeout=2 * self._seconds):
            return Provided(problems=("An earlier look at these folders has not ended yet.",))
        try:
            for name, make in makers.items():
                if name not in wanted:
                    continue
                try:
                    block = make()
                except UsageError as error:
                    problems.append(f"{name}: {error.message}")
                except OSError as error:
                    problems.append(f"{name}: {error.strerror or error}")
                except Exception as error:  # noqa: BLE001  # a bad file affects only its own block
                    problems.append(f"{name}: {type(error).__name__}: {error}")
                else:
                    blocks += [block] if block is not None else []
        finally:
            self._one.release()
        return Provided(blocks=tuple(blocks), problems=tuple(problems))

    def skill_file(self, path: str) -> bytes:
        """Return a file of an approved skill by `NAME/PATH`. Raise RegistryError, StoreError."""
        if self._skills is None:
            raise RegistryError("There are no skills.")
        return self._skills.file(path)

    def _skilled(self) -> ContextBlock | None:
        skills = self._skills.descriptions() if self._skills is not None else ()
        text = "\n".join(
            f"- {name}: {one_line(self._redact(description), 1024)}" for name, description in skills
        )
        return ContextBlock(name="skills", source="skills", text=text) if text else None

    def _until(self) -> float:
        return monotonic() + self._seconds

    def _preferred(self) -> ContextBlock | None:
        text = self._preferences
        if self._preferences_file is not None and self._preferences_file.is_file():
            with self._preferences_file.open("rb") as file:
                text = f"{text}\n{file.read(_PREFERENCES).decode('utf-8', 'replace')}"
        return ContextBlock(name="preferences", text=self._redact(text).strip()) if text.strip() else None
