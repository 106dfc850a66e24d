"""The library's state according to the audit log; the registry checks it before a tool may run."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress

from alita_tui.events import MOVED, STATE_AFTER, TAKEN_BACK, Ban, Move
from alita_tui.spine.errors import StoreError
from alita_tui.spine.ports.library import Approval, Standing
from alita_tui.store.audit import AuditLog, CheckedLog
from alita_tui.store.entry import AuditEntry

_KINDS = {words: kind for kind, words in MOVED.items()}


class AuditedApprovals:
    """Implements `Approvals`. The log is read on each call, and evaluated again only if a byte of it changed."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._reduced_log: CheckedLog | None = None
        self._standing = Standing()
        self._guard = threading.Lock()  # the engine calls from its loop and from threads

    def standing(self) -> Standing:
        """Return what the newest entries say about each tool. Raises StoreError."""
        with self._guard:
            log = self._audit.checked()
            # Start signing in a home that has not signed yet: from then on it accepts no unsigned log as its own.
            if (log.behind or not log.public) and not log.problems:
                with suppress(StoreError):  # a read-only home is used as it is
                    self._audit.settle()
                    log = self._audit.checked()
            if log is not self._reduced_log:
                problem = f"the audit log is not to be relied on: {log.problems[0]}" if log.problems else ""
                self._standing = Standing(problem=problem) if problem else standing(log.chain.entries)
                self._reduced_log = log
            return self._standing


def standing(entries: Iterable[AuditEntry]) -> Standing:
    """Return the state that follows from the newest entry about each item."""
    approvals: dict[str, Approval] = {}
    states: dict[str, Move] = {}
    pins: dict[str, Move] = {}
    aliases: dict[str, Move] = {}
    bans: dict[str, Ban] = {}
    rules: dict[str, str] = {}
    for entry in entries:
        moved = _move(entry)
        match entry.verdict:
            case "approved":
                approvals[entry.approval_id] = Approval(
                    approval_id=entry.approval_id,
                    name=entry.name,
                    digest=entry.digest,
                    grants=entry.grants,
                    lasting=entry.lasting,
                )
            case "banned" if entry.banned:
                bans[entry.approval_id] = _ban(entry)
            case "unbanned":
                bans.pop(entry.approval_id, None)
            case "rule revoked":
                rules[entry.name] = f"{entry.at[:10]} by {entry.who}"
            case _ if moved is None:
                pass
            case _ if moved.kind in ("pin", "unpin"):
                pins[entry.name] = moved
            case _ if moved.kind in ("alias", "unalias"):
                aliases[entry.name if entry.verdict == "aliased" else entry.alias] = moved
            case _:
                states[entry.approval_id] = moved
    return Standing(
        approvals=approvals,
        states=states,
        pins=pins,
        aliases=aliases,
        bans=bans,
        revoked_rules=rules,
    )


def _move(entry: AuditEntry) -> Move | None:
    """Return the change that an entry made to a tool; None if it made none or its format is too old to say."""
    undone = entry.verdict.startswith(TAKEN_BACK)
    kind = entry.move or _KINDS.get(entry.verdict.removeprefix(TAKEN_BACK), "")
    before, after = entry.before, entry.after
    if entry.verdict == "aliased":
        kind, after = "alias", entry.name
    if not kind or (undone and not entry.move):
        return None
    if not entry.move and kind in STATE_AFTER:
        after = STATE_AFTER[kind]
    elif not entry.move and kind == "pin":
        after = str(entry.version)
    return Move(
        name=entry.alias if entry.verdict == "aliased" else entry.name,
        version=entry.version,
        kind=kind,  # type: ignore[arg-type]  # one of the keys of MOVED
        before=before,
        after=after,
        by=entry.who,
        at=entry.at,
        reason=entry.reason,
        undone=undone,
    )


def _ban(entry: AuditEntry) -> Ban:
    """Return the ban that a verdict on a build made."""
    return Ban(
        ban_id=entry.approval_id,
        name=entry.name if "name" in entry.banned else "",
        digest=entry.digest if "digest" in entry.banned else "",
        capabilities=tuple(item for item in entry.banned if item not in ("name", "digest")),
        reason=entry.reason,
        by=entry.who,
        at=entry.at,
    )
