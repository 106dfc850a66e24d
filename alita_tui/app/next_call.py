"""Shows what a session's next call would send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alita_tui.app.context import AppContext
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.context import NextCall

if TYPE_CHECKING:
    from alita_tui.context.provider import ContextProvider
    from alita_tui.llm.roster import Roster
    from alita_tui.spine.redaction import Redactor


def next_call(
    app: AppContext,
    history: Sequence[Envelope],
    redactor: Redactor,
    provider: ContextProvider | None = None,
    models: Roster | None = None,
) -> NextCall:
    """Return what the next call would send; block on the disk. A `provider` that was used before saves time."""
    from alita_tui.agent.preview import preview
    from alita_tui.app.surroundings import context_provider, surroundings

    settings = app.loaded.settings
    return preview(
        history,
        surroundings(app),
        provider or context_provider(app, redactor),
        redactor,
        defaults=settings.context.blocks,
        window=(models or app.models()).router.window("orchestrator"),
        reply_tokens=settings.budget.reply_tokens,
    )
