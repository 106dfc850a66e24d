"""Bans: names, drafts and capabilities that the person does not want to be asked about again."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from alita_tui.events import Ban, Capabilities
from alita_tui.registry.stored import stored
from alita_tui.spine.ports.library import Documents, Standing
from alita_tui.spine.text import one_line


class Bans:
    """All bans, from the registry's documents and from the audit log."""

    def __init__(self, documents: Documents, standing: Callable[[], Standing] = Standing) -> None:
        """Combine both sources: a ban in the log counts even if the documents lack it."""
        self._documents = documents
        self._standing = standing

    def all(self, standing: Standing | None = None) -> tuple[Ban, ...]:
        """Return every ban, oldest first; `standing` is the log's state, if it was just read."""
        bans = {ban.ban_id: ban for ban in stored(self._documents.all(), "ban", Ban)}
        for ban_id, ban in (standing or self._standing()).bans.items():
            stored_ban = bans.get(ban_id)
            bans[ban_id] = msgspec.structs.replace(ban, draft=stored_ban.draft) if stored_ban else ban
        return tuple(bans.values())

    def keep(self, ban: Ban) -> None:
        """Store a ban. Raises StoreError."""
        self._documents.put(_key(ban.ban_id), {"ban": msgspec.to_builtins(ban)})

    def lift(self, ban_id: str) -> bool:
        """Remove a ban; return False for an unknown id. Raises StoreError."""
        if all(ban.ban_id != ban_id for ban in self.all()):
            return False
        self._documents.remove(_key(ban_id))
        return True

    def against(
        self, *, name: str = "", digest: str = "", draft: str = "", asks: Capabilities | None = None,
        standing: Standing | None = None,
    ) -> str:  # fmt: skip
        """Return the ban on something in one sentence; empty if there is none.

        `digest` is the build's; `draft` is that of the draft, without its locked wheels. `standing` is as in `all`.
        """
        requested = set(asks.items) if asks else set()
        for ban in self.all(standing):
            if name and ban.name == name:
                subject = f"The name {one_line(name, 60)}"
            elif digest and ban.digest == digest:
                subject = f"The build {digest[:12]}"
            elif draft and draft in (ban.draft, ban.digest):  # the same without requirements
                subject = f"The draft {draft[:12]}"
            elif banned := requested & set(ban.capabilities):
                subject = f"Asking for {one_line(', '.join(sorted(banned)), 120)}"
            else:
                continue
            reason = f": {one_line(ban.reason, 200)}" if ban.reason else ""
            return f"{subject} was banned by {one_line(ban.by, 60) or 'a person'}{reason}."
        return ""


def _key(ban_id: str) -> str:
    return f"ban:{ban_id}"
