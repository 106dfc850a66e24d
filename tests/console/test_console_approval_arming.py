"""When an input counts, against the promise: only quiet arms, without limit."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui.console.arming import against
from alita_tui.console.hearing import Hearing

QUIET = 0.425  # as promised to people, not as the code has it
MARGIN = 0.05
PAUSES = st.one_of(st.floats(0, 0.2), st.floats(0, 3), st.sampled_from([0.0, QUIET, QUIET - 1e-3, 1.5]))
KEYS = st.sampled_from(["a", "j"])


@settings(max_examples=2_000, deadline=None)
@given(st.floats(0, 1e6), st.lists(st.tuples(PAUSES, KEYS), min_size=1, max_size=12))
def test_nothing_counts_but_after_quiet_and_another_key(
    opened: float, inputs: list[tuple[float, str]]
) -> None:
    hearing = Hearing()
    paint = hearing.painting(opened)
    at = last = opened
    before = ""
    for pause, key in inputs:
        at += pause
        heard = hearing.note(key, at)
        counts = not against(heard, paint.at)
        if counts:
            assert at >= last + QUIET and key != before
        elif key != before:
            assert at < last + QUIET + MARGIN
        last, before = at, key


@settings(max_examples=1_000, deadline=None)
@given(st.lists(st.floats(0, 30), min_size=1, max_size=60))
def test_a_held_key_never_counts_again_however_long_it_waits_to_repeat(pauses: list[float]) -> None:
    hearing = Hearing()
    paint = hearing.painting(100.0)
    at = 101.0
    assert not against(hearing.note("a", at), paint.at)
    for pause in pauses:
        at += pause
        assert against(hearing.note("a", at), paint.at)
    hearing.note("j", at + 1)
    assert not against(hearing.note("a", at + 2), paint.at)


@settings(max_examples=500, deadline=None)
@given(st.floats(-100, 0), st.integers(1, 5))
def test_input_made_before_painting_never_counts_however_late_it_is_handled(ago: float, times: int) -> None:
    hearing = Hearing()
    paint = hearing.painting(50.0)
    for number in range(times):
        assert against(hearing.note(f"f{number}", 50.0 + ago), paint.at) == "unseen"
    assert against(hearing.note("a", 60.0), None) == "unseen"


def test_a_mute_terminal_is_known_and_one_that_answers_late_is_asked_again() -> None:
    now = 10.0
    asked: list[float] = []
    hearing = Hearing(lambda: asked.append(now) is None, clock=lambda: now)
    hearing.begin(now)
    hearing.watch(True)
    paint = hearing.painting(now)
    hearing.written(now)
    while now < 11.9:
        now += 0.02
        hearing.empty(now)
        assert not hearing.mute and paint.at is None
    now = 12.1
    hearing.empty(now)
    assert hearing.mute and paint.at is not None
    for _ in asked:
        assert hearing.answered(now)
    assert not hearing.answered(now), "nobody asked"
    assert not hearing.mute
