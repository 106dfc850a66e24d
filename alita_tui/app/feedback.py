"""The person's feedback on an answer or a run of a session that is closed."""

from __future__ import annotations

import asyncio

from alita_tui import __version__
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.recordings import is_fork
from alita_tui.app.session import open_file
from alita_tui.events import FeedbackGiven, SessionClosed, SessionResumed
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import GiveFeedback


async def give_feedback(app: AppContext, session: str, command: GiveFeedback) -> FeedbackGiven:
    """Record feedback in a session and store it with its tools; no work of the session continues.

    Raises UsageError if there is nothing to rate, StoreLocked where the session is open, StoreError.
    """
    from alita_tui.agent.outcomes import Outcomes, rated
    from alita_tui.view.fingerprint import fingerprint
    from alita_tui.view.fold import fold_all

    redactor = await asyncio.to_thread(app.redactor)
    file = await asyncio.to_thread(open_file, app, session)
    try:
        history = file.history()
        feedback = rated(history, command)  # before anything is written
        await asyncio.to_thread(app.audit.catch_up, file.session_id, history)  # before the session is resumed
        bus = Bus(file.session_id, file, now, history=history, redactor=redactor)
        await bus.emit(SessionResumed(restored=file.restored.events, note=file.restored.note))
        await Outcomes(bus, app.library, app.memory, teaches=not is_fork(bus.history)).feedback(command)
        state = fingerprint(fold_all(bus.history))
        await bus.emit(SessionClosed(state=state, version=__version__))
        return feedback
    finally:
        await asyncio.to_thread(file.close)
