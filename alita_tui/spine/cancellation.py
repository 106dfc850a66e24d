"""Awaits work that must finish even if its caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def finish(work: Awaitable[T]) -> T:
    """Await work to its end and return its result, however often the caller is cancelled meanwhile.

    Raises what the work raises. If the caller was cancelled, raises CancelledError once the work has ended; an
    error of the work is then dropped. If `work` is a task that is cancelled itself, this waits for that, too.
    """
    running = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait((running,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return running.result()
    if not running.cancelled():
        running.exception()  # retrieved, or asyncio complains
    raise cancelled
