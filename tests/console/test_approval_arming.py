"""When an input counts, against the promise: only quiet arms, without limit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui.console.input.arming import objection
from alita_tui.console.input.timing import QUESTION, InputTiming

QUIET = 0.425  # as promised to people, not as the code has it
MARGIN = 0.05
PAUSES = st.one_of(st.floats(0, 0.2), st.floats(0, 3), st.sampled_from([0.0, QUIET, QUIET - 1e-3, 1.5]))
KEYS = st.sampled_from(["a", "j"])


@settings(max_examples=2_000)
@given(st.floats(0, 1e6), st.lists(st.tuples(PAUSES, KEYS), min_size=1, max_size=12))
def test_a_key_counts_only_after_a_quiet_time_and_a_different_key(
    opened: float, inputs: list[tuple[float, str]]
) -> None:
    timing = InputTiming()
    paint = timing.painting(opened)
    at = last = opened
    before = ""
    for pause, key in inputs:
        at += pause
        heard = timing.note(key, at)
        counts = not objection(heard, paint.at)
        if counts:
            assert at >= last + QUIET and key != before
        elif key != before:
            assert at < last + QUIET + MARGIN
        last, before = at, key


@settings(max_examples=1_000)
@given(st.lists(st.floats(0, 30), min_size=1, max_size=60))
def test_a_held_key_never_counts_twice_however_slowly_it_repeats(pauses: list[float]) -> None:
    timing = InputTiming()
    paint = timing.painting(100.0)
    at = 101.0
    assert not objection(timing.note("a", at), paint.at)
    for pause in pauses:
        at += pause
        assert objection(timing.note("a", at), paint.at)
    timing.note("j", at + 1)
    assert not objection(timing.note("a", at + 2), paint.at)


@settings(max_examples=500)
@given(st.floats(-100, 0), st.integers(1, 5))
def test_input_made_before_painting_never_counts_however_late_it_is_handled(ago: float, times: int) -> None:
    timing = InputTiming()
    paint = timing.painting(50.0)
    for number in range(times):
        assert objection(timing.note(f"f{number}", 50.0 + ago), paint.at) == "unseen"
    assert objection(timing.note("a", 60.0), None) == "unseen"


def test_a_silent_terminal_is_recognised_and_a_late_one_is_asked_again() -> None:
    now = 10.0
    asked: list[float] = []

    def ask(question: str) -> bool:
        if question == QUESTION:
            asked.append(now)
        return True

    timing = InputTiming(ask, clock=lambda: now)
    timing.begin(now)
    timing.watch(True)
    paint = timing.painting(now)
    timing.written(now)
    while now < 11.9:
        now += 0.02
        timing.empty(now)
        assert not timing.mute and paint.at is None
    now = 12.1
    timing.empty(now)
    assert timing.mute and paint.at is not None
    for _ in asked:
        assert timing.answered(now)
    assert not timing.answered(now), "nobody asked"
    assert not timing.mute


@pytest.mark.parametrize("lost", range(6))
def test_a_lost_answer_does_not_block_later_keys(lost: int) -> None:
    """A person behind a terminal that loses one answer waits, looks, and presses a key."""
    now = 10.0
    answers: list[tuple[float, str]] = []
    asked = 0

    def ask(question: str) -> bool:
        nonlocal asked
        if question != QUESTION or asked != lost:
            answers.append((now + 0.03, question))
        asked += question == QUESTION
        return True

    def live(seconds: float) -> set[int]:
        nonlocal now
        alone = set()
        for _ in range(int(seconds / 0.02)):
            now += 0.02
            while answers and answers[0][0] <= now:
                question = answers.pop(0)[1]
                assert timing.answered(now) if question == QUESTION else timing.answered_other(now)
            alone.add(timing.empty(now))
        return alone

    timing = InputTiming(ask, clock=lambda: now)
    timing.begin(now)
    live(1.0)
    timing.watch(True)
    paint = timing.painting(now)
    timing.written(now)
    live(3.0)
    for key in ("down", "a") * 6:
        live(0.9)
        heard = timing.note(key, now)
        if key == "a" and not objection(heard, paint.at) and heard.number in live(0.5):
            return
    pytest.fail("no key ever counted")
