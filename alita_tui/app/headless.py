"""A session without a screen: one task, or taking up what a session left."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.events import SessionOpened, TaskFinished
from alita_tui.spine.commands import Interrupt, Retry, SubmitTask
from alita_tui.spine.envelope import Envelope

EXIT_CODES = {
    "answered": 0, "failed": 1, "stuck": 1, "step_limit": 3, "budget": 3, "parked": 4, "rejected": 5,
    "sandbox": 6, "interrupted": 130,
}  # fmt: skip


async def run_headless(
    app: AppContext,
    task: str | None,
    session_id: str | None,
    show: Callable[[Envelope], None],
    *,
    attach: tuple[str, ...] = (),
) -> tuple[str, int]:
    """Run a task, or retry what failed without one; return the session's id and an exit code.

    `attach` are paths of files that are given with the task.

    `show` is called for every new envelope, transient ones included.
    """
    from alita_tui.app.session import open_session

    session = await open_session(app, session_id, parks=True)
    code = 0

    async def follow() -> None:
        nonlocal code
        recorded = len(session.bus.history)
        async for envelope in session.source:
            if envelope.seq is not None and envelope.seq <= recorded:
                continue
            show(envelope)
            if isinstance(envelope.event, TaskFinished):
                code = EXIT_CODES[envelope.event.outcome]

    following = asyncio.create_task(follow())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, session.send, Interrupt())
    if task is not None:
        session.send(SubmitTask(text=task, attach=attach))
    else:
        ends = (one.event for one in reversed(session.bus.history) if isinstance(one.event, TaskFinished))
        code = EXIT_CODES.get(getattr(next(ends, None), "outcome", ""), 0)
        session.send(Retry())
    await session.run(until_idle=True)
    await following
    return session.session_id, code


def was_recorded(app: AppContext, session_id: str) -> bool:
    """Return True for a session of the demo's recorded model."""
    first = next(iter(recording(app, session_id)), None)
    return first is not None and isinstance(first.event, SessionOpened) and first.event.recorded
