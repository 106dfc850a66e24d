"""The probability of a count by chance, and outliers of a sample."""

from __future__ import annotations

import math

import numpy as np

from alita_tui.statistics.records import Column


def _ways(total: int, chosen: int) -> float:
    """Return the logarithm of the binomial coefficient `total` over `chosen`."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def tail(bad: int, drawn: int, all_bad: int, total: int) -> float:
    """Return the probability of at least `bad` failures among `drawn` rows, if `all_bad` of `total` rows are failures.

    This is Fisher's exact test, one-sided; it assumes nothing about the true rate. Returns 1 for a count that is no
    higher than expected.
    """
    if bad <= drawn * all_bad / total:
        return 1.0
    log_total, chance = _ways(total, drawn), 0.0
    for count in range(bad, min(drawn, all_bad) + 1):
        term = math.exp(_ways(all_bad, count) + _ways(total - all_bad, drawn - count) - log_total)
        chance += term
        if term < chance * 1e-9:  # above the expected count, each term is smaller than the one before
            break
    return min(chance, 1.0)


def far_above(value: float, sample: Column, *, deviations: float) -> bool:
    """Return True if a value is far above a sample of positive values that vary by ratios, such as costs.

    The unit is the robust standard deviation of the logarithms (1.4826 × the median deviation, at least 0.1), so that
    one outlier in the sample does not hide another.
    """
    logs = np.log(sample)
    middle = float(np.median(logs))
    spread = max(1.4826 * float(np.median(np.abs(logs - middle))), 0.1)
    return math.log(value) > middle + deviations * spread
