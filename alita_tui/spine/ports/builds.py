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
    """A call of a registered tool that failed, for the build that is to mend it."""

    version: int
    arguments: Json
    error: str
    """Untrusted: what the tool raised, or why it ended."""


class BuildOrder(Value, frozen=True):
    """A gap that the agent wants closed."""

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
    """What the tool may have to ask for, as the agent sees it."""
    failure: FailedCall | None = None
    """The newest failed call of the version that is to be replaced."""
    failures: tuple[FailedCall, ...] = ()
    """Further calls of it that failed or gave what was not wanted."""
    merges: tuple[ToolDraft, ...] = ()
    """Tools whose work the new version is to do as well."""
    draft: ToolDraft | None = None
    """A draft to begin with, which no model has to write."""


class BuildOutcome(Value, frozen=True):
    """How a build ended."""

    result: Literal["registered", "rejected", "failed", "stopped", "aliased", "withdrawn"]
    reason: str = ""
    card: ToolCard | None = None


class ParkedBuild(Value, frozen=True):
    """A build that waits for a verdict, as any shell sees it."""

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
    """The decision once it was made and not yet taken up; empty while the build waits."""


class Sealing(Protocol):
    """Signs what processes of one home leave for one another. Met by `store`; blocks."""

    def signed(self, kind: str, text: str) -> str:
        """Return a signature over a text of this kind. Raise StoreError."""

    def vouched(self, kind: str, text: str, signature: str) -> bool:
        """Return whether this home signed that text as this kind. Raise StoreError."""


class ApprovalDesk(Protocol):
    """Where verdicts from other shells are left for a session. Met by `store`."""

    def verdict(self, approval_id: str) -> ResolveApproval | None:
        """Return the verdict left for this approval, with who gave it; None if there is none."""

    def claim(self, command: ResolveApproval) -> ResolveApproval:
        """Enter this session's verdict unless there is one already; return the valid one. Raises StoreError."""

    def taken(self, approval_id: str) -> None:
        """Clear the verdict once it is recorded. Raises StoreError."""
