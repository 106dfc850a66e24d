"""The library: which versions there are, which may run, and how well they did.

A version is one document, written once; its state is part of it. How often it ran and what it
served is another, so that counting never overwrites a state that someone else has just set.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from alita_tui.registry.aliases import Aliases
from alita_tui.registry.bans import Bans
from alita_tui.registry.box import Box
from alita_tui.registry.moves import Moves
from alita_tui.registry.search import ToolIndex
from alita_tui.registry.trust import QUERIES, Use, base, with_use
from alita_tui.spine.errors import DigestMismatch, RegistryError, StoreError
from alita_tui.spine.ports import Approvals, Clock, Documents, SearchResult, Standing
from alita_tui.spine.text import one_line
from alita_tui.spine.values import (
    Alias,
    Ban,
    Capabilities,
    Json,
    Lock,
    Move,
    Source,
    ToolCard,
    ToolDraft,
    ToolRecord,
    ToolState,
    Twin,
    Value,
    build_digest,
)

RUNNABLE: frozenset[ToolState] = frozenset({"provisional", "trusted", "stale"})


class Overridden(Value, frozen=True):
    """Something that the documents say otherwise than the audit log."""

    version: int
    move: Move
    """The newest word of the log, which holds."""
    text: str


class ToolLibrary:
    """Meets `Library`. Sees at once what another process registered in the same documents."""

    def __init__(
        self,
        documents: Documents,
        box: Path,
        clock: Clock = lambda: datetime.now(UTC),
        *,
        approvals: Approvals | None = None,
    ) -> None:
        """With `approvals` a tool runs only as far as one of them reaches; without, the documents are believed."""
        self._approvals = approvals
        self._documents = documents
        self._box = Box(box)
        self.bans = Bans(documents, self.standing)
        self.aliases = Aliases(documents, self.standing if approvals is not None else None)
        self._clock = clock
        self._seen: tuple[Json, ...] | None = None
        self._records: dict[str, dict[int, ToolRecord]] = {}
        self._uses: dict[tuple[str, int], Use] = {}
        self._pins: dict[str, int | None] = {}
        self._stood: Standing | None = None
        self._doubts: dict[tuple[str, int], str] = {}
        self._overridden: tuple[Overridden, ...] = ()
        self._index = ToolIndex()
        self._guard = threading.RLock()  # the engine asks from its loop and from threads

    def cards(self) -> tuple[ToolCard, ...]:
        """The version of every tool that runs, by name: the pinned or the newest runnable one."""
        self._refresh()
        newest = (self._newest(name) for name in sorted(self._records))
        return tuple(record.card for record in newest if record is not None)

    def search(self, query: str, *, limit: int = 5) -> SearchResult:
        """Tools that fit a need, best first, and those that nearly do."""
        with self._guard:
            self._refresh()
            return self._index.search(query, limit)

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """One version that may run (default: the newest), as its files have it, by the tool's name or another one.

        Raises RegistryError where there is none, it may not run or its approval is not its own,
        DigestMismatch where the files are not what was approved.
        """
        self._refresh()
        if problem := self.standing().problem:
            raise RegistryError(f"No tool runs: {problem}.", hint="Look into it: alita audit verify")
        record = self._find(name, version) or self._doubtful(name)
        if record is None and (alias := self.aliases.find(name)) is not None:
            record = self._find(alias.target.name, version)
        if record is None:
            which = one_line(name, 60) + (f" v{version}" if version is not None else "")
            raise RegistryError(
                f"There is no tool {which} to run.", hint="`alita tools list` shows the library."
            )
        name = record.draft.name
        if record.state not in RUNNABLE:
            raise RegistryError(f"{name} v{record.version} is {record.state} and does not run.")
        if refused := self.bans.against(digest=record.digest, draft=record.draft.digest):
            raise RegistryError(refused, hint="`alita tools bans` lists what is banned.")
        draft, lock = self._box.read(name, record.version)
        if build_digest(draft, lock) != record.digest:
            raise DigestMismatch(
                f"The files of {name} v{record.version} are not the ones that were approved.",
                hint=f"Put them back, or revoke it: alita tools revoke {name} --version {record.version}",
            )
        self._check_approval(record.approval_id, name, record.digest, record.grants, record.version)
        return msgspec.structs.replace(record, draft=draft, lock=lock)

    def alias(self, name: str, description: str, twin: Twin, *, approval_id: str, by: str) -> Alias:
        """See `Library.alias`."""
        if (known := self.aliases.find(name, removed=True)) and known.approval_id == approval_id:
            return known
        if any(card.name == name for card in self.cards()):
            raise RegistryError(f"There is a tool {one_line(name, 60)} already.")
        record = self.get(twin.name, twin.version)
        if (record.draft.name, record.digest) != (twin.name, twin.digest):
            raise DigestMismatch(f"{twin.label} is not the tool that gave the same answers.")
        now = self._clock().isoformat()
        made = Move(
            name=twin.name, version=twin.version, kind="alias", before="", after=name, by=by, at=now
        )  # fmt: skip
        moves = Moves(self._documents)
        earlier = moves.of(twin.name)
        if not earlier or msgspec.structs.replace(earlier[-1], at=now) != made:  # a crash came between
            moves.remember(twin.name, (*earlier, made))
        alias = Alias(name=name, description=description, target=twin, approval_id=approval_id, at=now)
        self.aliases.keep(alias)
        return alias

    def names(self) -> tuple[str, ...]:
        """Every tool, also those of which no version runs, sorted."""
        self._refresh()
        return tuple(sorted(self._records))

    def versions(self, name: str) -> tuple[ToolRecord, ...]:
        """Every version of a tool, the oldest first, whatever its state; files are not looked at."""
        self._refresh()
        return tuple(record for _, record in sorted(self._records.get(name, {}).items()))

    def next_version(self, name: str) -> int:
        """The number a new build of this name would get."""
        self._refresh()
        return max([0, *self._records.get(name, {}), *self._box.versions(name)]) + 1

    def register(
        self,
        draft: ToolDraft,
        lock: Lock,
        *,
        approval_id: str,
        digest: str,
        sources: tuple[Source, ...],
        grants: Capabilities | None = None,
        origin: Literal["built", "imported", "starter"] = "built",
    ) -> ToolRecord:
        """Add an approved version, on disk when it returns. Doing it again gives the same version.

        Raises DigestMismatch when the draft is not what was approved, RegistryError, StoreError.
        """
        if refused := self.banned(draft.name, draft, digest):
            raise RegistryError(refused, hint="`alita tools bans` lists what is banned.")
        if grants is not None and not grants.within(draft.capabilities):
            raise RegistryError(f"{one_line(draft.name, 60)} was granted more than it asks for.")
        if build_digest(draft, lock) != digest:
            raise DigestMismatch(f"The draft of {one_line(draft.name, 60)} is not the one that was approved.")
        if not approval_id:
            raise RegistryError(f"{one_line(draft.name, 60)} has no approval.")
        self._check_approval(approval_id, draft.name, digest, grants)
        self._refresh()
        self._box.place(draft.name, 1)
        same = [record for record in self.versions(draft.name) if record.approval_id == approval_id]
        if same:
            if same[-1].digest != digest:
                raise DigestMismatch(f"{approval_id} approved another draft of {draft.name}.")
            return same[-1]
        parent = self._newest(draft.name)
        record = ToolRecord(
            draft=draft,
            version=self._box.claim(draft.name),
            digest=digest,
            state="provisional",
            lock=lock,
            approval_id=approval_id,
            grants=grants,
            origin=origin,
            parent_version=parent.version if parent else None,
            sources=sources,
            created_at=self._clock().isoformat(),
        )
        try:
            self._box.write(record)
            self._keep(record)
        except StoreError:
            self._box.give_back(draft.name, record.version)
            raise
        return record

    def banned(self, name: str, draft: ToolDraft | None = None, digest: str = "") -> str:
        """See `Library.banned`."""
        if draft is None:
            return self.bans.against(name=name, digest=digest)
        return self.bans.against(name=name, digest=digest, draft=draft.digest, asks=draft.capabilities)

    def ban(self, ban: Ban) -> None:
        """See `Library.ban`."""
        self.bans.keep(ban)

    def change_state(self, name: str, version: int, state: ToolState) -> ToolRecord:
        """Archive, revoke, quarantine or restore a version; nothing is deleted.

        Raises RegistryError where there is no such version, StoreError.
        """
        self._refresh()
        record = self._records.get(name, {}).get(version)
        if record is None:
            raise RegistryError(f"There is no tool {one_line(name, 60)} v{version}.")
        changed = msgspec.structs.replace(record, state=state)
        self._keep(changed)
        return changed

    def standing(self) -> Standing:
        """What the audit log makes of the library. Raises StoreError."""
        return self._approvals.standing() if self._approvals is not None else Standing()

    def overridden(self) -> tuple[Overridden, ...]:
        """Where the documents say something else than the audit log, which holds."""
        self._refresh()
        return self._overridden

    def doubts(self) -> dict[tuple[str, int], str]:
        """Why a version that its state would let run does not: no approval of it can be proved."""
        self._refresh()
        return dict(self._doubts)

    def unproven(self, name: str, version: int | None = None) -> ToolRecord:
        """A version whose approval cannot be proved, as its files have it, to be looked at and approved anew.

        Raises RegistryError where there is none.
        """
        self._refresh()
        numbers = [one for tool, one in self._doubts if tool == name and version in (None, one)]
        if not numbers:
            raise RegistryError(
                f"No version of {one_line(name, 60)} waits to be approved anew.",
                hint="`alita tools list` shows the library.",
            )
        record = self._records[name][max(numbers)]
        draft, lock = self._box.read(name, record.version)
        return msgspec.structs.replace(record, draft=draft, lock=lock)

    def pin(self, name: str, version: int | None) -> None:
        """Let this version run whatever newer ones there are; None: the newest again. Raises StoreError."""
        self._documents.put(f"pin:{name}", {"pin": {"name": name, "version": version}})

    def pinned(self, name: str) -> int | None:
        """The version that is pinned, if one is."""
        self._refresh()
        return self._pins.get(name)

    def current(self, name: str) -> int | None:
        """The version that runs when none is named; None when none does."""
        self._refresh()
        found = self._newest(name)
        return found.version if found else None

    def record_run(self, name: str, version: int, *, ok: bool, query: str) -> ToolState | None:
        """See `Library.record_run`. Raises StoreError."""
        with self._guard:
            self._refresh()
            known = self._uses.get((name, version), Use(name=name, version=version))
            use = known.ran(ok=ok, query=query, at=self._clock())
            self._documents.put(f"use:{name}:{version}", {"use": msgspec.to_builtins(use)})
            self._refresh()
            record = self._records.get(name, {}).get(version)
            return record.state if record else None

    # --- inside

    def _check_approval(
        self,
        approval_id: str,
        name: str,
        digest: str,
        grants: Capabilities | None,
        version: int | None = None,
    ) -> None:
        """Whether the approval that a tool names is of this tool, these bytes and no less than this grant."""
        if self._approvals is None:
            return
        if why := _doubt(self.standing(), approval_id, name, digest, grants):
            which = f"{one_line(name, 60)} --version {version}" if version is not None else one_line(name, 60)
            raise RegistryError(
                f"{one_line(name, 60)} does not run: {why}.",
                hint=f"`alita audit explain {one_line(name, 60)}` says what is known. To look at it and approve it "
                f"anew: alita tools approve {which}",
            )

    def _keep(self, record: ToolRecord) -> None:
        bare = msgspec.structs.replace(record, runs=0, failures=0)
        self._documents.put(f"tool:{record.draft.name}:{record.version}", {"tool": msgspec.to_builtins(bare)})

    def _refresh(self) -> None:
        """Take in what changed; the documents give the same tuple as long as nothing did."""
        with self._guard:
            documents, said = self._documents.all(), self.standing()
            if documents is self._seen and (said is self._stood or self._approvals is None):
                return
            records: defaultdict[str, dict[int, ToolRecord]] = defaultdict(dict)
            self._uses = {}
            self._pins = {}
            for document in documents:
                match _read(document):
                    case ToolRecord() as record:
                        records[record.draft.name][record.version] = record
                    case Use() as use:
                        self._uses[use.name, use.version] = use
                    case (str(name), int() | None as version):
                        self._pins[name] = version
                    case _:
                        pass
            self._hold_to(said, records)
            now = self._clock()
            for name, versions in records.items():
                for version, record in versions.items():
                    pinned = self._pins.get(name) == version
                    used = self._uses.get((name, version))
                    versions[version] = with_use(record, used, now, pinned=pinned)
            self._records, self._seen, self._stood = dict(records), documents, said
            newest = filter(None, map(self._newest, records))
            self._index.update(((one, self._served(one.draft.name)) for one in newest), self.aliases.all())

    def _hold_to(self, said: Standing, records: dict[str, dict[int, ToolRecord]]) -> None:
        """Let the newest word of the audit log on each version hold, whatever the documents say."""
        told: list[Overridden] = []
        self._doubts = {}
        for name, versions in records.items():
            for version, record in versions.items():
                move = said.states.get(record.approval_id)
                if move is not None and base(record.state) != move.after:
                    state = msgspec.convert(move.after, ToolState)
                    runs = "it runs" if state in RUNNABLE else "it does not run"
                    text = (
                        f"{name} v{version}: the library says {record.state}, the log says {move.after} "
                        f"(by {one_line(move.by, 60)} on {move.at[:10]}); {runs}"
                    )
                    told.append(Overridden(version=version, move=move, text=text))
                    record = versions[version] = msgspec.structs.replace(record, state=state)
                if self._approvals is not None and record.state in RUNNABLE:
                    why = said.problem or _doubt(said, record.approval_id, name, record.digest, record.grants)
                    if why:
                        self._doubts[name, version] = why
        for name, move in said.pins.items():
            pinned = int(move.after) if move.after.isdecimal() else None
            if name in records and self._pins.get(name) != pinned:
                was, holds = (f"v{one}" if one else "none" for one in (self._pins.get(name), pinned))
                text = f"{name}: the library says that {was} is pinned, the log {holds}"
                told.append(Overridden(version=move.version, move=move, text=text))
                self._pins[name] = pinned
        self._overridden = tuple(told)

    def _find(self, name: str, version: int | None) -> ToolRecord | None:
        return self._newest(name) if version is None else self._records.get(name, {}).get(version)

    def _doubtful(self, name: str) -> ToolRecord | None:
        """The newest version that would run if its approval could be proved."""
        found = [self._records[tool][version] for tool, version in self._doubts if tool == name]
        return max(found, key=lambda record: record.version, default=None)

    def _newest(self, name: str) -> ToolRecord | None:
        runnable = [
            one
            for one in self._records.get(name, {}).values()
            if one.state in RUNNABLE and (name, one.version) not in self._doubts
        ]
        pinned = [one for one in runnable if one.version == self._pins.get(name)]
        return max(pinned or runnable, key=lambda record: record.version, default=None)

    def _served(self, name: str) -> tuple[str, ...]:
        """Queries that any version has served: a newer one serves them too."""
        versions = sorted(self._records.get(name, {}))
        queries = [q for v in versions if (use := self._uses.get((name, v))) for q in use.queries]
        return tuple(dict.fromkeys(queries))[-QUERIES:]


def _doubt(said: Standing, approval_id: str, name: str, digest: str, grants: Capabilities | None) -> str:
    """Why an approval is none of this tool, these bytes and this grant; empty where it is."""
    found = said.approvals.get(approval_id)
    if said.problem:
        return said.problem
    if found is None:
        return f"the audit log of this home has no approval {one_line(approval_id, 60)!r}"
    if found.name != name:
        return f"its approval is the one of {one_line(found.name, 60)}"
    if found.digest != digest:
        return f"its approval is of other bytes, {found.digest[:12]}"
    if found.lasting != "library":
        return "its approval was for one task alone"
    if found.grants != (None if grants is None else grants.items):
        return "it was granted something else than it is given"
    return ""


def _read(document: Json) -> ToolRecord | Use | tuple[str, int | None] | None:
    """A document as a value; one that cannot be read is passed over and stays where it is."""
    try:
        if "tool" in document:
            return msgspec.convert(document["tool"], ToolRecord)
        if "pin" in document:
            return document["pin"]["name"], document["pin"]["version"]
        return msgspec.convert(document["use"], Use)
    except (msgspec.ValidationError, TypeError, KeyError):
        return None
