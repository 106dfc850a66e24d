"""What must hold of the tasks that wait.

Each is queued once, and begins in its turn or is cancelled, once. From a paused queue none begins but the one whose
turn had come.
"""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.events import QueueSwitched, TaskCancelled, TaskEdited, TaskMoved, TaskQueued

Breaches = Iterator[tuple[str, str]]
"""A law and what breaks it."""


class QueueLaws:
    """Follows the queue of one stream."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        """Queue ids, in the order in which they are to begin."""
        self._left: set[str] = set()
        """Queue ids that began or were cancelled."""
        self._paused = False
        self._begun = 0
        """How many began since the queue was paused."""

    def apply(self, event: TaskQueued | TaskEdited | TaskMoved | TaskCancelled | QueueSwitched) -> Breaches:
        """Take in a change; yield what it breaks."""
        match event:
            case QueueSwitched(paused=paused):
                if paused == self._paused:
                    yield "switch a queue over", f"the queue was {'paused' if paused else 'going'} already"
                self._paused = paused
                self._begun = 0
            case TaskQueued(queue_id=queue_id):
                if queue_id in self._waiting or queue_id in self._left:
                    yield "queue a task once", f"{queue_id} was queued before"
                self._waiting.append(queue_id)
            case TaskMoved(queue_id=queue_id, before=before):
                yield from self._waits(queue_id)
                if before:
                    yield from self._waits(before)
                if queue_id in self._waiting and queue_id != before:
                    self._waiting.remove(queue_id)
                    next_waits = before in self._waiting
                    self._waiting.insert(
                        self._waiting.index(before) if next_waits else len(self._waiting), queue_id
                    )
            case TaskEdited(queue_id=queue_id):
                yield from self._waits(queue_id)
            case TaskCancelled(queue_id=queue_id):
                yield from self._waits(queue_id)
                self._leave(queue_id)

    def begin(self, queue_id: str) -> Breaches:
        """A queued task begins; yield what that breaks."""
        yield from self._waits(queue_id)
        if queue_id in self._waiting[1:]:
            yield "begin in its turn", f"{queue_id} began before {self._waiting[0]}"
        self._begun += 1
        if self._paused and self._begun > 1:
            yield "nothing begins while paused", f"{queue_id} began although the queue was paused"
        self._leave(queue_id)

    def _waits(self, queue_id: str) -> Breaches:
        if queue_id not in self._waiting:
            yield "change what waits", f"{queue_id} does not wait"

    def _leave(self, queue_id: str) -> None:
        if queue_id in self._waiting:
            self._waiting.remove(queue_id)
        self._left.add(queue_id)
