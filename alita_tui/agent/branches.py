"""Builds on their way to a verdict. One that is put off waits on beside the task, which goes on without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator

from alita_tui.spine.errors import ApprovalPending
from alita_tui.spine.ports import BuildOutcome


class Branch:
    """One build, as an asyncio task of its own."""

    def __init__(
        self, task_id: str, name: str, goal: str, build: Coroutine[None, None, BuildOutcome]
    ) -> None:
        self.task_id = task_id
        """Whose build it is; that of its successor once a parked task is gone on with."""
        self.name = name
        self.goal = goal
        self.work = asyncio.create_task(build, name=f"alita build {name}")
        self._put_off = asyncio.Event()

    async def follow(self) -> BuildOutcome | None:
        """How the build ended; None once it is put off. Raises what the build raises."""
        waits = {self.work, asyncio.ensure_future(self._put_off.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            (waits - {self.work}).pop().cancel()
        return self.work.result() if self.work.done() else None

    def put_off(self, told: Callable[[Branch], None]) -> None:
        """Let the task go on; `told` hears of its end."""
        self._put_off.set()
        self.work.add_done_callback(lambda _: told(self))

    @property
    def unattended(self) -> ApprovalPending | None:
        """What it ended with where nobody is here to decide."""
        if not self.work.done() or self.work.cancelled():
            return None
        error = self.work.exception()
        return error if isinstance(error, ApprovalPending) else None


class Branches:
    """The builds that were put off and are not decided."""

    def __init__(self) -> None:
        self._all: list[Branch] = []

    def __iter__(self) -> Iterator[Branch]:
        return iter(tuple(self._all))

    def __len__(self) -> int:
        return len(self._all)

    @property
    def running(self) -> bool:
        """Whether one of them may still end."""
        return any(not branch.work.done() for branch in self._all)

    def add(self, branch: Branch) -> None:
        """A build is begun, or gone on with."""
        self._all.append(branch)

    def drop(self, branch: Branch) -> None:
        """A build has ended."""
        self._all.remove(branch)

    def hand_on(self, task_id: str, successor: str) -> None:
        """A parked task is gone on with under another id."""
        for branch in self._all:
            if branch.task_id == task_id:
                branch.task_id = successor

    async def end(self, task_id: str | None = None) -> None:
        """Let the builds of a task go, or all of them; they are not told of any more."""
        ended = [branch for branch in self._all if task_id in (None, branch.task_id)]
        self._all = [branch for branch in self._all if branch not in ended]
        for branch in ended:
            branch.work.cancel()
        if ended:
            await asyncio.wait([branch.work for branch in ended])
        for branch in ended:
            if not branch.work.cancelled():
                branch.work.exception()  # taken note of: that it could not be saved is said on closing
