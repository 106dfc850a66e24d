"""Adds to the record of a session that is not open: no engine runs, and no task begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from alita_tui import __version__
from alita_tui.app.identity import now
from alita_tui.events import SessionClosed, SessionResumed
from alita_tui.spine.bus import Bus

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
        await bus.emit(SessionResumed(restored=file.restored.events, note=file.restored.note))
    yield bus
    await bus.emit(SessionClosed(state=fingerprint(fold_all(bus.history)), version=__version__))
