"""Decides whether one run is better than another, from the differences of the cases that both did.

A sign-flip test decides: by chance alone, each difference could as well have had the other sign. The bootstrap interval
is only shown, because with a dozen cases its false alarm rate is above the nominal 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alita_tui.events import Value

ALPHA = 0.05
_FLIPS, _DRAWS = 10_000, 5_000
_ALL_SIGNS = 14
"""Number of differences up to which all choices of signs are tried."""
_CLOSE = 1e-9


class Paired(Value, frozen=True):
    """The difference between two runs, the second minus the first."""

    cases: int
    first: float
    second: float
    difference: float
    low: float
    """95 % bootstrap interval of the difference."""
    high: float
    p: float
    """Probability of a difference at least as large by chance alone."""
    smallest_p: float = 0.0
    """Smallest p that is possible with this number of differing cases."""

    @property
    def real(self) -> bool:
        """True if the difference is larger than chance explains."""
        return self.p <= ALPHA


def paired(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Paired | None:
    """Compare two values for each case; pairs with an unknown value (NaN) are left out. None if no pair remains."""
    pairs = [
        (left, right)
        for left, right in zip(first, second, strict=True)
        if math.isfinite(left) and math.isfinite(right)
    ]
    if not pairs:
        return None
    values = np.array(pairs, float)
    differences = values[:, 1] - values[:, 0]
    generator = np.random.default_rng(seed)
    resampled = generator.integers(0, len(differences), (_DRAWS, len(differences)))
    low, high = np.percentile(differences[resampled].mean(axis=1), (2.5, 97.5))
    p, smallest = sign_flip(differences, generator)
    return Paired(
        cases=len(pairs), first=float(values[:, 0].mean()), second=float(values[:, 1].mean()),
        difference=float(differences.mean()), low=float(low), high=float(high), p=p, smallest_p=smallest,
    )  # fmt: skip


def sign_flip(differences: np.ndarray, generator: np.random.Generator) -> tuple[float, float]:
    """Return the two-sided p of the mean and the smallest possible p, ignoring cases without a difference."""
    changed = differences[np.abs(differences) > _CLOSE]
    if not len(changed):
        return 1.0, 1.0
    observed = abs(changed.sum()) - _CLOSE * max(float(np.abs(changed).sum()), 1.0)
    if len(changed) <= _ALL_SIGNS:
        bits = np.arange(2 ** len(changed))[:, None] >> np.arange(len(changed)) & 1
        sums = np.abs((1 - 2 * bits) @ changed)
        return float((sums >= observed).mean()), 2.0 / 2 ** len(changed)
    smallest = 2.0 / 2 ** len(changed)
    flips = 1 - 2 * generator.integers(0, 2, (_FLIPS, len(changed)), dtype=np.int8)
    extreme = int((np.abs(flips @ changed) >= observed).sum())
    return (extreme + 1) / (_FLIPS + 1), smallest
