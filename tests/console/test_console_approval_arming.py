from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui.console.arming import LONGEST, QUIET, Arming

PAUSES = st.one_of(
    st.floats(0, 0.2), st.floats(0, 3), st.sampled_from([0.0, QUIET, LONGEST, QUIET - 1e-3, LONGEST - 1e-3])
)


@settings(max_examples=2_000, deadline=None)
@given(st.floats(0, 1e6), st.lists(PAUSES, min_size=1, max_size=8))
def test_nothing_counts_before_quiet_or_the_longest_wait(opened: float, pauses: list[float]) -> None:
    arming = Arming(opened)
    at = last = opened
    counted = False
    for pause in pauses:
        at += pause
        counts = arming.touch(at)
        quiet = at >= last + QUIET
        waited = at >= opened + LONGEST
        assert counts == (counted or quiet or waited)
        counted |= counts
        last = at


@settings(max_examples=1_000, deadline=None)
@given(st.lists(st.floats(0, QUIET * 0.98), min_size=1, max_size=60))
def test_a_held_key_never_arms_a_second_confirmation(pauses: list[float]) -> None:
    arming = Arming(100.0, longest=None)
    at = 100.0
    for pause in pauses:
        at += pause
        assert not arming.touch(at)
    assert arming.touch(at + QUIET + 1e-6)


@settings(max_examples=500, deadline=None)
@given(st.floats(-100, 0), st.integers(1, 5))
def test_input_made_before_opening_never_counts_however_late_it_is_handled(ago: float, times: int) -> None:
    arming = Arming(50.0)
    for _ in range(times):
        assert not arming.touch(50.0 + ago)
    assert arming.due == 50.0 + QUIET
