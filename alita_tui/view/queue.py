"""The rows of changes to the queue."""

from __future__ import annotations

from typing import Literal

from alita_tui import events as e

CHANGES: dict[type[object], str] = {
    e.TaskQueued: "queued",
    e.TaskEdited: "queued, changed",
    e.TaskMoved: "queued, moved",
    e.TaskCancelled: "cancelled",
}
"""What happened to the task, in words."""


def changed(
    event: e.TaskQueued | e.TaskEdited | e.TaskMoved | e.TaskCancelled | e.QueueSwitched,
) -> tuple[Literal["task", "notice"], str, str]:
    """Return kind, title and detail of a change's row."""
    if isinstance(event, e.QueueSwitched):
        title = "The queue is paused: no further task begins" if event.paused else "The queue goes on"
        return "notice", title, ""
    return "task", event.text, event.text
