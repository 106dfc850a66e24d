"""How likely a count is by chance alone, and what is far above other values."""

from __future__ import annotations

import math

import numpy as np

from alita_tui.statistics.records import Column


def _ways(total: int, chosen: int) -> float:
    """Return the logarithm of how many ways there are to choose."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def tail(bad: int, drawn: int, all_bad: int, everything: int) -> float:
    """Return the chance of at least `bad` among `drawn`, where `all_bad` of `everything` are spread by chance.

    Fisher's exact test, one-sided: nothing about the true rate is assumed. Returns 1 for no more than expected.
    """
    if bad <= drawn * all_bad / everything:
        return 1.0
    whole, chance = _ways(everything, drawn), 0.0
    for count in range(bad, min(drawn, all_bad) + 1):
        part = math.exp(_ways(all_bad, count) + _ways(everything - all_bad, drawn - count) - whole)
        chance += part
        if part < chance * 1e-9:  # beyond the expected each part is smaller than the one before
            break
    return min(chance, 1.0)


def far_above(value: float, others: Column, *, deviations: float) -> bool:
    """Return whether a value is far above others that are spread over ratios, such as costs.

    The unit is the robust standard deviation of the logarithms (1.4826 × the median deviation, at least a tenth),
    so that one wild day among the others does not hide the next.
    """
    logs = np.log(others)
    middle = float(np.median(logs))
    spread = max(1.4826 * float(np.median(np.abs(logs - middle))), 0.1)
    return math.log(value) > middle + deviations * spread
