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
    """The need that the run served; empty: the library learns nothing from it."""
    outcome: RunOutcome | None = None
    refused: bool = False
    """It refused its input, which is neither a success nor a failure; then `ok` says nothing."""


class SearchResult(Value, frozen=True):
    """The result of a search of the library."""

    hits: tuple[SearchHit, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    band: Band = ""
    chance: float = 0.0
    """Probability that the library has a tool for the query."""
    prior: float = 0.0
    """The same before it was calibrated with this library's history."""
    evidence: str = ""
    """The reasons for the probability, in a few words."""


class ProbeAnswers(Protocol):
    """Answers of tools to probes, by the digest of the tool and by the probe's input. Blocks on the disk."""

    def of(self, digest: str) -> Mapping[str, Json]:
        """Return the answers of the tool with this digest by input; empty if none is known."""

    def keep(self, digest: str, given: Mapping[str, Json], *, registered: bool) -> None:
        """Store answers of a tool, or hold a build's until it is registered. Raises StoreError."""


class Library(Protocol):
    """The approved tools of all sessions. Implemented by `registry`; synchronous and in memory."""

    def cards(self) -> tuple[ToolCard, ...]:
        """Return the newest runnable version of every tool, by name."""

    @property
    def answers(self) -> ProbeAnswers:
        """Return the store of the tools' answers to probes."""

    def records(self) -> tuple[ToolRecord, ...]:
        """Return the recorded current version of every tool, by name; its files are not read."""

    def search(self, query: str, *, limit: int = 5, without: Collection[str] = ()) -> SearchResult:
        """Return the tools that fit a need, best first, and near misses; leave out the names in `without`."""

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """Return a version of a tool (default: the newest runnable one) by its name or an alias.

        Raises RegistryError if it may not run, DigestMismatch if its files are not what was approved.
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
        """Add an approved version; return its record. Raises DigestMismatch, RegistryError."""

    def alias(self, name: str, description: str, twin: Twin, *, approval_id: str, by: str) -> Alias:
        """Give a tool another name; return it. Repeating it for the same approval changes nothing.

        Raises RegistryError if the name is taken or the twin does not run; DigestMismatch if the twin has
        changed; StoreError.
        """

    def banned(self, name: str, draft: ToolDraft | None = None, digest: str = "") -> str:
        """Return why a name, draft or digest is banned; empty if it is not."""

    def ban(self, ban: Ban) -> None:
        """Store a ban. Repeating it changes nothing. Raises StoreError."""

    def record_runs(self, runs: Sequence[FinishedRun]) -> tuple[ToolState | None, ...]:
        """Count runs, and store their outcomes and the needs that successful ones served.

        Returns the state of each tool afterwards; None for an unknown version. All of it is on disk when this returns.
        Raises StoreError.
        """

    def reliability(self, name: str, version: int) -> Reliability:
        """Return the reliability of a version, with the reasons."""

    def note(
        self, name: str, version: int, outcomes: Sequence[RunOutcome], showings: Sequence[Showing] = ()
    ) -> ToolState | None:
        """Store outcomes of a version's runs, and of the needs that it was found for; repeating it changes nothing.

        Returns the state of the tool afterwards; None for an unknown version.
        """


class ToolShelf(Library, Protocol):
    """One session's library: the shared tools, and those that were approved for its running task only."""

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
        """Hold an approved build in memory until `give_back`; return its record.

        Raises DigestMismatch, RegistryError.
        """

    async def find(self, query: str) -> SearchResult:
        """Return what `offered` returns, searched with the vectors of the encoder too, if there is one."""

    def offered(self, query: str) -> SearchResult:
        """Return the result of a search without the tools that the person does not allow here."""

    def lends(self, digest: str) -> bool:
        """Return whether the build with this digest is lent at present."""

    def give_back(self, keep: Container[str] = ()) -> bool:
        """Drop the lent builds except those with these digests; return False if there was none."""


class Approval(Value, frozen=True):
    """An approval according to the audit log."""

    approval_id: str
    name: str
    digest: str
    grants: tuple[str, ...] | None = None
    """The granted capabilities, as in `Capabilities.items`; None if everything was granted."""
    lasting: str = "library"


class Standing(Value, frozen=True):
    """The library's state according to the audit log: the newest entry on each item counts, not the documents."""

    approvals: Mapping[str, Approval] = {}
    """Approval id -> what was approved, starters and repeated approvals included."""
    states: Mapping[str, Move] = {}
    """Approval id -> the newest move that set the state of the approved version; `after` is the state."""
    pins: Mapping[str, Move] = {}
    """Tool -> its newest pin; `after` is the version, empty if it was unpinned."""
    aliases: Mapping[str, Move] = {}
    """Alias -> its newest move; `after` is the alias, empty if it was removed."""
    bans: Mapping[str, Ban] = {}
    """Ban id -> a ban that was not lifted."""
    revoked_rules: Mapping[str, str] = {}
    """Name of a revoked rule of the policy -> when and by whom it was revoked."""
    problem: str = ""
    """Why the log cannot be relied on, in one sentence; empty if it is intact."""


class Approvals(Protocol):
    """The approvals, from a source that the library does not write. Implemented by `store`; blocks on the disk."""

    def standing(self) -> Standing:
        """Return the current state; the same object until something changes. Raises StoreError."""


class Documents(Protocol):
    """A keyed table of JSON documents. Implemented by `store`, used by `registry` and `memory`."""

    def all(self) -> tuple[Json, ...]:
        """Return every document, oldest first."""

    def put(self, key: str, document: Json, *, barrier: bool = True) -> None:
        """Insert or replace a document. With `barrier`, it and all earlier ones are on disk then. Raises StoreError."""

    def remove(self, key: str) -> None:
        """Remove a document if it exists. Raises StoreError."""

    def changing(self) -> AbstractContextManager[None]:
        """Lock the table against changes by other threads and processes. Raises StoreError."""

    def sync(self) -> None:
        """Wait until all documents are on disk. Raises StoreError."""
