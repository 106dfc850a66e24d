"""The probability that the best text is the right one: a prior from its features, corrected by earlier outcomes. Pure.

`PRIOR` was fitted on public questions with a share of the tools hidden (`tests/benchmarks/fit_ranking.py`). Once a
library has outcomes of its own, they correct it by Platt's method ("Probabilistic Outputs for Support Vector Machines",
1999): two numbers, so that few outcomes do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from alita_tui.events import Value
from alita_tui.spine.ranking.ranker import Ranked

Band = Literal["fits", "perhaps", "none"]

FITS = 0.75
"""Probability from which the best text is taken for the right one."""
NONE = 0.25
"""Probability below which no text is taken for the right one."""
NEEDED = 30
"""Least number of outcomes that correct the prior."""
_LIKENESS, _MARGIN, _SERVED, _WORDS, _OTHERWISE = 9.5, 1.5, -0.2, 0.5, -3.3
_ROUNDS = 50
_HELD = 1.0
"""Strength of the pull toward the prior, which matters where outcomes are few."""


class Calibration(Value, frozen=True):
    """A correction of the prior's log odds, fitted on a history of outcomes."""

    slope: float = 1.0
    shift: float = 0.0
    outcomes: int = 0
    """Number of outcomes that it was fitted on; 0 if it changes nothing."""

    def chance(self, prior: float) -> float:
        """Return the corrected probability."""
        return _sigmoid(self.slope * _log_odds(prior) + self.shift)


def prior(ranked: Sequence[Ranked]) -> float:
    """Return the probability that the first of these texts is the right one, before any correction."""
    if not ranked:
        return 0.0
    best = ranked[0]
    return _sigmoid(
        _LIKENESS * best.likeness
        + _MARGIN * best.margin
        + _SERVED * math.log1p(best.served)
        + _WORDS * math.log1p(best.asked)
        + _OTHERWISE
    )


def band(chance: float) -> Band:
    """Return the band that a probability falls in."""
    return "fits" if chance >= FITS else "perhaps" if chance >= NONE else "none"


def calibrated(outcomes: Sequence[tuple[float, bool]]) -> Calibration:
    """Return the correction fitted on outcomes: pairs of a prior probability and whether the text was right.

    Fewer than `NEEDED`, or outcomes that are all the same, change nothing.
    """
    right = sum(good for _, good in outcomes)
    if len(outcomes) < NEEDED or right in (0, len(outcomes)):
        return Calibration()
    # Platt's targets: no outcome is taken for certain
    high, low = (right + 1) / (right + 2), 1 / (len(outcomes) - right + 2)
    points = [(_log_odds(chance), high if good else low) for chance, good in outcomes]
    slope, shift = 1.0, 0.0
    for _ in range(_ROUNDS):  # Newton's method
        a = b = 0.0
        aa = bb = _HELD
        ab = 0.0
        for x, target in points:
            p = _sigmoid(slope * x + shift)
            a += (p - target) * x
            b += p - target
            aa += p * (1 - p) * x * x
            ab += p * (1 - p) * x
            bb += p * (1 - p)
        a += _HELD * (slope - 1)
        b += _HELD * shift
        whole = aa * bb - ab * ab
        step, moved = (bb * a - ab * b) / whole, (aa * b - ab * a) / whole
        slope, shift = slope - step, shift - moved
        if abs(step) + abs(moved) < 1e-9:
            break
    return Calibration(slope=max(slope, 0.05), shift=shift, outcomes=len(outcomes))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def _log_odds(chance: float) -> float:
    held = max(1e-6, min(1 - 1e-6, chance))
    return math.log(held / (1 - held))
