"""A session with a task at work and three in its queue."""

from __future__ import annotations

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from tests.support import goldens

QUEUE = tuple(e.TaskQueued(queue_id=f"q{n}", text=f"[b]task {n}[/b]") for n in (1, 2, 3))


def told(*more: e.SessionEvent) -> list[Envelope]:
    """A session that has ended a task, is at another, and has more in its queue."""
    stored = [
        one for one in goldens.walkthrough() if one.durable and not isinstance(one.event, e.SessionClosed)
    ]
    last = stored[-1]
    running = e.TaskSubmitted(task_id=e.TaskId("running"), text="the one that runs")
    return [
        *stored,
        *(
            replace(last, seq=(last.seq or 0) + n, event=event, task_id="", agent_id="", span="", parent="")
            for n, event in enumerate((running, *QUEUE, *more), 1)
        ),
    ]
