"""Compares sessions with the audit log: its chain alone cannot show that its end was cut off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alita_tui.events import ApprovalResolved
from alita_tui.spine.envelope import Envelope
from alita_tui.store.entry import AuditEntry


def contradictions(
    entries: Sequence[AuditEntry], session_id: str, envelopes: Iterable[Envelope]
) -> list[str]:
    """Return where a session and the log differ on verdicts, one line each.

    A verdict in a forked session belongs to the session that it was given in; it is missing only if no entry
    names it at all.
    """
    by_approval = {entry.approval_id: entry for entry in entries if entry.on_build}
    expected = {entry.approval_id: entry for entry in entries if entry.session_id == session_id}
    problems: list[str] = []
    recorded: set[str] = set()
    for envelope in envelopes:
        match envelope.event:
            case ApprovalResolved(approval_id=approval_id, digest=digest, verdict=verdict) if verdict.by:
                recorded.add(approval_id)
                entry = by_approval.get(approval_id)
                where = f"event {envelope.seq}"
                if entry is None:
                    what = f"the verdict {verdict.decision} by {verdict.by} on {approval_id}"
                    problems.append(f"{where}: {what} is not in the log")
                elif (entry.verdict, entry.digest, entry.who) != (verdict.decision, digest, verdict.by):
                    what = f"{entry.verdict} {entry.digest[:12]} by {entry.who}"
                    problems.append(
                        f"{where}: entry {entry.sequence} has another verdict than the session: {what}"
                    )
            case _:
                pass
    problems += [
        f"{entry.label}: the session has no verdict on {entry.approval_id}"
        for entry in expected.values()
        if entry.approval_id not in recorded
    ]
    return problems
