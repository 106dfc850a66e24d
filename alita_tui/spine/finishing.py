"""Work that has to be finished although whoever waits for it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def finished(work: Awaitable[T]) -> T:
    """Return what comes of some work. A cancellation of the caller, once or more, is raised when the work has ended.

    An error of the work is then left out. A task that is given may be cancelled itself, and is waited for all the same.
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
