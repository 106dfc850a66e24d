"""What decides on a build besides a key press: a rule of the person's, and the risks an approval must name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.recordings import known_packages
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.envelope import Envelope

if TYPE_CHECKING:
    from alita_tui.toolsmith.gate import Decision


def ruling(app: AppContext, envelopes: Iterable[Envelope], request: e.ApprovalRequested) -> Decision | None:
    """Return what the first rule that covers a build decides. Raises ConfigError, StoreError."""
    from alita_tui.toolsmith.gate import Decision
    from alita_tui.view.policy import unmet
    from alita_tui.view.queries import build_of

    rules = app.policy.rules
    build = build_of(envelopes, request.build_id) if rules else None
    attempt = build.presented if build else None
    if build is None or attempt is None:
        return None
    packages, today = known_packages(app), now().astimezone().date()
    for rule in rules:
        if not unmet(rule, build, attempt, packages, today):
            verdict = ResolveApproval(
                approval_id=request.approval_id,
                digest=attempt.build_digest,
                verdict="approved",
                reason=f"{rule.reach} (rule sha256 {rule.digest[:12]})",
                lasting=rule.lasting,
                via="policy",
            )
            return Decision(command=verdict, by=f"rule {rule.name}")
    return None


def unnamed(
    envelopes: Iterable[Envelope], request: e.ApprovalRequested, command: ResolveApproval
) -> tuple[str, ...]:
    """Return the risks of a build that an approval does not accept by name."""
    from alita_tui.view.queries import build_of
    from alita_tui.view.risk import names_of, risks

    build = build_of(envelopes, request.build_id)
    attempt = build.presented if build else None
    if build is None or attempt is None:
        return ("not-on-record",)
    asked = attempt.draft.capabilities.items
    granted = asked if command.grants is None else command.grants.items
    withheld = [item for item in asked if item not in granted]
    return tuple(name for name in names_of(risks(build, attempt, withheld)) if name not in command.accepted)
