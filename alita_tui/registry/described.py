"""A library with tools of which only a name and a description exist: a search finds them, none can run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from alita_tui.events import BuildDigest, Lock, SearchHit, ToolDraft, ToolName, ToolRecord
from alita_tui.registry.finding import Finder
from alita_tui.registry.library import ToolLibrary
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.ports.library import Approvals, Documents
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.text import one_line


def library_factory(described: Sequence[tuple[str, str]]) -> Callable[..., ToolLibrary]:
    """Return a factory of libraries; with names and descriptions, these can be found beside its tools."""
    return partial(DescribedLibrary, described) if described else ToolLibrary


class DescribedLibrary(ToolLibrary):
    """A library that also finds tools by descriptions alone, to evaluate how well tools are found.

    A description has no code, no approval and no version on disk, so nothing can run it.
    """

    def __init__(
        self,
        described: Sequence[tuple[str, str]],
        documents: Documents,
        box: Path,
        clock: Clock,
        *,
        approvals: Approvals,
        finder: Finder,
    ) -> None:
        """`described` holds names and descriptions. A registered tool of the same name replaces the description."""
        super().__init__(documents, box, clock, approvals=approvals, finder=finder)
        self._described = {name: _record(name, description) for name, description in described}

    def records(self) -> tuple[ToolRecord, ...]:
        """Return the current version of every tool and the described tools, by name."""
        registered = {str(record.draft.name): record for record in super().records()}
        return tuple(record for _, record in sorted((self._described | registered).items()))

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """Return a version that may run. Raises RegistryError, also for a described tool; DigestMismatch."""
        if name in self._described and not self.versions(name):
            raise RegistryError(
                f"{one_line(name, 60)} is known by its description alone: it has no code to run."
            )
        return super().get(name, version)

    def _with_use(self, hit: SearchHit) -> SearchHit:
        return super()._with_use(hit) if hit.card.name in self._state.records else hit


def _record(name: str, description: str) -> ToolRecord:
    draft = ToolDraft(name=ToolName(name), description=description, code="", tests="", input_schema={})
    return ToolRecord(
        draft=draft, version=1, digest=BuildDigest(""), state="provisional", lock=Lock(), approval_id=""
    )
