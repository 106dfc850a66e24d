"""What has to be finished is, however often its caller is cancelled, and the cancellation is not lost."""

from __future__ import annotations

import asyncio

import pytest

from alita_tui.spine.cancellation import finish


@pytest.mark.parametrize("error", [None, OSError("full")])
async def test_cancelled_callers_wait_for_the_end(error: Exception | None) -> None:
    began, go, ended = asyncio.Event(), asyncio.Event(), []

    async def work() -> str:
        began.set()
        await go.wait()
        ended.append(True)
        if error:
            raise error
        return "done"

    caller = asyncio.ensure_future(finish(work()))
    await began.wait()
    for _ in range(3):
        caller.cancel()
        await asyncio.sleep(0)
        assert not caller.done() and not ended
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert ended


async def test_without_a_cancellation_its_result_or_error_comes() -> None:
    async def work(error: Exception | None) -> str:
        if error:
            raise error
        return "done"

    assert await finish(work(None)) == "done"
    with pytest.raises(OSError, match="full"):
        await finish(work(OSError("full")))


async def test_a_task_that_was_cancelled_itself_is_waited_for() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finish(task)
    assert ended
