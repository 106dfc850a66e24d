"""The tools of the library that the person's settings and bans keep from running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_tui.runtimes.languages import not_allowed

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext


def forbidden(app: AppContext) -> dict[str, str]:
    """Return the tools that do not run here, by name, each with the reason in one sentence. Raise StoreError."""
    sandbox, bans = app.loaded.settings.sandbox, app.library.bans
    banned = {digest for ban in bans.all() for digest in (ban.digest, ban.draft)} - {""}
    reasons: dict[str, str] = {}
    for record in app.library.records():
        draft = record.draft
        reason, _ = not_allowed(draft.language, sandbox.languages)
        if record.granted.browser and not sandbox.browser:
            reason = "Tools with a browser are not allowed here."
        if banned and not reason:  # digests are computed only where something is banned
            reason = bans.against(digest=record.digest, draft=draft.digest)
        if reason:
            reasons[str(draft.name)] = reason
    return reasons
