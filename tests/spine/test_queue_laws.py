"""The laws catch a queue that did what no queue of alita's does."""

from datetime import UTC, datetime

import pytest

from alita_tui import events as e
from alita_tui.events import SessionEvent
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope
from alita_tui.spine.laws import check

QUEUED = e.TaskQueued(queue_id="q1", text="one")
OTHER = e.TaskQueued(queue_id="q2", text="two")
THIRD = e.TaskQueued(queue_id="q3", text="three")


def begun(queue_id: str) -> e.TaskSubmitted:
    return e.TaskSubmitted(task_id=e.TaskId(f"t-{queue_id}"), text="x", queue_id=queue_id)


def laws(*events: SessionEvent) -> list[str]:
    opened = e.SessionOpened(model="m", recorded=False, version="1")
    stream = [
        Envelope(
            seq=n,
            session_id="s",
            at=datetime(2026, 1, 1, tzinfo=UTC),
            schema_version=SCHEMA_VERSION,
            event=event,
        )
        for n, event in enumerate((opened, *events), 1)
    ]
    return [breach.law for breach in check(stream)]


@pytest.mark.parametrize(
    ("events", "law"),
    [
        ((QUEUED, QUEUED), "queue a task once"),
        ((QUEUED, begun("q1"), QUEUED), "queue a task once"),
        ((begun("q1"),), "change what waits"),
        ((QUEUED, begun("q1"), begun("q1")), "change what waits"),
        ((QUEUED, e.TaskCancelled(queue_id="q1"), begun("q1")), "change what waits"),
        ((QUEUED, begun("q1"), e.TaskEdited(queue_id="q1", text="x")), "change what waits"),
        ((QUEUED, e.TaskMoved(queue_id="q1", before="q2")), "change what waits"),
        ((e.TaskMoved(queue_id="q1"),), "change what waits"),
        ((e.QueueSwitched(paused=False),), "switch a queue over"),
        ((QUEUED, OTHER, begun("q2")), "begin in its turn"),
        ((QUEUED, OTHER, e.TaskMoved(queue_id="q2", before="q1"), begun("q1")), "begin in its turn"),
        ((QUEUED, OTHER, e.TaskMoved(queue_id="q1"), begun("q1")), "begin in its turn"),
        (
            (QUEUED, OTHER, e.QueueSwitched(paused=True), begun("q1"), begun("q2")),
            "nothing begins while paused",
        ),
    ],
)
def test_a_queue_that_breaks_a_law_is_caught(events: tuple[SessionEvent, ...], law: str) -> None:
    assert laws(*events) == [law]


def test_commands_of_a_person_break_no_law_of_the_queue() -> None:
    assert not laws(
        QUEUED, OTHER, e.QueueSwitched(paused=True), begun("q1"), THIRD, e.TaskMoved(queue_id="q3", before="q2"),
        e.TaskEdited(queue_id="q2", text="other"), e.QueueSwitched(paused=False), begun("q3"), e.TaskCancelled(queue_id="q2"),
    )  # fmt: skip
