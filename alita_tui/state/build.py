"""The state of a build: its drafts, the evidence about them, and the person's decision. Raw text."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec
from msgspec.structs import asdict

from alita_tui.events import (
    NO_AGENT,
    NO_TASK,
    AgentId,
    BuildDigest,
    BuildDrafted,
    BuildId,
    Capabilities,
    DraftDigest,
    Finding,
    GateName,
    GateResult,
    Json,
    Lock,
    NearMiss,
    RunReport,
    Source,
    TaskId,
    ToolDraft,
    Twin,
    Verdict,
    build_digest,
)
from alita_tui.events.build import CHECKS
from alita_tui.spine.envelope import Envelope

BuildStatus = Literal[
    "drafting",
    "reviewing",
    "locking",
    "testing",
    "repairing",
    "pending",
    "approved",
    "rejected",
    "edited",
    "retested",
    "stopped",
    "banned",
    "withdrawn",
    "registered",
    "aliased",
    "linked",
    "lent",
    "failed",
]


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """One draft of a build and the evidence about it. Raw text: reveal it before showing."""

    number: int
    author: Literal["model", "person"]
    model: str
    draft: ToolDraft
    digest: DraftDigest
    findings: tuple[Finding, ...] = ()
    imports: tuple[str, ...] = ()
    reviewed: bool | None = None
    lock: Lock | None = None
    lock_problem: str = ""
    reports: tuple[RunReport, ...] = ()
    passed: bool | None = None
    problem: str = ""
    granted: Capabilities = Capabilities()
    """The grants of a repeated test run that the person asked for; empty if there was none."""
    granted_reports: tuple[RunReport, ...] = ()
    granted_problem: str = ""
    language_reason: str = ""
    """The model's reason for another language than Python."""
    gates: tuple[GateResult, ...] = ()
    """The result of each check that ran, in the order of CHECKS."""

    @classmethod
    def of(cls, event: BuildDrafted) -> Attempt:
        """Return a draft without any observations yet."""
        reason = event.language_reason
        return cls(
            event.attempt, event.author, event.model, event.draft, event.digest, language_reason=reason
        )

    @property
    def unchecked(self) -> tuple[GateName, ...]:
        """Checks without a result."""
        checked = {result.gate for result in self.gates}
        return tuple(name for name in CHECKS if name not in checked)

    @property
    def twins(self) -> tuple[Twin, ...]:
        """Tools of the library that give the same answers, the nearest first."""
        return next((result.twins for result in self.gates if result.gate == "neighbours"), ())

    @property
    def build_digest(self) -> BuildDigest:
        """The digest that an approval of this attempt would name, computed from its draft and lock."""
        return build_digest(self.draft, self.lock or Lock())


def merge_reason(twin: Twin) -> str:
    """Return the reason of a rejection by which the person asks for one tool in place of two."""
    return f"merge: build_tool {twin.name} anew, so that it does the work of {twin.label} and of this build"


class BuildState(msgspec.Struct, frozen=True, gc=False):
    """A build, from the order to the verdict."""

    build_id: BuildId
    action_id: str
    name: str
    version: int
    goal: str
    step: int
    task_id: TaskId = NO_TASK
    task: str = ""
    parent: ToolDraft | None = None
    examples: tuple[Json, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    sources: tuple[Source, ...] = ()
    lessons: tuple[str, ...] = ()
    """Reasons of earlier rejections that the toolsmith was given."""
    attempts: tuple[Attempt, ...] = ()
    status: BuildStatus = "drafting"
    put_off: bool = False
    """True if the task continues without it."""
    approval_id: str = ""
    digest: BuildDigest = BuildDigest("")
    """The digest that waits for approval or was decided on; empty before the request."""
    requested_at: datetime | None = None
    resolved_at: datetime | None = None
    verdict: Verdict | None = None
    """The newest verdict on it; its outcome is in `status`."""
    spent_usd: float = 0.0
    """Known spend on it so far: drafts, repairs, hidden tests."""
    limit_usd: float | None = None
    """Its cap in US dollars; None: only the cap of its task applies."""

    @property
    def settled(self) -> bool:
        """True if it was decided and the decision was carried out, so that nothing is left to do."""
        return self.status in ("rejected", "withdrawn", "registered", "linked", "failed")

    @property
    def cost(self) -> str:
        """Known cost so far, and its cap if it has one; empty if nothing is known."""
        if self.limit_usd is None:
            return f"${self.spent_usd:.4f}" if self.spent_usd else ""
        return f"${self.spent_usd:.4f} of ${self.limit_usd:.4f}"

    @property
    def current(self) -> Attempt | None:
        """The newest draft."""
        return self.attempts[-1] if self.attempts else None

    @property
    def presented(self) -> Attempt | None:
        """The draft with the digest that waits for approval; the newest draft if none has it."""
        matching = (attempt for attempt in reversed(self.attempts) if attempt.build_digest == self.digest)
        return next(matching, self.current)

    @property
    def merges_into(self) -> str:
        """The name of the tool that should also do this build's job; empty unless the person asked for that."""
        twins = self.presented.twins if self.presented and self.verdict else ()
        return next(
            (str(twin.name) for twin in twins if self.verdict and self.verdict.reason == merge_reason(twin)),
            "",
        )


class AgentsBuild(BuildState, frozen=True, gc=False):
    """A build that a delegated agent asked for. It is a class of its own so that older fingerprints stay valid."""

    agent_id: AgentId = NO_AGENT


def asked_by(build: BuildState, envelope: Envelope) -> BuildState:
    """Return a build with the agent that asked for it, taken from the envelope of its first event."""
    return AgentsBuild(**asdict(build), agent_id=envelope.delegate) if envelope.delegate else build
