"""What may decide on a build beside a person's key: a rule of theirs, and the names that an approval has to have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from alita_tui.spine import events as e
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.envelope import Envelope
from alita_tui.wiring.house import House
from alita_tui.wiring.identity import now
from alita_tui.wiring.records import known_packages

if TYPE_CHECKING:
    from alita_tui.toolsmith.gate import Decision


def ruling(house: House, envelopes: Iterable[Envelope], request: e.ApprovalRequested) -> Decision | None:
    """What the first rule that covers a build decides on it. Raises ConfigError, StoreError."""
    from alita_tui.toolsmith.gate import Decision
    from alita_tui.view.policy import unmet
    from alita_tui.view.queries import build_of

    rules = house.policy.rules
    made = build_of(envelopes, request.build_id) if rules else None
    attempt = made.presented if made else None
    if made is None or attempt is None:
        return None
    known, today = known_packages(house), now().astimezone().date()
    for rule in rules:
        if not unmet(rule, made, attempt, known, today):
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
    """The risks of what was asked that an approval does not name, as screen and shell call them."""
    from alita_tui.view.queries import build_of
    from alita_tui.view.risk import names_of, risks

    made = build_of(envelopes, request.build_id)
    attempt = made.presented if made else None
    if made is None or attempt is None:
        return ("not-on-record",)
    asked = attempt.draft.capabilities.items
    kept = asked if command.grants is None else command.grants.items
    withheld = [one for one in asked if one not in kept]
    return tuple(one for one in names_of(risks(made, attempt, withheld)) if one not in command.accepted)
