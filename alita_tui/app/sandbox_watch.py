"""Another look at the sandbox where a session's events show that the last one may no longer hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from alita_tui import events as e
from alita_tui.spine.bus import Bus, Subscription
from alita_tui.spine.errors import StoreError

Check = Callable[[bool], Awaitable[None]]
"""Checks the sandbox again: in any case, or with False only if there was none."""


@asynccontextmanager
async def watched(bus: Bus, check: Check, *, on: bool) -> AsyncGenerator[None]:
    """While the context is open, check again when a task ends for want of a sandbox, and when the next one begins."""
    if not on:
        yield
        return
    news = bus.subscribe()
    following = asyncio.create_task(_follow(news, check), name="alita sandbox watch")
    try:
        yield
    finally:
        following.cancel()
        await asyncio.wait((following,))
        bus.unsubscribe(news)


async def _follow(news: Subscription, check: Check) -> None:
    async for envelope in news:
        with suppress(StoreError):  # the session says by itself that it cannot be saved
            match envelope.event:
                case e.TaskFinished(outcome="sandbox"):
                    await check(True)
                case e.TaskSubmitted():
                    await check(False)
                case _:
                    pass
