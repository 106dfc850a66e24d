"""The library: which versions there are, which may run, and how well they did.

A version with its state is one document. Its run counts are another, so that counting a run never overwrites
a state that another process has just set.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from alita_tui.events import (
    Alias,
    Ban,
    BuildDigest,
    Capabilities,
    Lock,
    Move,
    Origin,
    Reliability,
    RunOutcome,
    SearchHit,
    Showing,
    Source,
    ToolCard,
    ToolDraft,
    ToolRecord,
    ToolState,
    Track,
    Twin,
    build_digest,
)
from alita_tui.registry.aliases import Aliases
from alita_tui.registry.answers import Answers
from alita_tui.registry.bans import Bans
from alita_tui.registry.finding import Finder, with_standing
from alita_tui.registry.moves import Moves
from alita_tui.registry.reading import LibraryState
from alita_tui.registry.reconcile import RUNNABLE, Overridden, check_approval
from alita_tui.registry.served import History, served
from alita_tui.registry.tags import Tags
from alita_tui.registry.tool_files import ToolFiles
from alita_tui.registry.trust import RELIED_ON, Use, reliability, with_outcomes
from alita_tui.spine.errors import DigestMismatch, RegistryError, StoreError
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.ports.library import Approvals, Documents, FinishedRun, SearchResult, Standing
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.ranking import Served
from alita_tui.spine.text import one_line


class ToolLibrary:
    """Implements `Library`. Sees at once what another process registered in the same documents."""

    def __init__(
        self,
        documents: Documents,
        box: Path,
        clock: Clock = lambda: datetime.now(UTC),
        *,
        approvals: Approvals | None = None,
        finder: Finder | None = None,
    ) -> None:
        """With `approvals` a tool runs only if one of them covers it; without, the documents are trusted.

        `finder` caches the index of a large library, so that it is not built again.
        """
        self._approvals = approvals
        self._documents = documents
        self._files = ToolFiles(box)
        self.bans = Bans(documents, self.standing)
        self.aliases = Aliases(documents, self.standing if approvals is not None else None)
        self.answers = Answers(documents)
        self.tags = Tags(documents)
        self._clock = clock
        self._state = LibraryState(audited=approvals is not None)
        self.finder = finder or Finder()
        self._lock = threading.RLock()  # the engine calls from its loop and from threads

    def cards(self) -> tuple[ToolCard, ...]:
        """Return the current version of every tool, by name: the pinned one, or the newest runnable one."""
        return tuple(record.card for record in self.records())

    def records(self) -> tuple[ToolRecord, ...]:
        """Return the records of these versions; files are not read."""
        self._refresh()
        newest = (self._newest(name) for name in sorted(self._state.records))
        return tuple(record for record in newest if record is not None)

    def search(self, query: str, *, limit: int = 5, without: Collection[str] = ()) -> SearchResult:
        """Return tools that fit a need, best first, and near misses; leave out the names in `without`."""
        with self._lock:
            self._refresh()
            if self.finder.stale:
                newest = self.records()
                history = {str(record.draft.name): self._history(record.draft.name) for record in newest}
                self.finder.update(newest, history, self.aliases.all(), self._clock())
            result = self.finder.search(query, limit, without)
            hits = sorted(map(self._with_use, result.hits), key=self._expected, reverse=True)
            return msgspec.structs.replace(result, hits=tuple(hits))

    def _expected(self, hit: SearchHit) -> float:
        """Return the probability that the tool fits and works; reliability counts only below `RELIED_ON`."""
        return hit.score * min(1.0, self.reliability(hit.card.name, hit.card.version).value / RELIED_ON)

    def _with_use(self, hit: SearchHit) -> SearchHit:
        """Return a hit with its reliability, what it may use and an example."""
        tool = hit.card.name, hit.card.version
        return with_standing(
            hit, self._state.records[tool[0]][tool[1]], self._state.uses.get(tool), self.reliability(*tool)
        )

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """Return a version that may run (by default the newest), read from its files, by name or alias.

        Raises RegistryError if there is none, if it may not run, or if no approval covers it; DigestMismatch
        if the files differ from what was approved.
        """
        self._refresh()
        standing = self._state.standing  # the log's state is read once, so that all checks agree
        if problem := standing.problem:
            raise RegistryError(f"No tool runs: {problem}.", hint="Look into it: alita audit verify")
        record = self._find(name, version) or self._doubtful(name)
        if record is None and (alias := self.aliases.find(name)) is not None:
            record = self._find(alias.target.name, version)
        if record is None:
            label = one_line(name, 60) + (f" v{version}" if version is not None else "")
            near = did_you_mean(name, self._state.records, "`alita tools list` shows the library.")
            if name in self._state.records:
                near = f"It has versions, none of which runs: alita tools history {name}"
            raise RegistryError(f"There is no tool {label} to run.", hint=near)
        name = record.draft.name
        if record.state not in RUNNABLE:
            raise RegistryError(f"{name} v{record.version} is {record.state} and does not run.")
        if refused := self.bans.against(digest=record.digest, draft=record.draft.digest, standing=standing):
            raise RegistryError(refused, hint="`alita tools bans` lists what is banned.")
        draft, lock = self._files.read(name, record.version)
        if build_digest(draft, lock) != record.digest:
            raise DigestMismatch(
                f"The files of {name} v{record.version} are not the ones that were approved.",
                hint=f"Put them back, or revoke it: alita tools revoke {name} --version {record.version}",
            )
        if self._approvals is not None:
            check_approval(standing, record.approval_id, name, record.digest, record.grants, record.version)
        return msgspec.structs.replace(record, draft=draft, lock=lock)

    def alias(self, name: str, description: str, twin: Twin, *, approval_id: str, by: str) -> Alias:
        """Give a tool another name. Repeating it for the same approval changes nothing."""
        if (existing := self.aliases.find(name, removed=True)) and existing.approval_id == approval_id:
            return existing
        if any(card.name == name for card in self.cards()):
            raise RegistryError(f"There is a tool {one_line(name, 60)} already.")
        record = self.get(twin.name, twin.version)
        if (record.draft.name, record.digest) != (twin.name, twin.digest):
            raise DigestMismatch(f"{twin.label} is not the tool that gave the same answers.")
        now = self._clock().isoformat()
        move = Move(name=twin.name, version=twin.version, kind="alias", before="", after=name, by=by, at=now)
        moves = Moves(self._documents)
        earlier = moves.of(twin.name)
        # After a crash the move may be on record already, without its alias.
        if not earlier or msgspec.structs.replace(earlier[-1], at=now) != move:
            moves.remember(twin.name, (*earlier, move))
        alias = Alias(name=name, description=description, target=twin, approval_id=approval_id, at=now)
        self.aliases.keep(alias)
        return alias

    def names(self) -> tuple[str, ...]:
        """Return the sorted names of all tools, including those without a running version."""
        self._refresh()
        return tuple(sorted(self._state.records))

    def versions(self, name: str) -> tuple[ToolRecord, ...]:
        """Return every version of a tool, oldest first, in any state. Files are not read."""
        self._refresh()
        return tuple(record for _, record in sorted(self._state.records.get(name, {}).items()))

    def next_version(self, name: str) -> int:
        """Return the version number that a new build of this name would get."""
        self._refresh()
        return max([0, *self._state.records.get(name, {}), *self._files.versions(name)]) + 1

    def register(
        self,
        draft: ToolDraft,
        lock: Lock,
        *,
        approval_id: str,
        digest: BuildDigest,
        sources: tuple[Source, ...],
        grants: Capabilities | None = None,
        origin: Origin = "built",
    ) -> ToolRecord:
        """Register an approved version; it is on disk when this returns. Repeating it returns the same version.

        Raises DigestMismatch if the draft is not what was approved, RegistryError, StoreError.
        """
        if refused := self.banned(draft.name, draft, digest):
            raise RegistryError(refused, hint="`alita tools bans` lists what is banned.")
        if grants is not None and not grants.within(draft.capabilities):
            raise RegistryError(f"{one_line(draft.name, 60)} was granted more than it asks for.")
        if build_digest(draft, lock) != digest:
            raise DigestMismatch(f"The draft of {one_line(draft.name, 60)} is not the one that was approved.")
        if not approval_id:
            raise RegistryError(f"{one_line(draft.name, 60)} has no approval.")
        if self._approvals is not None:
            check_approval(self.standing(), approval_id, draft.name, digest, grants)
        self._refresh()
        self._files.folder_of(draft.name, 1)
        registered = [record for record in self.versions(draft.name) if record.approval_id == approval_id]
        if registered:
            if registered[-1].digest != digest:
                raise DigestMismatch(f"{approval_id} approved another draft of {draft.name}.")
            return registered[-1]
        parent = self._newest(draft.name)
        record = ToolRecord(
            draft=draft,
            version=self._files.claim(draft.name),
            digest=digest,
            state="provisional",
            lock=lock,
            approval_id=approval_id,
            grants=grants,
            origin=origin,
            parent_version=parent.version if parent else None,
            sources=tuple(source.brief for source in sources),
            created_at=self._clock().isoformat(),
        )
        try:
            self._files.write(record)
            self._put_record(record)
            self.answers.registered(digest)
        except StoreError:
            self._files.give_back(draft.name, record.version)
            raise
        return record

    def banned(self, name: str, draft: ToolDraft | None = None, digest: str = "") -> str:
        """Return why a name, draft or digest is banned; empty if it is not."""
        if draft is None:
            return self.bans.against(name=name, digest=digest)
        return self.bans.against(name=name, digest=digest, draft=draft.digest, asks=draft.capabilities)

    def ban(self, ban: Ban) -> None:
        """Store a ban. Raises StoreError."""
        self.bans.keep(ban)

    def change_state(self, name: str, version: int, state: ToolState) -> ToolRecord:
        """Set the state of a version; nothing is deleted. Raises RegistryError, StoreError."""
        self._refresh()
        record = self._state.records.get(name, {}).get(version)
        if record is None:
            raise RegistryError(f"There is no tool {one_line(name, 60)} v{version}.")
        changed = msgspec.structs.replace(record, state=state)
        self._put_record(changed)
        return changed

    def standing(self) -> Standing:
        """Return the library's state according to the audit log. Raises StoreError."""
        return self._approvals.standing() if self._approvals is not None else Standing()

    def overridden(self) -> tuple[Overridden, ...]:
        """Return where the documents differ from the audit log; the log counts."""
        self._refresh()
        return self._state.overridden

    def doubts(self) -> dict[tuple[str, int], str]:
        """Return by version why it does not run although its state would allow it: no approval is proved."""
        self._refresh()
        return dict(self._state.doubts)

    def unproven(self, name: str, version: int | None = None) -> ToolRecord:
        """Return a version without a provable approval, read from its files. Raises RegistryError."""
        self._refresh()
        numbers = [
            number for tool, number in self._state.doubts if tool == name and version in (None, number)
        ]
        if not numbers:
            raise RegistryError(
                f"No version of {one_line(name, 60)} waits to be approved anew.",
                hint="`alita tools list` shows the library.",
            )
        record = self._state.records[name][max(numbers)]
        draft, lock = self._files.read(name, record.version)
        return msgspec.structs.replace(record, draft=draft, lock=lock)

    def pin(self, name: str, version: int | None) -> None:
        """Pin a version, so that it runs although there are newer ones; None unpins. Raises StoreError."""
        self._documents.put(f"pin:{name}", {"pin": {"name": name, "version": version}})

    def pinned(self, name: str) -> int | None:
        """Return the pinned version, if any."""
        self._refresh()
        return self._state.pins.get(name)

    def current(self, name: str) -> int | None:
        """Return the version that runs when none is named, if any."""
        self._refresh()
        record = self._newest(name)
        return record.version if record else None

    def record_run(
        self, name: str, version: int, *, ok: bool, query: str = "", outcome: RunOutcome | None = None
    ) -> ToolState | None:
        """Count a run; return the resulting state. Raises StoreError."""
        (state,) = self.record_runs(
            [FinishedRun(name=name, version=version, ok=ok, query=query, outcome=outcome)]
        )
        return state

    def record_runs(self, runs: Sequence[FinishedRun]) -> tuple[ToolState | None, ...]:
        """Count runs, store their outcomes and the queries that they served; return the resulting states.

        All of it is on disk when this returns. Raises StoreError.
        """
        uses: dict[tuple[str, int], Use] = {}
        tracks: dict[tuple[str, int], Track] = {}
        with self._lock, self._documents.changing():  # so that two processes that count at once lose no count
            self._refresh()
            for run in runs:
                key = (run.name, run.version)
                if run.outcome is not None and run.version in self._state.records.get(run.name, {}):
                    track = tracks.get(key) or self._track(key)
                    tracks[key] = with_outcomes(track, (run.outcome,), ())
                use = uses.get(key) or self._use(key)
                uses[key] = (
                    use.refused(self._clock())
                    if run.refused
                    else use.ran(ok=run.ok, query=run.query, at=self._clock())
                )
            for track in tracks.values():
                self._put_track(track, barrier=False)
            for (name, version), use in uses.items():
                document = {"use": msgspec.to_builtins(use)}
                self._documents.put(f"use:{name}:{version}", document, barrier=False)
            self._refresh()
            records = [self._state.records.get(run.name, {}).get(run.version) for run in runs]
        self._documents.sync()
        return tuple(record.state if record else None for record in records)

    def _use(self, key: tuple[str, int]) -> Use:
        return self._state.uses.get(key, Use(name=key[0], version=key[1]))

    def _track(self, key: tuple[str, int]) -> Track:
        return self._state.tracks.get(key, Track(name=key[0], version=key[1]))

    def note(
        self, name: str, version: int, outcomes: Sequence[RunOutcome], showings: Sequence[Showing] = ()
    ) -> ToolState | None:
        """Store the outcomes of runs and needs; repeating it changes nothing. Raises StoreError."""
        with self._lock, self._documents.changing():
            self._refresh()
            if version not in self._state.records.get(name, {}):
                return None
            stored = self._track((name, version))
            track = with_outcomes(stored, outcomes, showings)
            if track != stored:
                self._put_track(track)
                self._refresh()
            return self._state.records[name][version].state

    def _put_track(self, track: Track, *, barrier: bool = True) -> None:
        key = f"track:{track.name}:{track.version}"
        self._documents.put(key, {"track": msgspec.to_builtins(track)}, barrier=barrier)

    def track(self, name: str, version: int) -> Track:
        """Return the record of a version."""
        self._refresh()
        return self._track((name, version))

    def needs_met(self, name: str) -> tuple[Served, ...]:
        """Return the needs by which a tool is found besides its own words, newest last."""
        with self._lock:
            self._refresh()
            return served(self._history(name), self._clock())

    def reliability(self, name: str, version: int) -> Reliability:
        """Return the reliability of a version, with its explanation."""
        self._refresh()
        use = self._use((name, version))
        return reliability(use, self._state.tracks.get((name, version)), self._clock())

    def _put_record(self, record: ToolRecord) -> None:
        without_counts = msgspec.structs.replace(record, runs=0, failures=0)
        self._documents.put(
            f"tool:{record.draft.name}:{record.version}", {"tool": msgspec.to_builtins(without_counts)}
        )

    def _refresh(self) -> None:
        """Read what changed. The documents return the identical tuple while nothing has changed."""
        with self._lock:
            if self._state.update(self._documents.all(), self.standing(), self._clock()):
                self.finder.stale = True

    def _find(self, name: str, version: int | None) -> ToolRecord | None:
        return self._newest(name) if version is None else self._state.records.get(name, {}).get(version)

    def _doubtful(self, name: str) -> ToolRecord | None:
        """Return the newest version that would run if an approval covered it."""
        unproven = [
            self._state.records[tool][version] for tool, version in self._state.doubts if tool == name
        ]
        return max(unproven, key=lambda record: record.version, default=None)

    def _newest(self, name: str) -> ToolRecord | None:
        runnable = [
            record
            for record in self._state.records.get(name, {}).values()
            if record.state in RUNNABLE and (name, record.version) not in self._state.doubts
        ]
        pinned = [record for record in runnable if record.version == self._state.pins.get(name)]
        return max(pinned or runnable, key=lambda record: record.version, default=None)

    def _history(self, name: str) -> History:
        """Return counts and outcomes of all versions, oldest first: a new version meets the needs of earlier ones."""
        versions = [(name, version) for version in sorted(self._state.records.get(name, {}))]
        return tuple((self._state.uses.get(version), self._state.tracks.get(version)) for version in versions)
