"""Work that several checks need for the same draft, done once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Shared(Generic[Result]):
    """The result for the last key. The work is cancelled when no caller waits for it any more."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Result] | None = None
        self._key: object = None
        self._waiting = 0

    async def get(self, key: object, make: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of `make`, which is called only if the key has changed; raise what it raises."""
        if self._task is None or self._key != key or self._task.cancelled():
            self._task, self._key, self._waiting = asyncio.ensure_future(make()), key, 0
        task = self._task
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            if task is self._task:
                self._waiting -= 1
            if task is not self._task or (not self._waiting and not task.done()):
                task.cancel()
                await asyncio.wait((task,))  # so that its last records come before anything that follows
