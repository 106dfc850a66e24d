"""What the audit log has of an approval: the registry asks before it lets a tool run."""

from __future__ import annotations

import threading

from alita_tui.spine.ports import Approval
from alita_tui.store.audit import AuditLog


class AuditedApprovals:
    """Meets `Approvals`. Reads the log again only when the file is another."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._seen: tuple[int, int] | None = None
        self._known: dict[str, Approval] = {}
        self._guard = threading.Lock()  # the engine asks from its loop and from threads

    def approval(self, approval_id: str) -> Approval | None:
        """See `Approvals.approval`. Raises StoreError."""
        with self._guard:
            mark = self._audit.mark()
            if mark is None or mark != self._seen:
                self._known = {
                    entry.approval_id: Approval(
                        approval_id=entry.approval_id,
                        name=entry.name,
                        digest=entry.digest,
                        grants=entry.grants,
                        lasting=entry.lasting,
                    )
                    for entry in self._audit.entries()
                    if entry.verdict == "approved" and entry.hash == entry.own_hash
                }
                self._seen = mark
            return self._known.get(approval_id)
