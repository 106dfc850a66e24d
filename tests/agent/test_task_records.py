"""What is asked of the present task looks at that task's events, however long the session is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.agent.projection import StateProjection
from alita_tui.agent.tasks import CurrentTask
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.history import History
from alita_tui.spine.origin import in_task, working_on
from tests.agent.lab import Lab, say
from tests.agent.side_by_side import doing


async def test_records_of_earlier_tasks_are_not_read_for_what_this_task_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(
        tmp_path, rules=[doing("look", say("find_tool", query="x"), *(say("answer", text="done"),) * 3)]
    )
    await lab.play(*(SubmitTask(text=f"look {number}") for number in range(12)))
    looked: list[int] = []
    through = History._at

    def counting(history: History, places: Iterator[int], **more: bool) -> Iterator[object]:
        def one_by_one() -> Iterator[int]:
            for place in places:
                looked.append(place)
                yield place

        return through(history, one_by_one(), **more)

    monkeypatch.setattr(History, "_at", counting)
    tasks = [one.task_id for one in lab.events(e.TaskSubmitted)]
    starts = {
        one.task_id: place
        for place, one in enumerate(lab.bus.history)
        if isinstance(one.event, e.TaskSubmitted)
    }
    task = CurrentTask(lab.bus, StateProjection(lab.bus))
    with working_on(in_task(tasks[-1])):
        assert task.chain() == [tasks[-1]]  # the state is reduced from all events, once
        found: list[e.SessionEvent] = []
        for asked in (
            lambda: found.extend(task.newest(e.DirectorChosen, e.ToolSearched)),
            lambda: task.plan(tasks[-1]),
            lambda: found.extend(task.newest(e.PageRead)),
        ):
            looked.clear()
            asked()
            assert looked and min(looked) >= starts[tasks[-1]]
        assert [type(one) for one in found] == [e.ToolSearched]
    with working_on(in_task(tasks[3])):
        assert len(list(task.newest(e.ToolSearched))) == 1, "and an older task finds its own"
