"""The statistics of a comparison on runs whose true difference is known."""

from __future__ import annotations

import math
import random
import sys

import numpy as np
import pytest

from alita_tui.evaluation.paired import ALPHA, paired, sign_flip


def simulated(luck: random.Random, cases: int, gain: float) -> tuple[list[float], list[float]]:
    """Shares solved of two runs with three repeats each; cases differ in how hard they are."""
    hard = [luck.betavariate(2, 2) for _ in range(cases)]

    def share(chance: float) -> float:
        return sum(luck.random() < chance for _ in range(3)) / 3

    return [share(one) for one in hard], [share(min(one + gain, 1.0)) for one in hard]


def found(first: list[float], second: list[float], seed: int) -> bool:
    """Whether the deciding test calls it a difference; the interval, which decides nothing, is left out for speed."""
    return sign_flip(np.subtract(second, first), np.random.default_rng(seed))[0] <= ALPHA


@pytest.mark.parametrize("cases", [6, 12, 30, 60])
def test_chance_alone_is_called_a_difference_at_most_once_in_twenty(cases: int) -> None:
    """The bar is 5 % itself, over 4,000 pairs of runs and with nothing added for the error of the simulation."""
    luck, runs = random.Random(cases), 4_000
    alarms = sum(found(*simulated(luck, cases, 0.0), turn) for turn in range(runs))
    sys.stdout.write(f"false alarms, {cases} cases: {alarms / runs:.2%} of {runs}\n")
    assert alarms / runs <= ALPHA


def test_more_cases_find_a_ten_point_difference_more_often() -> None:
    power = {}
    for cases in (12, 30, 120):
        luck, runs = random.Random(cases), 200
        power[cases] = sum(found(*simulated(luck, cases, 0.10), turn) for turn in range(runs)) / runs
    sys.stdout.write(f"power for 10 points, three repeats: {power}\n")
    assert power[12] < power[30] < power[120]
    assert power[120] > 0.7


def test_the_interval_holds_the_true_difference() -> None:
    luck, held, runs = random.Random(5), 0, 300
    for turn in range(runs):
        first = [luck.gauss(10, 3) for _ in range(30)]
        shown = paired(first, [one + luck.gauss(1, 2) for one in first], seed=turn)
        assert shown is not None
        held += shown.low <= 1 <= shown.high
    assert held / runs > 0.88


def test_the_test_agrees_with_values_computed_by_hand() -> None:
    """Five cases that all got better: 2 of the 32 choices of signs are as far out."""
    five = paired([0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1])
    assert five is not None
    assert five.p == 2 / 32 == five.smallest_p and not five.real
    assert (five.cases, five.first, five.second) == (6, 1 / 6, 1.0)
    six = paired([0] * 6, [1] * 6)
    assert six is not None and six.p == 2 / 64 and six.real
    same = paired([1, 0, 1], [1, 0, 1])
    assert same is not None and same.p == 1 and same.difference == 0
    assert paired([math.nan, 1], [1, math.nan]) is None
