"""Work that several checks wait for."""

from __future__ import annotations

import asyncio

from alita_tui.toolsmith.checks.workbench import Shared


async def test_the_last_waiter_to_be_cancelled_returns_when_the_work_has_ended() -> None:
    """What it still records, such as the cost of a call, came after the session's close."""
    ended = asyncio.Event()

    async def make() -> int:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)  # what is recorded on the way out
            ended.set()
            raise
        return 1

    shared = Shared[int]()
    waiting = [asyncio.create_task(shared.get("key", make)) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.wait([waiting[0]])
    assert not ended.is_set(), "somebody waits still"
    waiting[1].cancel()
    await asyncio.wait([waiting[1]])
    assert ended.is_set() and all(one.cancelled() for one in waiting)
