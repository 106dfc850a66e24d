from __future__ import annotations

import pytest

from alita_tui.view.habits import Habits, Look, habits, too_fast


def test_few_verdicts_give_no_figure() -> None:
    assert habits([]).summary == ""
    assert habits([Look(100, False)] * 2).summary == ""
    assert not habits([Look(100, False)] * 2).hasty


def test_the_newest_twenty_count() -> None:
    old, new = [Look(1_000_000, True)] * 30, [Look(2100, n < 7) for n in range(20)]
    found = habits([*old, *new])
    assert found == Habits(verdicts=20, median_seconds=2.1, read_share=0.35)
    assert found.summary == "last 20 verdicts: median 2.1 s, 35% read to the end"


@pytest.mark.parametrize(
    ("seconds", "share", "hasty"), [(2.0, 1.0, True), (30.0, 0.4, True), (30.0, 0.9, False)]
)
def test_haste_is_little_time_or_little_code_read(seconds: float, share: float, hasty: bool) -> None:
    assert Habits(verdicts=9, median_seconds=seconds, read_share=share).hasty is hasty


def test_reading_takes_time() -> None:
    assert too_fast(40, 2000)
    assert not too_fast(40, 10_000)
    assert not too_fast(0, 0)
