"""Work that several gates need of the same draft, done once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Found = TypeVar("Found")


class Shared(Generic[Found]):
    """What was found out last, by what it was asked of. Ends with the last that waits for it."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Found] | None = None
        self._of: object = None
        self._waiting = 0

    async def get(self, of: object, make: Callable[[], Awaitable[Found]]) -> Found:
        """What `make` gives, or gave when it was asked of the same before; or what it raises."""
        if self._task is None or self._of != of or self._task.cancelled():
            self._task, self._of, self._waiting = asyncio.ensure_future(make()), of, 0
        task = self._task
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            if task is self._task:
                self._waiting -= 1
            if task is not self._task or (not self._waiting and not task.done()):
                task.cancel()
