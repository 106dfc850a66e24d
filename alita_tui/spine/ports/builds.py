"""Builds: orders, outcomes, parked builds and verdicts from other shells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from alita_tui.events.base import BuildDigest, BuildId, Json, Value
from alita_tui.events.build import Decision
from alita_tui.events.library import NearMiss, ToolCard
from alita_tui.events.tool import Capabilities, ToolDraft
from alita_tui.events.web import Source

if TYPE_CHECKING:
    from alita_tui.spine.commands import ResolveApproval


class PastCall(Value, frozen=True):
    """A recorded call of a tool that returned."""

    arguments: Json
    result: Json


class FailedCall(Value, frozen=True):
    """A failed call of a registered tool, for the build that has to repair the tool."""

    version: int
    arguments: Json
    error: str
    """Untrusted: what the tool raised, or why it ended."""


class BuildOrder(Value, frozen=True):
    """The order for a tool that the library lacks, or for a new version of one."""

    action_id: str
    name: str
    goal: str
    details: str = ""
    task: str = ""
    """What the person asked for, in their words."""
    near_misses: tuple[NearMiss, ...] = ()
    sources: tuple[Source, ...] = ()
    past_rejections: tuple[str, ...] = ()
    examples: tuple[Json, ...] = ()
    """As the agent gave them: `{"input": ARGUMENTS, "output": RESULT}`."""
    needs: Capabilities = Capabilities()
    """Capabilities that the agent expects the tool to need."""
    failure: FailedCall | None = None
    """The newest failed call of the version to be replaced."""
    failures: tuple[FailedCall, ...] = ()
    """Further calls of it that failed or returned a wrong result."""
    merges: tuple[ToolDraft, ...] = ()
    """Tools whose work the new version has to do as well."""
    draft: ToolDraft | None = None
    """The draft, if no model has to write one."""


class BuildOutcome(Value, frozen=True):
    """How a build ended."""

    result: Literal["registered", "rejected", "failed", "stopped", "aliased", "withdrawn"]
    reason: str = ""
    card: ToolCard | None = None


class ParkedBuild(Value, frozen=True):
    """A build that waits for a verdict from any shell."""

    approval_id: str
    build_id: BuildId
    session_id: str
    digest: BuildDigest
    name: str
    version: int
    requested_at: str
    """ISO 8601, UTC."""
    task: str = ""
    verdict: Decision | Literal[""] = ""
    """A decision that the build's session has not carried out yet; empty while there is none."""


class Sealing(Protocol):
    """Signs notes that the processes of a home leave for each other. Implemented by `store`; blocks."""

    def signed(self, kind: str, text: str) -> str:
        """Return a signature over a text of this kind. Raise StoreError."""

    def vouched(self, kind: str, text: str, signature: str) -> bool:
        """Return whether this home signed that text as this kind. Raise StoreError."""


class ApprovalDesk(Protocol):
    """Where verdicts from other shells are left for a session. Implemented by `store`."""

    def verdict(self, approval_id: str) -> ResolveApproval | None:
        """Return the verdict that was left for this approval; None if there is none."""

    def claim(self, command: ResolveApproval) -> ResolveApproval:
        """Store this session's verdict unless there is one already; return the one that counts. Raises StoreError."""

    def taken(self, approval_id: str) -> None:
        """Clear the verdict once it is recorded. Raises StoreError."""
