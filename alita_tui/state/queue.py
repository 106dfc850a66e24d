"""The tasks of a session that wait for their turn, derived from the events."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec.structs import replace

from alita_tui import events as e

Changes = e.TaskQueued | e.TaskEdited | e.TaskMoved | e.TaskCancelled


class QueuedTask(msgspec.Struct, frozen=True, gc=False):
    """A task that waits for its turn."""

    queue_id: str
    text: str
    since: datetime
    files: tuple[str, ...] = ()
    """Handles of the artefacts that were given with it."""
    again: e.TaskId = e.NO_TASK
    """The earlier task that is tried again; empty for a new one."""


Queue = tuple[QueuedTask, ...]
"""The waiting tasks, the next one first."""


def after(queue: Queue, event: Changes, at: datetime) -> Queue:
    """Return the queue after a change; a change of a task that does not wait is ignored."""
    match event:
        case e.TaskQueued(queue_id=queue_id, text=text, files=files, again=again):
            return (*queue, QueuedTask(queue_id, text, at, files, again))
        case e.TaskEdited(queue_id=queue_id, text=text):
            return tuple(replace(task, text=text) if task.queue_id == queue_id else task for task in queue)
        case e.TaskMoved(queue_id=queue_id, before=before):
            return moved(queue, queue_id, before)
        case e.TaskCancelled(queue_id=queue_id):
            return without(queue, queue_id)


def without(queue: Queue, queue_id: str) -> Queue:
    """Return the queue without one task, which began or was cancelled."""
    return tuple(task for task in queue if task.queue_id != queue_id)


def moved(queue: Queue, queue_id: str, before: str) -> Queue:
    """Return the queue with one task moved before another one, or to the end if none is named or it does not wait."""
    task = next((queued for queued in queue if queued.queue_id == queue_id), None)
    if task is None or queue_id == before:
        return queue
    remaining = without(queue, queue_id)
    index = next((n for n, queued in enumerate(remaining) if queued.queue_id == before), len(remaining))
    return (*remaining[:index], task, *remaining[index:])
