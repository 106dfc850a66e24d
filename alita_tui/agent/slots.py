"""Limits how many tasks of a session run at once, and decides which runs next.

A task that waits for the person (a verdict, an answer, more money) lends its slot to the next one. Once it has what it
waited for, it continues at its next step as soon as a slot is free, before any task that has not begun. If tasks run
one after another, none lends its slot: the next one begins when the previous one has ended.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from alita_tui.events import TaskId
from alita_tui.spine import origin


class Slots:
    """The tasks that run, and those that wait to continue."""

    def __init__(self, count: int, freed: Callable[[], None]) -> None:
        """`freed` is called when another task may begin."""
        self._count = max(count, 1)
        self._freed = freed
        self._running: set[TaskId] = set()
        """Tasks that hold a slot."""
        self._resuming: deque[tuple[TaskId, asyncio.Future[None]]] = deque()

    @property
    def free(self) -> bool:
        """Whether another task may begin."""
        return len(self._running) < self._count and not self._resuming

    def begin(self, task_id: TaskId) -> None:
        """Give a slot to a task that begins."""
        self._running.add(task_id)

    def lend(self) -> None:
        """Lend the present task's slot to another task while this one waits for the person."""
        task_id = origin.current().task_id
        if origin.delegate():
            return  # the other agents of the task work on, and the lead waits for their reports
        if self._count > 1 and task_id in self._running:
            self._leave(task_id)

    async def wait_for_slot(self) -> None:
        """Wait until the present task has a slot again; return at once if it has one."""
        task_id = origin.current().task_id
        if task_id in self._running or origin.delegate():
            return
        if self.free:
            self._running.add(task_id)
            return
        waiter = task_id, asyncio.get_running_loop().create_future()
        self._resuming.append(waiter)
        try:
            await waiter[1]
        finally:
            if waiter in self._resuming:
                self._resuming.remove(waiter)

    def end(self, task_id: TaskId) -> None:
        """Free the slot of a task that has ended."""
        self._leave(task_id)

    def _leave(self, task_id: TaskId) -> None:
        self._running.discard(task_id)
        while self._resuming and len(self._running) < self._count:
            next_id, waiter = self._resuming.popleft()
            if not waiter.done():
                self._running.add(next_id)
                waiter.set_result(None)
        self._freed()
