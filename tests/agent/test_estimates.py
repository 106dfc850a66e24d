"""What a task will cost and take is on record before a model is asked, and a task never fails for want of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.errors import StoreError
from alita_tui.spine.laws import check
from alita_tui.spine.ports.statistics import Estimate
from alita_tui.view.trace import rows_for
from tests.agent.lab import Lab, say

TASK = SubmitTask(text="Chart the rainfall of Oslo")


def lab(folder: Path) -> Lab:
    return Lab(
        folder, rules=[Rule(role="orchestrator", match="TASK: ", replies=(say("answer", text="Done."),))]
    )


async def test_an_estimate_is_recorded_before_the_first_call_and_shown_as_a_range(tmp_path: Path) -> None:
    made = lab(tmp_path)
    asked: list[str] = []

    def estimate(text: str) -> Estimate:
        asked.append(text)
        return Estimate(count=14, usd=(0.004, 0.01, 0.25), seconds=(12.0, 31.0, 95.0))

    made.estimate = estimate
    await made.do(TASK)
    assert asked == [TASK.text]
    kinds = [type(one.event) for one in made.bus.history]
    assert kinds.index(e.TaskSubmitted) < kinds.index(e.TaskEstimated) < kinds.index(e.ModelReplied)
    told = next(one for one in made.bus.history if isinstance(one.event, e.TaskEstimated))
    assert told.task_id == told.event.task_id  # type: ignore[union-attr]
    (row,) = rows_for(told)
    assert row.title == "8 of 10 alike tasks took $0.0040 to $0.25, 12 s to 95 s (14 known)"
    assert check(made.bus.history) == []


@pytest.mark.parametrize(
    "made_of", [Estimate(count=0), Estimate(count=12), StoreError("unreadable"), OSError(5, "broken")]
)
async def test_a_task_runs_without_an_estimate(tmp_path: Path, made_of: Estimate | Exception) -> None:
    made = lab(tmp_path)

    def estimate(text: str) -> Estimate:
        if isinstance(made_of, Exception):
            raise made_of
        return made_of

    made.estimate = estimate
    await made.do(TASK)
    assert not made.events(e.TaskEstimated)
    assert made.events(e.TaskFinished)[0].outcome == "answered"
