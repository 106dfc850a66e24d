"""The tool library: cards, records, states, moves, searches."""

from __future__ import annotations

from typing import Literal

import msgspec

from alita_tui.events.base import BuildDigest, BuildId, Fact, Json, ToolName, Value
from alita_tui.events.tool import Capabilities, Lock, ToolDraft, Twin
from alita_tui.events.track import Reliability
from alita_tui.events.web import Source

Lasting = Literal["library", "task"]
"""How long an approval lasts: until it is revoked, or until the end of the task that asked for the tool."""


class Ban(Value, frozen=True):
    """Builds that are rejected without asking. An empty field bans nothing."""

    ban_id: str
    name: str = ""
    """Builds of this name do not begin."""
    digest: str = ""
    """A build with this digest is neither approved nor run, under any name."""
    draft: str = ""
    """The same for the digest of a draft, whatever packages its requirements are locked to."""
    capabilities: tuple[str, ...] = ()
    """Capabilities that no draft may ask for, as in `Capabilities.items`."""
    reason: str = ""
    by: str = ""
    at: str = ""
    """ISO 8601, UTC."""


Origin = Literal["built", "imported", "starter", "recipe", "remote"]
"""Where a version comes from. `remote`: a tool of an MCP server, whose code is a descriptor (see `spine.servers`)."""
ToolState = Literal["draft", "provisional", "trusted", "stale", "archived", "revoked", "quarantined"]


class ToolCard(Value, frozen=True):
    """One line of the library."""

    name: ToolName
    version: int
    description: str
    digest: BuildDigest
    state: ToolState
    requirements: tuple[str, ...] = ()
    runs: int = 0
    failures: int = 0


class ToolRecord(Value, frozen=True):
    """One version of a registered tool with all its parts."""

    draft: ToolDraft
    version: int
    digest: BuildDigest
    state: ToolState
    lock: Lock
    approval_id: str
    grants: Capabilities | None = None
    """The granted part of what it asks for; None for all of it."""
    origin: Origin = "built"
    parent_version: int | None = None
    sources: tuple[Source, ...] = ()
    created_at: str = ""
    """ISO 8601, UTC."""
    runs: int = 0
    failures: int = 0

    @property
    def granted(self) -> Capabilities:
        """The capabilities of its runs."""
        return self.draft.capabilities if self.grants is None else self.grants

    @property
    def card(self) -> ToolCard:
        """The line that the library shows."""
        return ToolCard(
            name=self.draft.name,
            version=self.version,
            description=self.draft.description,
            digest=self.digest,
            state=self.state,
            requirements=self.draft.requirements,
            runs=self.runs,
            failures=self.failures,
        )


MoveKind = Literal["archive", "revoke", "quarantine", "restore", "pin", "unpin", "rollback"]


MOVED: dict[str, str] = {
    "archive": "archived",
    "revoke": "revoked",
    "quarantine": "quarantined",
    "restore": "restored",
    "pin": "pinned",
    "unpin": "unpinned",
    "rollback": "rolled back",
    "alias": "given another name",
    "unalias": "another name removed",
}
"""Name of each kind of move in the audit log."""


TAKEN_BACK = "taken back: "
"""Prefix in the audit log of a move that undoes another one."""


STATE_AFTER: dict[str, ToolState] = {
    "archive": "archived",
    "revoke": "revoked",
    "quarantine": "quarantined",
    "restore": "provisional",
    "rollback": "archived",
}
"""The state that a move leaves a version in."""


class Alias(Value, frozen=True):
    """Another name of a tool, made from a build that gave the same answers."""

    name: str
    description: str
    """The description of the build, so that a search for it finds the tool."""
    target: Twin
    """The tool and the version that gave the same answers. A call runs the version that runs under its own name."""
    approval_id: str
    """The verdict that made it."""
    at: str = ""
    """ISO 8601, UTC."""
    removed: bool = False


class Move(Value, frozen=True):
    """A person's change to a version of a tool."""

    name: str
    version: int
    kind: MoveKind | Literal["alias", "unalias"]
    before: str
    """The state before; for a pin the version that was pinned, for an alias the name; empty for none."""
    after: str
    by: str
    at: str
    """ISO 8601, UTC."""
    reason: str = ""
    undone: bool = False


class Lineage(Value, frozen=True):
    """All versions of a tool, and their history."""

    name: str
    versions: tuple[ToolRecord, ...]
    """The oldest first."""
    current: int | None = None
    """The version that runs; None if none does."""
    pinned: int | None = None
    moves: tuple[Move, ...] = ()
    """The oldest first."""
    aliases: tuple[str, ...] = ()
    """Its other names."""
    spent_usd: dict[int, float] = msgspec.field(default_factory=dict)
    """Version -> the known cost of building it."""
    reliability: dict[int, Reliability] = msgspec.field(default_factory=dict)
    """Version -> its reliability."""
    calls: tuple[str, ...] = ()
    """Tools that the current version may call, as `NAME vN`."""
    called_by: tuple[str, ...] = ()
    """Tools whose current version may call this one, as `NAME vN`, with the version that it calls."""

    @property
    def saved_usd(self) -> float:
        """The cost of building each version again for every run but its first."""
        runs = {version.version: version.runs for version in self.versions}
        return sum(usd * max(0, runs[version] - 1) for version, usd in self.spent_usd.items())


class SearchHit(Value, frozen=True):
    """A tool the search returns."""

    card: ToolCard
    score: float
    """Probability, 0 to 1, that this is the right tool."""
    served: int = 0
    """Number of needs that it has met."""
    input_schema: Json = msgspec.field(default_factory=dict)
    output_schema: Json = msgspec.field(default_factory=dict)
    grants: tuple[str, ...] = ()
    """The capabilities of its runs, as in `Capabilities.items`."""
    worked_at: str = ""
    """Time of its last known success; ISO 8601, UTC."""
    doubt: str = ""
    """Why it is not trusted, in one line; empty if it is."""
    example: Json = None
    """A call as `{"arguments": …, "result": …}`, with `"tested": false` for a run instead of a test; None for none."""


class NearMiss(Value, frozen=True):
    """A tool that was found and not used, with the score that decided."""

    name: str
    version: int
    score: float
    """0 to 1."""
    description: str = ""


Band = Literal["fits", "perhaps", "none", ""]
"""Outcome of a search: a tool certainly fits, one may fit, or certainly none fits. Empty in older records."""


class LibraryLoaded(Fact, frozen=True):
    """The tools of the library when the session began or was resumed, or when they changed."""

    tools: tuple[ToolCard, ...] = ()


class ToolSearched(Fact, frozen=True):
    """The library was searched."""

    action_id: str
    query: str
    hits: tuple[SearchHit, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    band: Band = ""
    chance: float = 0.0
    """Probability that the library has a fitting tool; it decides the band."""
    prior: float = 0.0
    """The same before it was calibrated with this library's history."""
    evidence: str = ""
    """The reasons for the probability."""


class ToolRegistered(Fact, frozen=True):
    """An approved build joined the library, or is lent to its task."""

    build_id: BuildId
    approval_id: str
    card: ToolCard
    lasting: Lasting = "library"


class ToolAliased(Fact, frozen=True):
    """A build's name became another name of a tool of the library; its code did not join."""

    build_id: BuildId
    approval_id: str
    name: str
    target: Twin


class ToolDemoted(Fact, frozen=True):
    """A tool lost trust because of its runs. Repairing it takes a new build, which needs an approval."""

    name: ToolName
    version: int
    state: ToolState
    reason: str
