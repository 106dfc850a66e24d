"""Signals news that a task's model has not seen yet. Tasks run side by side, so each has its own signal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from alita_tui.events import TaskId
from alita_tui.spine import origin


class News:
    """Set by the code that causes the news, awaited by the task that it concerns."""

    def __init__(self) -> None:
        self._unseen: set[TaskId] = set()
        self._changed = asyncio.Event()

    def about(self, task_id: TaskId) -> None:
        """Signal something that a task's model has to see."""
        self._unseen.add(task_id)
        self.look()

    def look(self) -> None:
        """Wake all waiters, so that each checks whether there is news for it."""
        self._changed.set()
        self._changed = asyncio.Event()

    def shown(self) -> None:
        """Clear the news of the present task: its model is about to see everything."""
        self._unseen.discard(origin.current().task_id)

    async def wait(self, enough: Callable[[], bool]) -> None:
        """Wait for news about the present task, or until `enough` is true."""
        task_id = origin.current().task_id
        while task_id not in self._unseen and not enough():
            await self._changed.wait()
