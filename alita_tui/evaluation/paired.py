"""Is one run better than another? Both did the same cases, so what counts is the difference of each case.

A sign-flip test decides: under chance alone each case's difference could as well have had the other sign. The bootstrap
interval is shown for information: with a dozen cases its false alarm rate is above the nominal 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alita_tui.events import Value

ALPHA = 0.05
_FLIPS, _DRAWS = 10_000, 5_000
_ALL_SIGNS = 14
"""Up to so many differences every choice of signs is tried."""
_CLOSE = 1e-9


class Paired(Value, frozen=True):
    """A difference between two runs, the second less the first."""

    cases: int
    first: float
    second: float
    difference: float
    low: float
    """95 % bootstrap interval of the difference."""
    high: float
    p: float
    """Chance of a difference as large as this by luck alone."""
    smallest_p: float = 0.0
    """The least that p can be with so few cases that differ."""

    @property
    def real(self) -> bool:
        """Whether the difference is larger than chance explains."""
        return self.p <= ALPHA


def paired(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Paired | None:
    """Compare two values for each case; pairs with an unknown one (NaN) are left out. None where no pair is left."""
    pairs = [
        (left, right)
        for left, right in zip(first, second, strict=True)
        if math.isfinite(left) and math.isfinite(right)
    ]
    if not pairs:
        return None
    values = np.array(pairs, float)
    differences = values[:, 1] - values[:, 0]
    luck = np.random.default_rng(seed)
    drawn = luck.integers(0, len(differences), (_DRAWS, len(differences)))
    low, high = np.percentile(differences[drawn].mean(axis=1), (2.5, 97.5))
    p, smallest = sign_flip(differences, luck)
    return Paired(
        cases=len(pairs), first=float(values[:, 0].mean()), second=float(values[:, 1].mean()),
        difference=float(differences.mean()), low=float(low), high=float(high), p=p, smallest_p=smallest,
    )  # fmt: skip


def sign_flip(differences: np.ndarray, luck: np.random.Generator) -> tuple[float, float]:
    """Return the two-sided p of the mean, and the smallest possible p. Cases without a difference are ignored."""
    moved = differences[np.abs(differences) > _CLOSE]
    if not len(moved):
        return 1.0, 1.0
    seen = abs(moved.sum()) - _CLOSE * max(float(np.abs(moved).sum()), 1.0)
    if len(moved) <= _ALL_SIGNS:
        bits = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        sums = np.abs((1 - 2 * bits) @ moved)
        return float((sums >= seen).mean()), 2.0 / 2 ** len(moved)
    least = 2.0 / 2 ** len(moved)
    flips = 1 - 2 * luck.integers(0, 2, (_FLIPS, len(moved)), dtype=np.int8)
    as_far = int((np.abs(flips @ moved) >= seen).sum())
    return (as_far + 1) / (_FLIPS + 1), least
