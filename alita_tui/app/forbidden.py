"""The tools of the library that the person's settings and bans keep from running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_tui.runtimes.languages import not_allowed

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.events import ToolRecord


def not_allowed_here(app: AppContext, record: ToolRecord) -> str:
    """Return why the settings do not let a tool run, in one sentence; empty if they do."""
    sandbox = app.loaded.settings.sandbox
    if record.granted.browser and not sandbox.browser:
        return "Tools with a browser are not allowed here."
    return not_allowed(record.draft.language, sandbox.languages)[0]


def forbidden(app: AppContext) -> dict[str, str]:
    """Return the tools that do not run here, by name, each with the reason in one sentence. Raise StoreError."""
    bans = app.library.bans
    banned = {digest for ban in bans.all() for digest in (ban.digest, ban.draft)} - {""}
    reasons: dict[str, str] = {}
    for record in app.library.records():
        draft = record.draft
        reason = not_allowed_here(app, record)
        if banned and not reason:  # digests are computed only where something is banned
            reason = bans.against(digest=record.digest, draft=draft.digest)
        if reason:
            reasons[str(draft.name)] = reason
    return reasons
