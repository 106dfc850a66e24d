"""Verdicts by the person's rules, and the risks that an approval must name."""

from __future__ import annotations

from collections.abc import Iterable

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.recordings import known_packages
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import of


def ruling(
    app: AppContext, envelopes: Iterable[Envelope], request: e.ApprovalRequested
) -> ResolveApproval | None:
    """Return the verdict of the first rule that covers a build. Raises ConfigError, StoreError.

    No rule covers a build that alita proposed by itself: the person did not ask for it, and it may replace a tool.
    """
    from alita_tui.view.policy import unmet_conditions
    from alita_tui.view.queries import build_of

    rules = app.policy.rules
    build = build_of(envelopes, request.build_id) if rules else None
    attempt = build.presented if build else None
    if build is None or attempt is None:
        return None
    if is_proposed(envelopes, request.build_id):
        return None
    packages, today = known_packages(app), now().astimezone().date()
    for rule in rules:
        if not unmet_conditions(rule, build, attempt, packages, today):
            verdict = e.Verdict(
                decision="approved",
                reason=f"{rule.reach} (rule sha256 {rule.digest[:12]})",
                lasting=rule.lasting,
                by=f"rule {rule.name}",
                via="policy",
            )
            return ResolveApproval(
                approval_id=request.approval_id, digest=attempt.build_digest, verdict=verdict
            )
    return None


def is_proposed(envelopes: Iterable[Envelope], build_id: str) -> bool:
    """Return True if the task that a build is for is a proposal of alita's own, or may be."""
    improves: dict[str, bool] = {}
    newest = ""
    for envelope in of(envelopes, e.TaskSubmitted, e.BuildStarted):
        match envelope.event:
            case e.TaskSubmitted(task_id=newest, improves=proposal):
                improves[newest] = bool(proposal)
            case e.BuildStarted() if envelope.event.build_id == build_id:
                return improves.get(envelope.task_id or newest, False)
            case _:
                pass
    return any(
        improves.values()
    )  # the build's task is not recorded, so if any is a proposal, no rule decides


def unnamed(
    envelopes: Iterable[Envelope], request: e.ApprovalRequested, verdict: e.Verdict
) -> tuple[str, ...]:
    """Return the risks of a build that an approval does not accept by name."""
    from alita_tui.view.queries import build_of
    from alita_tui.view.risk import names_to_accept, risks

    build = build_of(envelopes, request.build_id)
    attempt = build.presented if build else None
    if build is None or attempt is None:
        return ("not-on-record",)
    requested = attempt.draft.capabilities.items
    granted = requested if verdict.grants is None else verdict.grants.items
    withheld = [item for item in requested if item not in granted]
    return tuple(
        name for name in names_to_accept(risks(build, attempt, withheld)) if name not in verdict.accepted
    )


class FaultsUnknown:
    """The tool that a person approved in this session although no fault database answered; empty if there is none."""

    def __init__(self) -> None:
        self._tool = ""

    def __call__(self) -> str:
        """Return the tool's name."""
        return self._tool

    def note(self, tool: str, verdict: e.Verdict) -> None:
        """Remember the tool of a verdict that accepts this risk by its name."""
        from alita_tui.view.risk import FAULTS_UNKNOWN

        if verdict.decision == "approved" and FAULTS_UNKNOWN in verdict.accepted:
            self._tool = tool
