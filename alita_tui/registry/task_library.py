"""The library as one session sees it, with the tools that were approved for its running task only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Container, Sequence

from alita_tui.events import (
    Alias,
    Ban,
    BuildDigest,
    Capabilities,
    Lock,
    Reliability,
    RunOutcome,
    Showing,
    Source,
    ToolCard,
    ToolDraft,
    ToolRecord,
    ToolState,
    Twin,
    build_digest,
)
from alita_tui.spine.errors import DigestMismatch, RegistryError
from alita_tui.spine.ports.library import FinishedRun, Library, ProbeAnswers, SearchResult
from alita_tui.spine.text import one_line


class TaskLibrary:
    """Implements `ToolShelf` over the library. Task tools are only in memory and only in this session."""

    def __init__(
        self,
        library: Library,
        encode: Callable[[str], Awaitable[bool]] | None = None,
        forbidden: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """`encode` fetches the vectors that a search for this query lacks; it returns True if any arrived.

        `forbidden` returns the names of tools that the person does not allow here, so that no model is offered one.
        """
        self._library = library
        self._encode = encode
        self._forbidden = forbidden
        self._task_tools: dict[str, ToolRecord] = {}

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
        """Make an approved build available to the running task. Raises DigestMismatch, RegistryError."""
        if build_digest(draft, lock) != digest:
            raise DigestMismatch(f"The draft of {one_line(draft.name, 60)} is not the one that was approved.")
        if refused := self._library.banned(draft.name, draft, digest):
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
        self._task_tools[draft.name] = record
        return record

    def lends(self, digest: str) -> bool:
        """Return True if these bytes are a tool of the running task."""
        return any(record.digest == digest for record in self._task_tools.values())

    def give_back(self, keep: Container[str] = ()) -> bool:
        """Drop the task's tools except those with these digests; return False if none was dropped."""
        count = len(self._task_tools)
        self._task_tools = {
            name: record for name, record in self._task_tools.items() if record.digest in keep
        }
        return len(self._task_tools) < count

    def cards(self) -> tuple[ToolCard, ...]:
        """Return the current version of every tool, by name; a task tool replaces a library tool of its name."""
        task_cards = [record.card for record in self._task_tools.values()]
        shared = [card for card in self._library.cards() if card.name not in self._task_tools]
        return tuple(sorted((*shared, *task_cards), key=lambda card: card.name))

    @property
    def answers(self) -> ProbeAnswers:
        """The answers of the library's tools to probes."""
        return self._library.answers

    def records(self) -> tuple[ToolRecord, ...]:
        """Return the records of the current versions of the library's tools."""
        return self._library.records()

    def search(self, query: str, *, limit: int = 5, without: Collection[str] = ()) -> SearchResult:
        """Search the library. Task tools are left out, because the task that built them knows them."""
        return self._library.search(query, limit=limit, without=without)

    def offered(self, query: str) -> SearchResult:
        """Search the tools that the person allows here."""
        return self.search(query, without=self._forbidden())

    async def find(self, query: str) -> SearchResult:
        """Search the tools that the person allows here, also with an encoder's vectors if they come in time."""
        result = await asyncio.to_thread(self.offered, query)
        if self._encode is not None and await self._encode(query):
            result = await asyncio.to_thread(self.offered, query)
        return result

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """Return a tool, a task tool first. Raises RegistryError, DigestMismatch."""
        task_tool = self._task_tools.get(name)
        if task_tool is not None and version in (None, task_tool.version):
            return task_tool
        return self._library.get(name, version)

    def next_version(self, name: str) -> int:
        """Return the version number that a new build of this name would get."""
        task_tool = self._task_tools.get(name)
        return max(self._library.next_version(name), task_tool.version + 1 if task_tool else 1)

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
        """Register a version in the library; it replaces a task tool of its name."""
        record = self._library.register(
            draft, lock, approval_id=approval_id, digest=digest, sources=sources, grants=grants
        )
        self._task_tools.pop(draft.name, None)
        return record

    def record_runs(self, runs: Sequence[FinishedRun]) -> tuple[ToolState | None, ...]:
        """Count runs; those of task tools are not counted."""
        task_tools = [self._task_tools.get(run.name) for run in runs]
        task_states = [
            tool.state if tool is not None and tool.version == run.version else None
            for run, tool in zip(runs, task_tools, strict=True)
        ]
        library_states = iter(
            self._library.record_runs(
                [run for run, state in zip(runs, task_states, strict=True) if state is None]
            )
        )
        return tuple(next(library_states) if state is None else state for state in task_states)

    def reliability(self, name: str, version: int) -> Reliability:
        """Return the trust in a version; a task tool counts as never run."""
        return self._library.reliability(name, version)

    def note(
        self, name: str, version: int, outcomes: Sequence[RunOutcome], showings: Sequence[Showing] = ()
    ) -> ToolState | None:
        """Store the outcomes of runs; those of task tools are dropped."""
        task_tool = self._task_tools.get(name)
        if task_tool is not None and task_tool.version == version:
            return task_tool.state
        return self._library.note(name, version, outcomes, showings)

    def alias(self, name: str, description: str, twin: Twin, *, approval_id: str, by: str) -> Alias:
        """Give a tool of the library another name."""
        return self._library.alias(name, description, twin, approval_id=approval_id, by=by)

    def banned(self, name: str, draft: ToolDraft | None = None, digest: str = "") -> str:
        """Return why a name, draft or digest is banned; empty if it is not."""
        return self._library.banned(name, draft, digest)

    def ban(self, ban: Ban) -> None:
        """Store a ban."""
        self._library.ban(ban)
