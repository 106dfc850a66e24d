"""What a record says: each task, run and call once, with its cost; hostile records change no figure and raise nothing."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui import events as e
from alita_tui.events import BuildId, Usage
from alita_tui.spine.envelope import decode
from alita_tui.statistics.rows import KINDS, rows_of
from tests.statistics.records import called, opened, record, returned
from tests.support import streams


def test_a_real_session_counts_each_task_run_and_call_once() -> None:
    envelopes = [one for one in streams.walkthrough() if one.durable]
    rows = rows_of(envelopes)
    ended = [one for one in envelopes if isinstance(one.event, e.TaskFinished)]
    paid = [one.event for one in envelopes if isinstance(one.event, e.BudgetSpent)]
    assert [one.outcome for one in rows.tasks] == [
        one.event.outcome for one in ended if isinstance(one.event, e.TaskFinished)
    ]
    assert len(rows.runs) == sum(isinstance(one.event, e.ToolReturned | e.ToolFailed) for one in envelopes)
    assert len(rows.calls) == sum(isinstance(one.event, e.ModelReplied | e.ModelFailed) for one in envelopes)
    assert sum(one.usd for one in rows.calls) == sum(one.cost_usd or 0 for one in paid)


def test_a_paid_and_answered_call_is_one_row_in_either_order() -> None:
    reply = e.ModelReplied(
        call_id="m",
        role="planner",
        model="small-0613",
        usage=Usage(input_tokens=70, output_tokens=5),
        duration_ms=900,
    )
    paid = e.BudgetSpent(call_id="m", cost_usd=0.25, role="planner", model="openai:small", tokens=75)
    for events in ((reply, paid), (paid, reply)):
        (row,) = rows_of(record(opened(), e.TaskSubmitted(task_id=e.TaskId("t"), text="x"), *events)).calls
        assert (row.usd, row.tokens, row.ms, row.model, row.task) == (0.25, 75, 900, "openai:small", 0)


def test_an_unknown_price_is_not_zero() -> None:
    (row,) = rows_of(
        record(e.BudgetSpent(call_id="m", cost_usd=None, role="encoder", model="x:y", tokens=9))
    ).calls
    assert math.isnan(row.usd) and row.paid and row.tokens == 9


def test_a_run_of_a_tool_built_by_the_same_task_is_no_reuse() -> None:
    card = next(one.event for one in streams.walkthrough() if isinstance(one.event, e.ToolRegistered)).card
    name = str(card.name)
    registered = e.ToolRegistered(build_id=BuildId("b"), approval_id="p", card=card)
    rows = rows_of(
        record(
            opened(), e.TaskSubmitted(task_id=e.TaskId("t1"), text="x"), registered, called("c1", name), returned("c1"),
            e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered"), e.TaskSubmitted(task_id=e.TaskId("t2"), text="y"),
            called("c2", name), returned("c2"),
        )
    )  # fmt: skip
    assert [(one.task, one.reused) for one in rows.runs] == [(0, False), (1, True)]
    assert [(one.tool, one.kind) for one in rows.builds] == [(name, "")]


def test_waiting_for_the_person_does_not_count_as_task_time() -> None:
    rows = rows_of(
        record(
            (e.TaskSubmitted(task_id=e.TaskId("t"), text="x"), 0), (e.QuestionAsked(question_id="q", text="?"), 10),
            (e.QuestionAnswered(question_id="q", text="!"), 3610), (e.TaskFinished(task_id=e.TaskId("t"), outcome="answered"), 3615),
        )
    )  # fmt: skip
    assert rows.tasks[0].seconds == 15


def test_time_between_processes_does_not_count_as_task_time() -> None:
    """A kill, a night, a resume; and the same with a question open meanwhile, whose wait counts once."""
    begun = (opened(), e.TaskSubmitted(task_id=e.TaskId("t"), text="x"))
    ended = e.TaskFinished(task_id=e.TaskId("t"), outcome="answered", answer="")
    back = (e.SessionResumed(restored=2), 80_000.0)
    (row,) = rows_of(record(*begun, back, (ended, 80_004.0))).tasks
    assert row.seconds == 4.0
    asked = (e.QuestionAsked(question_id="q", text="?"), 5.0)
    said = (e.QuestionAnswered(question_id="q", text="yes"), 80_010.0)
    (row,) = rows_of(record(*begun, asked, back, said, (ended, 80_012.0))).tasks
    assert row.seconds == 3.0 + 2.0


def test_a_fork_counts_its_own_events_and_a_session_from_elsewhere_none() -> None:
    events = (
        e.TaskSubmitted(task_id=e.TaskId("t1"), text="x"), called("c1"), returned("c1"),
        e.BudgetSpent(call_id="m", cost_usd=1.0, role="planner", model="x:y"),
        e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered"), e.TaskSubmitted(task_id=e.TaskId("t2"), text="y"), called("c2"), returned("c2"),
        e.TaskFinished(task_id=e.TaskId("t2"), outcome="answered"),
    )  # fmt: skip
    whole = rows_of(record(opened(), *events))
    fork = rows_of(record(opened(parent="s0", parent_seq=6), *events))
    assert (len(whole.tasks), len(whole.runs), len(whole.calls)) == (2, 2, 1)
    assert (len(fork.tasks), len(fork.runs), len(fork.calls)) == (1, 1, 0)
    assert fork.runs[0].task == 0
    elsewhere = rows_of(record(opened(imported=True), *events))
    assert not elsewhere.tasks and not elsewhere.runs and not elsewhere.calls


def test_a_clock_going_backwards_gives_no_duration_and_impossible_figures_are_unknown() -> None:
    rows = rows_of(
        record(
            (e.TaskSubmitted(task_id=e.TaskId("t"), text="x"), 100), called("c"), returned("c", -5.0),
            e.BudgetSpent(call_id="m", cost_usd=float("nan"), role="planner", model="x:y", tokens=-4),
            e.BudgetSpent(call_id="n", cost_usd=1e300, role="planner", model="x:y"),
            (e.TaskFinished(task_id=e.TaskId("t"), outcome="answered"), 20),
        )
    )  # fmt: skip
    assert math.isnan(rows.tasks[0].seconds) and math.isnan(rows.runs[0].ms)
    assert [math.isnan(one.usd) for one in rows.calls] == [True, True]
    assert rows.calls[0].tokens == 0


def test_feedback_of_the_person_is_in_the_row_of_the_task() -> None:
    rows = rows_of(
        record(
            e.TaskSubmitted(task_id=e.TaskId("t"), text="x"), e.TaskFinished(task_id=e.TaskId("t"), outcome="answered"),
            e.FeedbackGiven(task_id=e.TaskId("t"), rating="up"), e.FeedbackGiven(task_id=e.TaskId("t"), rating="down", text="too few"),
            e.FeedbackGiven(task_id=e.TaskId("gone"), rating="up"),
        )
    )  # fmt: skip
    assert [one.rating for one in rows.tasks] == [-1]
    back = e.FeedbackGiven(task_id=e.TaskId("t"), rating="down", undone=True)
    events = (
        e.TaskSubmitted(task_id=e.TaskId("t"), text="x"),
        e.FeedbackGiven(task_id=e.TaskId("t"), rating="up"),
    )
    for more, rating in (
        ((), 1),
        ((back,), 0),
        ((e.FeedbackGiven(task_id=e.TaskId("t"), rating="down"), back), 1),
        ((back, back), 0),
    ):
        assert [one.rating for one in rows_of(record(*events, *more)).tasks] == [rating]


_LINES = [one for one in streams.walkthrough() if one.durable and isinstance(one.event, KINDS)]


@given(
    st.lists(st.integers(0, len(_LINES) - 1), max_size=60),
    st.lists(st.binary(max_size=60), max_size=4),
    st.randoms(use_true_random=False),
)
@settings(max_examples=150)
def test_events_in_any_order_missing_or_damaged_raise_nothing(
    places: list[int], junk: list[bytes], rng: Any
) -> None:
    envelopes = [_LINES[place] for place in places] + [decode(one, seq=9) for one in junk]
    rng.shuffle(envelopes)
    rows = rows_of(envelopes)
    places_of = (
        [one.task for one in rows.runs] + [one.task for one in rows.calls] + [one.task for one in rows.builds]
    )
    assert all(-1 <= place < len(rows.tasks) for place in places_of)
    assert len(rows.runs) <= sum(isinstance(one.event, e.ToolReturned | e.ToolFailed) for one in envelopes)
