"""What happened for a task that its model was not shown yet. Tasks run side by side, so each has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from alita_tui.spine import origin


class News:
    """Told of by whoever lets it happen, waited for by the task that it is about."""

    def __init__(self) -> None:
        self._unseen: set[str] = set()
        self._changed = asyncio.Event()

    def about(self, task_id: str) -> None:
        """Something happened that a task's model has to be shown."""
        self._unseen.add(task_id)
        self.look()

    def look(self) -> None:
        """Something happened that bears on whoever waits."""
        self._changed.set()
        self._changed = asyncio.Event()

    def shown(self) -> None:
        """The model of the present task is about to be shown everything."""
        self._unseen.discard(origin.current().task_id)

    async def wait(self, enough: Callable[[], bool]) -> None:
        """Wait for news about the present task, or until `enough` is true."""
        task_id = origin.current().task_id
        while task_id not in self._unseen and not enough():
            await self._changed.wait()
