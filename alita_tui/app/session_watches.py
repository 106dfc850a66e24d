"""What is watched beside an open session: its task inbox, and events that cast doubt on the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui import events as e
from alita_tui.spine.bus import Bus, Subscription
from alita_tui.spine.errors import StoreError

if TYPE_CHECKING:
    from alita_tui.agent.orchestrator import Orchestrator
    from alita_tui.app.context import AppContext

INBOX_SECONDS = 0.5
"""Seconds between two looks into the inbox."""

Check = Callable[[bool], Awaitable[None]]
"""Checks the sandbox again: in any case, or with False only if there was none."""


@asynccontextmanager
async def beside(work: Coroutine[None, None, None], name: str) -> AsyncGenerator[None]:
    """Run a coroutine while the context is open."""
    running = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait((running,))


async def follow_inbox(
    app: AppContext, session_id: str, engine: Orchestrator, warn: Callable[[str], None]
) -> None:
    """Pass commands that other processes left for the session's task queue to the engine, until cancelled.

    Each note stays in the inbox until it was carried out.
    """
    from alita_tui.store.task_inbox import TaskInbox

    inbox = TaskInbox(app.paths.left_tasks, app.audit, warn)
    handed: set[Path] = set()
    while True:
        with suppress(StoreError):  # if the folder cannot be read or changed now, the next look retries
            for path, command in await asyncio.to_thread(inbox.waiting, session_id):
                if path not in handed:
                    handed.add(path)
                    engine.hand_in(command, partial(inbox.taken, path))
        await asyncio.sleep(INBOX_SECONDS)


@asynccontextmanager
async def sandbox_watched(bus: Bus, check: Check) -> AsyncGenerator[None]:
    """While the context is open, check again after an error, and when there may be a sandbox again."""
    news = bus.subscribe()
    try:
        async with beside(_check_when_doubted(news, check), "alita sandbox watch"):
            yield
    finally:
        bus.unsubscribe(news)


async def _check_when_doubted(news: Subscription, check: Check) -> None:
    async for envelope in news:
        with suppress(StoreError):  # the session says by itself that it cannot be saved
            match envelope.event:
                case e.TaskFinished(outcome="sandbox") | e.NoticeRaised(level="error"):
                    await check(True)
                case e.TaskSubmitted() | e.BuildTested():
                    await check(False)
                case _:
                    pass
