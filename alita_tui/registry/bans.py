"""What a person does not want to be asked about again, kept beside the tools."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from alita_tui.spine.ports import Documents, Standing
from alita_tui.spine.text import one_line
from alita_tui.spine.values import Ban, Capabilities, Json


class Bans:
    """All bans: those in the registry's documents, and those that the audit log has."""

    def __init__(self, documents: Documents, standing: Callable[[], Standing] = Standing) -> None:
        """What the log has banned is banned, whatever the documents say of it."""
        self._documents = documents
        self._standing = standing

    def all(self) -> tuple[Ban, ...]:
        """Every ban, oldest first."""
        said = self._standing()
        read = (_read(document) for document in self._documents.all())
        kept = {ban.ban_id: ban for ban in read if ban is not None}
        for ban_id, ban in said.bans.items():
            known = kept.get(ban_id)
            kept[ban_id] = msgspec.structs.replace(ban, draft=known.draft) if known else ban
        return tuple(kept.values())

    def keep(self, ban: Ban) -> None:
        """Keep a ban; doing it again changes nothing. Raises StoreError."""
        self._documents.put(_key(ban.ban_id), {"ban": msgspec.to_builtins(ban)})

    def lift(self, ban_id: str) -> bool:
        """Take a ban back; False when there is none of this id. Raises StoreError."""
        if all(ban.ban_id != ban_id for ban in self.all()):
            return False
        self._documents.remove(_key(ban_id))
        return True

    def against(
        self, *, name: str = "", digest: str = "", draft: str = "", asks: Capabilities | None = None
    ) -> str:
        """Why something may not be, in one sentence; empty when nothing speaks against it.

        `digest` is the build's, `draft` that of the draft without the wheels it is locked to.
        """
        wanted = set(asks.items) if asks else set()
        for ban in self.all():
            if name and ban.name == name:
                what = f"The name {one_line(name, 60)}"
            elif digest and ban.digest == digest:
                what = f"The build {digest[:12]}"
            elif draft and draft in (ban.draft, ban.digest):  # without requirements both are one
                what = f"The draft {draft[:12]}"
            elif taboo := wanted & set(ban.capabilities):
                what = f"Asking for {one_line(', '.join(sorted(taboo)), 120)}"
            else:
                continue
            because = f": {one_line(ban.reason, 200)}" if ban.reason else ""
            return f"{what} was banned by {one_line(ban.by, 60) or 'a person'}{because}."
        return ""


def _key(ban_id: str) -> str:
    return f"ban:{ban_id}"


def _read(document: Json) -> Ban | None:
    """A document as a ban; what is none, or cannot be read, is passed over."""
    try:
        return msgspec.convert(document["ban"], Ban)
    except (msgspec.ValidationError, TypeError, KeyError):
        return None
