"""A library with tools that are known by their description alone: they are found, and none of them can run."""

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


def kind_of_library(described: Sequence[tuple[str, str]]) -> Callable[..., ToolLibrary]:
    """Return what makes a library: one with these names and descriptions beside its tools, if there are any."""
    return partial(DescribedLibrary, described) if described else ToolLibrary


class DescribedLibrary(ToolLibrary):
    """A library, and beside its tools descriptions to search, for an evaluation of how tools are found.

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
        """`described`: name and description of each. A registered tool of the same name takes its place."""
        super().__init__(documents, box, clock, approvals=approvals, finder=finder)
        self._described = {name: _record(name, description) for name, description in described}

    def records(self) -> tuple[ToolRecord, ...]:
        """Return the current version of every tool, and what is described, by name."""
        registered = {str(record.draft.name): record for record in super().records()}
        return tuple(record for _, record in sorted((self._described | registered).items()))

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """Return a version that may run. Raises RegistryError also for what is only described, DigestMismatch."""
        if name in self._described and not self.versions(name):
            raise RegistryError(
                f"{one_line(name, 60)} is known by its description alone: there is nothing to run."
            )
        return super().get(name, version)

    def _with_use(self, hit: SearchHit) -> SearchHit:
        return super()._with_use(hit) if hit.card.name in self._state.records else hit


def _record(name: str, description: str) -> ToolRecord:
    draft = ToolDraft(name=ToolName(name), description=description, code="", tests="", input_schema={})
    return ToolRecord(
        draft=draft, version=1, digest=BuildDigest(""), state="provisional", lock=Lock(), approval_id=""
    )
