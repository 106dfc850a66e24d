"""The person's feedback on an answer or a run of a session that is closed."""

from __future__ import annotations

import asyncio

from alita_tui.app.closed_session import resumed
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import is_fork
from alita_tui.app.session import open_file
from alita_tui.events import FeedbackGiven
from alita_tui.spine.commands import GiveFeedback


async def give_feedback(app: AppContext, session: str, command: GiveFeedback) -> FeedbackGiven:
    """Record feedback in a session and store it with its tools; no work of the session continues.

    Raises UsageError if there is nothing to rate, StoreLocked where the session is open, StoreError.
    """
    from alita_tui.agent.outcomes import Outcomes, rated

    file = await asyncio.to_thread(open_file, app, session)
    try:
        feedback = rated(file.history(), command)  # before anything is written
        async with resumed(app, file) as bus:
            await Outcomes(bus, app.library, app.memory, teaches=not is_fork(bus.history)).feedback(command)
        return feedback
    finally:
        await asyncio.to_thread(file.close)
