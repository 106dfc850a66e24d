"""Shows what a session's next call would send, and switches its blocks while it is not open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from alita_tui import events as e
from alita_tui.app.closed_session import resumed
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import path_of
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.context import BLOCKS, NextCall, off

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


async def switch_blocks(app: AppContext, session: str | None, requested: Mapping[str, bool]) -> None:
    """Record switches in a session, by default the newest. Raises UsageError, StoreLocked, StoreError."""
    from alita_tui.app.session import open_file
    from alita_tui.state.reduce import reduce_all

    if unknown := [name for name in requested if name not in BLOCKS]:
        raise UsageError(f"There is no block {unknown[0]!r}.", hint=f"There are {', '.join(BLOCKS)}.")
    file = await asyncio.to_thread(open_file, app, str(path_of(app, session)))
    try:
        switches = dict(reduce_all(file.history()).switches)
        currently_off = off(app.loaded.settings.context.blocks, switches)
        changes = {name: on for name, on in requested.items() if on == (name in currently_off)}
        if not changes:
            return
        async with resumed(app, file) as bus:
            for name, on in changes.items():
                await bus.emit(e.ContextSwitched(block=name, on=on))
    finally:
        await asyncio.to_thread(file.close)
