"""Words about tasks that run side by side."""

from __future__ import annotations

from alita_tui.events import TaskId
from alita_tui.state.lanes import phase_of
from alita_tui.view.model import SessionView


def waits_for_you(view: SessionView, task_id: TaskId) -> bool:
    """Return True if a task that runs waits for a verdict, an answer or more money."""
    return task_id in view.running and phase_of(view.state, task_id) in ("waiting", "asking")


def choosable_tasks(view: SessionView) -> tuple[TaskId, ...]:
    """Return the tasks from which one can be chosen: the running ones, or else the newest; empty for a single one."""
    ids = (
        view.running
        if len(view.running) > 1
        else tuple(task.task_id for task in view.tasks.since(len(view.tasks) - 8))
    )
    return ids if len(ids) > 1 else ()


def side_by_side(view: SessionView) -> str:
    """Return how many tasks run and how many wait for the person, such as `2 running`; empty unless several run."""
    if len(view.running) < 2:
        return ""
    waits = sum(waits_for_you(view, task_id) for task_id in view.running)
    parts = (
        f"{len(view.running) - waits} running" if waits < len(view.running) else "",
        f"{waits} waiting" if waits else "",
    )
    return " · ".join(filter(None, parts))
