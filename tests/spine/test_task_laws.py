"""The laws catch tasks that mix, however many ran at once."""

from datetime import UTC, datetime

import pytest

from alita_tui import events as e
from alita_tui.events import SessionEvent
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope
from alita_tui.spine.laws import check

OPENED = e.SessionOpened(model="m", recorded=False, version="1")


def begun(task: str, again: str = "") -> tuple[str, int, SessionEvent]:
    return task, 0, e.TaskSubmitted(task_id=e.TaskId(task), text=task, again=e.TaskId(again))


def ended(task: str, outcome: e.TaskOutcome = "answered") -> tuple[str, int, SessionEvent]:
    return task, 9, e.TaskFinished(task_id=e.TaskId(task), outcome=outcome)


def acted(task: str, step: int) -> tuple[str, int, SessionEvent]:
    return task, step, e.ActionChosen(action_id=f"{task}.{step}", action="plan", arguments={})


def asked(task: str) -> tuple[str, int, SessionEvent]:
    return task, 1, e.QuestionAsked(question_id=f"q-{task}", text="?")


def answered(task: str, question: str) -> tuple[str, int, SessionEvent]:
    return task, 1, e.QuestionAnswered(question_id=f"q-{question}", text="!")


def laws(*told: tuple[str, int, SessionEvent]) -> list[str]:
    stream = [
        Envelope(
            seq=n, session_id="s", at=datetime(2026, 1, 1, tzinfo=UTC), task_id=e.TaskId(task), step=step,
            schema_version=SCHEMA_VERSION, event=event,
        )
        for n, (task, step, event) in enumerate((("", 0, OPENED), *told), 1)
    ]  # fmt: skip
    return [breach.law for breach in check(stream)]


@pytest.mark.parametrize(
    ("told", "law"),
    [
        ((begun("a"), begun("b"), ended("a"), acted("b", 1), acted("a", 1)), "act before the end"),
        ((begun("a"), begun("b"), acted("a", 2), acted("b", 1), acted("a", 1)), "steps go on"),
        ((begun("a"), begun("b"), ended("a"), ended("b"), ended("a")), "one end per task"),
        ((begun("a"), begun("b"), asked("a"), answered("b", "a")), "answer what was asked"),
        ((begun("a"), asked("a"), answered("a", "a"), answered("a", "a")), "answer what was asked"),
    ],
)
def test_events_in_the_wrong_task_break_laws(
    told: tuple[tuple[str, int, SessionEvent], ...], law: str
) -> None:
    assert laws(*told) == [law]


def test_parallel_and_resumed_tasks_break_no_law() -> None:
    assert not laws(
        begun("a"), begun("b"), acted("b", 1), acted("a", 1), asked("b"), acted("a", 2), asked("a"), answered("b", "b"),
        ended("b"), answered("a", "a"), ended("a", "parked"), acted("a", 3), ended("a", "parked"), begun("c", again="a"),
        acted("c", 1), ended("c"),
    )  # fmt: skip
