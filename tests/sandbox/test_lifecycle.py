"""The life of one run in PID 1: every state × event, and random lives, without a container."""

from __future__ import annotations

import json
import signal
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_tui.events import RunReport
from alita_tui.sandbox.report import run_report
from alita_tui.sandbox.warden.lifecycle import TRANSITIONS, Effect, Event, Lifecycle, State
from alita_tui.spine.ports.sandbox import Job, Limits

JOB = Job(run_id="r1", module="tool", code="", limits=Limits())
ANSWER = json.dumps({"result": 1})
OK, EXIT_9, KILLED, CORE_DUMPED = 0, 9 << 8, int(signal.SIGKILL), int(signal.SIGSEGV) | 0x80
WAIT_STATUSES = [OK, 1 << 8, EXIT_9, 255 << 8, KILLED, CORE_DUMPED, int(signal.SIGXCPU), int(signal.SIGXFSZ)]
LIMITS = ["output", "result", "memory", "processes", "inodes", "cpu"]


def apply(life: Lifecycle, event: Event, detail: Any = None) -> tuple[Effect, ...]:
    match event:
        case Event.LIMIT_EXCEEDED:
            return life.limit_exceeded(detail or "memory")
        case Event.TIME_UP:
            return life.time_up()
        case Event.EXITED:
            return life.exited(detail or OK)
        case Event.OUTPUT_CLOSED:
            return life.output_closed()


def report(
    life: Lifecycle, *, exhausted: bool = False, starved: bool = False, answer: str = ANSWER
) -> RunReport:
    """The host's report on what the warden says of this life, whatever the child has answered."""
    measured = {
        **life.outcome(cpu_exhausted=exhausted, out_of_memory=lambda: starved),
        "truncated": [],
        "duration_ms": 1.0,
        "cpu_ms": 1.0,
        "peak_memory_bytes": 1,
        "answer": answer,
    }
    return run_report(json.dumps(measured).encode(), JOB, {"stdout": "", "stderr": ""})


# --- the table --------------------------------------------------------------------------------


def test_the_table_covers_every_state_and_event() -> None:
    assert set(TRANSITIONS) == set(product(State, Event))


REACHED = {
    State.RUNNING: [],
    State.STOPPING: [Event.LIMIT_EXCEEDED],
    State.DRAINING: [Event.EXITED],
    State.ENDED: [Event.EXITED, Event.OUTPUT_CLOSED],
}
KILL, CUT, REPORT = Effect.KILL_ALL, Effect.CUT_OFF, Effect.REPORT
R, S, D, E = State.RUNNING, State.STOPPING, State.DRAINING, State.ENDED


@pytest.mark.parametrize(
    ("state", "event", "then", "effects"),
    [
        (R, Event.LIMIT_EXCEEDED, S, [KILL]), (R, Event.TIME_UP, S, [KILL]),
        (R, Event.EXITED, D, [KILL, CUT]), (R, Event.OUTPUT_CLOSED, R, []),
        (S, Event.LIMIT_EXCEEDED, S, [KILL]), (S, Event.TIME_UP, S, [KILL]),
        (S, Event.EXITED, D, [KILL, CUT]), (S, Event.OUTPUT_CLOSED, S, []),
        (D, Event.LIMIT_EXCEEDED, D, [KILL]), (D, Event.TIME_UP, E, [REPORT]),
        (D, Event.EXITED, D, []), (D, Event.OUTPUT_CLOSED, E, [REPORT]),
        (E, Event.LIMIT_EXCEEDED, E, []), (E, Event.TIME_UP, E, []),
        (E, Event.EXITED, E, []), (E, Event.OUTPUT_CLOSED, E, []),
    ],
)  # fmt: skip
def test_each_event_in_each_state(state: State, event: Event, then: State, effects: list[Effect]) -> None:
    life = Lifecycle()
    for earlier in REACHED[state]:
        apply(life, earlier)
    assert life.state is state
    assert (list(apply(life, event)), life.state) == (effects, then)


# --- what is recorded -------------------------------------------------------------------------


def test_a_deadline_is_the_wall_limit_only_while_the_child_lives() -> None:
    late, held_open = Lifecycle(), Lifecycle()
    late.time_up()
    late.exited(KILLED)
    late.output_closed()
    held_open.exited(OK)
    held_open.time_up()  # an orphan held its pipes open
    assert report(late).status == "timeout"
    assert report(held_open).status == "ok"


def test_a_limit_is_recorded_once_in_the_order_of_the_first() -> None:
    life = Lifecycle()
    for limit in ("output", "memory", "output"):
        life.limit_exceeded(limit)
    life.exited(KILLED)
    life.limit_exceeded("result")
    life.output_closed()
    life.limit_exceeded("inodes")  # the report is made
    assert life.limits_hit == ["output", "memory", "result"]


@pytest.mark.parametrize(
    ("wait_status", "exhausted", "starved", "hits"),
    [
        (int(signal.SIGXCPU), False, False, ["cpu"]),
        (int(signal.SIGXFSZ), False, False, ["files"]),
        (KILLED, False, True, ["memory"]),
        (KILLED, True, True, ["memory"]),
        (KILLED, True, False, ["cpu"]),
        (KILLED, False, False, []),
        (EXIT_9, True, True, []),
    ],
)
def test_a_kill_is_put_down_to_the_limit_that_explains_it(
    wait_status: int, exhausted: bool, starved: bool, hits: list[str]
) -> None:
    life = Lifecycle()
    life.exited(wait_status)
    life.output_closed()
    assert list(report(life, exhausted=exhausted, starved=starved).limits_hit) == hits


def test_a_known_limit_is_not_explained_a_second_time() -> None:
    life = Lifecycle()
    life.limit_exceeded("output")
    life.exited(KILLED)
    life.output_closed()
    assert report(life, exhausted=True, starved=True).limits_hit == ("output",)


# --- random lives -----------------------------------------------------------------------------

EVENTS = st.one_of(
    st.tuples(st.just(Event.LIMIT_EXCEEDED), st.sampled_from(LIMITS)),
    st.tuples(st.just(Event.EXITED), st.sampled_from(WAIT_STATUSES)),
    st.tuples(st.sampled_from([Event.TIME_UP, Event.OUTPUT_CLOSED]), st.none()),
)
ANSWERS = st.sampled_from([ANSWER, "", "{", '{"result": 1, "error": "no"}', '{"error": "no"}'])


@given(st.lists(EVENTS, max_size=30), st.sampled_from(WAIT_STATUSES), st.booleans(), st.booleans(), ANSWERS)
def test_a_life_ends_in_one_report_that_is_never_ok_after_a_limit_or_a_crash(
    events: list[tuple[Event, Any]], last_status: int, exhausted: bool, starved: bool, answer: str
) -> None:
    life = Lifecycle()
    effects = [effect for event, detail in events for effect in apply(life, event, detail)]
    before = life.state
    effects += life.exited(last_status)  # a killed child is always reaped, and then its time is up
    effects += life.time_up()
    assert life.state is State.ENDED
    assert effects.count(Effect.REPORT) == 1
    assert effects.count(Effect.CUT_OFF) == 1
    assert effects.index(Effect.KILL_ALL) < effects.index(Effect.REPORT) == len(effects) - 1

    statuses = [detail for event, detail in events if event is Event.EXITED]
    assert life.wait_status == (statuses[0] if statuses else last_status)
    assert before is State.RUNNING or life.limits_hit or statuses
    told = report(life, exhausted=exhausted, starved=starved, answer=answer)
    exceeded = bool(life.limits_hit)
    assert (told.status == "ok") == (not exceeded and life.wait_status == OK and answer == ANSWER)
    assert told.status == "ok" or told.result is None
    assert told.error or told.status == "ok"


@given(st.lists(EVENTS, max_size=30))
def test_a_limit_that_came_before_the_report_is_in_it(events: list[tuple[Event, Any]]) -> None:
    life = Lifecycle()
    expected: list[str] = []
    for event, detail in events:
        if life.state is not State.ENDED and event is Event.LIMIT_EXCEEDED:
            expected.append(detail)
        elif life.state in (State.RUNNING, State.STOPPING) and event is Event.TIME_UP:
            expected.append("wall")
        apply(life, event, detail)
    assert life.limits_hit == list(dict.fromkeys(expected))
