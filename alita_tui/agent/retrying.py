"""What a person can have done again, and what they asked for that nobody began yet."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path

from alita_tui.spine import events as e
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import of
from alita_tui.spine.text import one_line
from alita_tui.view.model import TaskView

RETRIED: frozenset[e.TaskOutcome] = frozenset(("failed", "stuck", "step_limit", "sandbox", "budget"))
"""Ends of a task that trying again may change."""

_DONE: dict[e.TaskOutcome, str] = {
    "answered": "was answered",
    "rejected": "ended with your rejection of its build",
    "interrupted": "was stopped by you",
}


def why_not(task: TaskView | None) -> str:
    """Why a session's last task is not tried again; empty where it can be."""
    if task is None:
        return "There is no task in this session yet."
    if task.outcome in RETRIED:
        return ""
    ended = _DONE.get(task.outcome, "goes on already") if task.outcome else "goes on already"
    return f"Nothing is tried again: the last task {ended}."


def unbegun(history: Sequence[Envelope]) -> list[SubmitTask]:
    """Tasks that were queued and not begun, the oldest first."""
    queued: dict[str, SubmitTask] = {}
    for envelope in of(history, e.TaskQueued, e.TaskSubmitted):
        match envelope.event:
            case e.TaskQueued(queue_id=queue_id, text=text):
                queued[queue_id] = SubmitTask(text=text, queue_id=queue_id)
            case e.TaskSubmitted(queue_id=queue_id):
                queued.pop(queue_id, None)
            case _:
                pass
    return list(queued.values())


def unexpected(error: Exception) -> e.NoticeRaised:
    """The notice of an error that nothing here foresaw, with the place it came from."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f"{Path(last[0].filename).name}:{last[0].lineno}" if last else "unknown"
    text = (
        f"Something went wrong that alita did not expect: {type(error).__name__}: {one_line(str(error), 300)}"
    )
    return e.NoticeRaised(level="error", text=text, hint=f"Please report it, with the place: {place}.")
