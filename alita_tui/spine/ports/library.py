"""The tool library, and records of approvals."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from alita_tui.events.base import BuildDigest, Json, Value
from alita_tui.events.library import (
    Alias,
    Ban,
    Band,
    Move,
    NearMiss,
    SearchHit,
    ToolCard,
    ToolRecord,
    ToolState,
)
from alita_tui.events.tool import Capabilities, Lock, ToolDraft, Twin
from alita_tui.events.track import Reliability, RunOutcome, Showing
from alita_tui.events.web import Source


class FinishedRun(Value, frozen=True):
    """How a run of a version ended."""

    name: str
    version: int
    ok: bool
    query: str = ""
    """What the tool served by it; empty: nothing is learned."""
    outcome: RunOutcome | None = None
    refused: bool = False
    """It refused its input, which is neither a success nor a failure; then `ok` says nothing."""


class SearchResult(Value, frozen=True):
    """What a search of the library found."""

    hits: tuple[SearchHit, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    band: Band = ""
    chance: float = 0.0
    """How likely it is that the library has what was asked for."""
    prior: float = 0.0
    """The same before this library's history corrected it."""
    evidence: str = ""
    """What the chance comes from, in a few words."""


class KeptAnswers(Protocol):
    """Answers of tools to probes, by the digest of the tool and by the probe's input. Blocks on the disk."""

    def of(self, digest: str) -> Mapping[str, Json]:
        """Return the answers of the tool with this digest by input; empty if none is known."""

    def keep(self, digest: str, given: Mapping[str, Json], *, registered: bool) -> None:
        """Store answers of a tool, or hold a build's until it is registered. Raises StoreError."""


class Library(Protocol):
    """The approved tools of all sessions. Met by `registry`; synchronous and in memory."""

    def cards(self) -> tuple[ToolCard, ...]:
        """Return the newest runnable version of every tool, by name."""

    @property
    def answers(self) -> KeptAnswers:
        """Return the store of the tools' answers to probes."""

    def records(self) -> tuple[ToolRecord, ...]:
        """Return the recorded current version of every tool, by name; its files are not read."""

    def search(self, query: str, *, limit: int = 5, without: Collection[str] = ()) -> SearchResult:
        """Return the tools that fit a need, best first, and those that nearly do; none called as in `without`."""

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """One version (default: the newest runnable one) of a tool by its name or another name of it.

        The bytes are checked against the digest.

        Raises RegistryError, DigestMismatch.
        """

    def next_version(self, name: str) -> int:
        """Return the version that a new build of this name would get."""

    def register(
        self,
        draft: ToolDraft,
        lock: Lock,
        *,
        approval_id: str,
        digest: BuildDigest,
        sources: tuple[Source, ...],
        grants: Capabilities | None = None,
    ) -> ToolRecord:
        """Add an approved version. Raises DigestMismatch, RegistryError."""

    def alias(self, name: str, description: str, twin: Twin, *, approval_id: str, by: str) -> Alias:
        """Give a tool another name. Repeating it for the same approval changes nothing.

        Raises RegistryError if the name is taken or the twin does not run; DigestMismatch if the twin has
        changed; StoreError.
        """

    def banned(self, name: str, draft: ToolDraft | None = None, digest: str = "") -> str:
        """Return why a name, draft or digest is banned; empty if it is not."""

    def ban(self, ban: Ban) -> None:
        """Store a ban. Repeating it changes nothing. Raises StoreError."""

    def record_runs(self, runs: Sequence[FinishedRun]) -> tuple[ToolState | None, ...]:
        """Count runs, and on success learn that their queries are served by these tools; keep outcomes that are given.

        Returns how far each tool is relied on now; None for an unknown version. They are on disk when this returns.
        Raises StoreError.
        """

    def reliability(self, name: str, version: int) -> Reliability:
        """Return how far a version is relied on, and why."""

    def note(
        self, name: str, version: int, outcomes: Sequence[RunOutcome], showings: Sequence[Showing] = ()
    ) -> ToolState | None:
        """Store the outcomes of a version's runs and of the needs that it was found for; repeating changes nothing.

        Returns how far the tool is relied on now; None for an unknown version.
        """


class ToolShelf(Library, Protocol):
    """One session's library: the shared tools, and those approved only for its running task."""

    def lend(
        self,
        draft: ToolDraft,
        lock: Lock,
        *,
        version: int,
        approval_id: str,
        digest: BuildDigest,
        grants: Capabilities | None = None,
    ) -> ToolRecord:
        """Hold an approved build in memory until `give_back`. Raises DigestMismatch, RegistryError."""

    async def find(self, query: str) -> SearchResult:
        """Search for what the agent needs, with the encoder if there is one; see `offered`."""

    def offered(self, query: str) -> SearchResult:
        """Search, and leave out the tools that the person does not allow here."""

    def lends(self, digest: str) -> bool:
        """Return whether the build with this digest was lent and not given back."""

    def give_back(self, keep: Container[str] = ()) -> bool:
        """Drop the lent builds except those with these digests; return False if there was none."""


class Approval(Value, frozen=True):
    """An approval as the audit log has it."""

    approval_id: str
    name: str
    digest: str
    grants: tuple[str, ...] | None = None
    """What was granted, as in `Capabilities.items`; None for all that is asked for."""
    lasting: str = "library"


class Standing(Value, frozen=True):
    """The library's state according to the audit log: the newest entry on each item counts, not the documents."""

    approvals: Mapping[str, Approval] = {}
    """What was approved, by approval id; includes starters and repeated approvals."""
    states: Mapping[str, Move] = {}
    """By approval id: the newest move that set the state of what was approved; `after` is that state."""
    pins: Mapping[str, Move] = {}
    """By tool: the newest pin; `after` is the version, empty for none."""
    aliases: Mapping[str, Move] = {}
    """By other name: the newest move of it; `after` is that name, empty if it was taken away."""
    bans: Mapping[str, Ban] = {}
    """By ban id: what is banned and was not taken back."""
    revoked_rules: Mapping[str, str] = {}
    """Revoked rules of the policy, by name: when and by whom."""
    problem: str = ""
    """Why the log cannot be relied on, in one sentence; empty if it is intact."""


class Approvals(Protocol):
    """What was approved, from a source that the library does not write. Met by `store`; blocks on the disk."""

    def standing(self) -> Standing:
        """Return the current state; the same object until something changes. Raises StoreError."""


class Documents(Protocol):
    """A keyed table of JSON documents. Met by `store`, used by `registry` and `memory`."""

    def all(self) -> tuple[Json, ...]:
        """Return every document, oldest first."""

    def put(self, key: str, document: Json, *, barrier: bool = True) -> None:
        """Insert or replace; with `barrier` on disk when it returns, and all that was put before. Raises StoreError."""

    def remove(self, key: str) -> None:
        """Remove a document, if it is there. Raises StoreError."""

    def changing(self) -> AbstractContextManager[None]:
        """Lock the table against changes by other threads and processes. Raises StoreError."""

    def sync(self) -> None:
        """Wait until all that was put is on disk. Raises StoreError."""
