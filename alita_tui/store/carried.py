"""Finds what a mended audit log keeps of the damaged one: bans and revocations, never an approval. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from alita_tui.events import TAKEN_BACK
from alita_tui.store.chain import read_chain
from alita_tui.store.entry import AuditEntry
from alita_tui.store.seal import verifier

_FORBIDS = frozenset({"banned", "rule revoked", "revoked", "quarantined", "archived"})
_ALLOWS = frozenset({"unbanned", "restored"})


def prohibitions(logs: Iterable[bytes], public: str) -> tuple[AuditEntry, ...]:
    """Return the entries that forbid something and that no later one lifted; `logs` begin with the oldest.

    An entry that allows something counts only if it is signed with this key (hex). One that forbids always counts;
    if it is not genuine, its author is marked as not proved.
    """
    genuine = verifier(public, "audit entry") if public else lambda _text, _signature: False
    found: dict[str, AuditEntry] = {}
    for raw in logs:
        for entry in read_chain(raw, public).entries:
            subject = entry.approval_id or entry.name
            proved = entry.own_hash == entry.hash and genuine(entry.hash, entry.signature)
            if entry.verdict in _FORBIDS:
                who = entry.who if proved else f"{entry.who} (not proved)"
                found[subject] = msgspec.structs.replace(entry, who=who)
            elif proved and (entry.verdict in _ALLOWS or entry.verdict.startswith(TAKEN_BACK)):
                found.pop(subject, None)
    return tuple(found.values())
