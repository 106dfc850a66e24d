"""Adds to the record of a session that is not open: no engine runs, and no task begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from alita_tui import __version__
from alita_tui import events as e
from alita_tui.app.identity import now
from alita_tui.app.recordings import is_fork, path_of
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import GiveFeedback
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.context import BLOCKS, off

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.store.sessions import SessionFile


@asynccontextmanager
async def resumed(app: AppContext, file: SessionFile) -> AsyncGenerator[Bus]:
    """Yield the stream of a session; it is resumed before, unless it is new, and closed again after.

    A verdict that a crash kept out of the audit log is entered first: it would not be looked for again. Raises
    StoreError.
    """
    from alita_tui.view.fingerprint import fingerprint
    from alita_tui.view.fold import fold_all

    history = file.history()
    await asyncio.to_thread(app.audit.catch_up, file.session_id, history)
    bus = Bus(file.session_id, file, now, history=history, redactor=await asyncio.to_thread(app.redactor))
    if history:
        await bus.emit(e.SessionResumed(restored=file.restored.events, note=file.restored.note))
    yield bus
    await bus.emit(e.SessionClosed(state=fingerprint(fold_all(bus.history)), version=__version__))


async def give_feedback(app: AppContext, session: str, command: GiveFeedback) -> e.FeedbackGiven:
    """Record feedback in a session and store it with its tools; no work of the session continues.

    Raises UsageError if there is nothing to rate, StoreLocked where the session is open, StoreError.
    """
    from alita_tui.agent.feedback import feedback_of
    from alita_tui.agent.outcomes import Outcomes
    from alita_tui.app.session import open_file

    file = await asyncio.to_thread(open_file, app, session)
    try:
        feedback = feedback_of(file.history(), command)  # before anything is written
        async with resumed(app, file) as bus:
            await Outcomes(bus, app.library, app.memory, teaches=not is_fork(bus.history)).feedback(command)
        return feedback
    finally:
        await asyncio.to_thread(file.close)


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
