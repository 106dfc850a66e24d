"""Unusual days, by rules that are stated with each finding.

A share (answered tasks, good runs of a tool) is unusual if chance would produce one like it in fewer than one of a
hundred reports, over all days and tools of the report (Fisher's exact test with Bonferroni's correction). A cost or
time is unusual if it is at least twice the median of the other days and far above their spread. Below a minimum of
evidence nothing is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from alita_tui.spine.ports.statistics import Anomaly, Place
from alita_tui.statistics.chance import far_above, tail
from alita_tui.statistics.days import name_of
from alita_tui.statistics.records import Column

LEAST_DAYS = 10
"""Minimum number of other days that a cost or time is compared with."""
LEAST_TASKS = 5
"""Minimum number of tasks of a day for its share of answers and its time."""
LEAST_RUNS = 5
"""Minimum number of runs of a tool on a day."""
LEAST_USD = 0.05
"""Minimum cost of a day, in US dollars, for it to be reported."""
_DEVIATIONS = 5.0
_CHANCE = 0.01

_COST = f"at least twice the median of {LEAST_DAYS} or more other days, and 5 robust deviations above it"
_SHARE = "less likely than 1 in 100 by chance, over all days (and tools) looked at"

Places = Callable[[Column], tuple[Place, ...]]
"""Returns the places of rows."""


class Counted(NamedTuple):
    """Rows of tasks or runs."""

    day: Column
    """The day of each row, as days since 1970."""
    bad: Column
    """True for each row that failed."""
    places: Places
    owner: Column | None = None
    """The number of each row's tool; None for tasks."""


def cost_days(days: Sequence[int], usd: Column, places: Callable[[int], tuple[Place, ...]]) -> list[Anomaly]:
    """Return the days that cost far more than the others. `usd` is the cost of each day, 0 if nothing was spent."""
    anomalies = []
    for index, (day, spent) in enumerate(zip(days, usd.tolist(), strict=True)):
        others = np.delete(usd, index)
        others = others[others > 0]
        if spent < LEAST_USD or len(others) < LEAST_DAYS:
            continue
        usual = float(np.median(others))
        if spent >= 2 * usual and far_above(spent, others, deviations=_DEVIATIONS):
            text = f"{_times(spent / usual)} the usual cost: ${spent:.2f} instead of ${usual:.2f}"
            anomalies.append(Anomaly("cost", "", name_of(day), text, _COST, places(day)))
    return anomalies


def slow_days(
    days: Sequence[int], seconds: Column, tasks: Column, places: Callable[[int], tuple[Place, ...]]
) -> list[Anomaly]:
    """Return the days whose median task took far longer than usual; `seconds` is NaN for a day without tasks."""
    enough = (tasks >= LEAST_TASKS) & (seconds > 0)
    anomalies = []
    for index, day in enumerate(days):
        median = float(seconds[index])
        others = seconds[enough & (np.arange(len(days)) != index)]
        if not enough[index] or len(others) < LEAST_DAYS:
            continue
        usual = float(np.median(others))
        if median >= 2 * usual and far_above(median, others, deviations=_DEVIATIONS):
            text = f"{_times(median / usual)} the usual time: {median:.0f} s instead of {usual:.0f} s"
            anomalies.append(Anomaly("time", "", name_of(day), text, _COST, places(day)))
    return anomalies


def unanswered_days(counted: Counted) -> list[Anomaly]:
    """Return the days on which unusually many tasks had no answer."""
    anomalies = []
    total, bad = len(counted.bad), int(counted.bad.sum())
    days, day_index = np.unique(counted.day, return_inverse=True)
    drawn = np.bincount(day_index, minlength=len(days))
    missed = np.bincount(day_index, weights=counted.bad, minlength=len(days)).astype(int)
    tested = np.flatnonzero(drawn >= LEAST_TASKS)
    for index in tested.tolist():
        if tail(int(missed[index]), int(drawn[index]), bad, total) < _CHANCE / len(tested):
            share = 100 * (1 - missed[index] / drawn[index])
            rows = np.flatnonzero((day_index == index) & counted.bad)
            text = f"only {share:.0f} % of {drawn[index]} tasks answered, usually {100 * (1 - bad / total):.0f} %"
            anomalies.append(
                Anomaly("answered", "", name_of(days[index]), text, _SHARE, counted.places(rows))
            )
    return anomalies


def failing_tools(counted: Counted, names: Callable[[int], str]) -> list[Anomaly]:
    """Return the days on which a tool failed far more often than on other days."""
    owner = counted.owner
    if owner is None or not len(owner):
        return []
    tools, tool = np.unique(owner, return_inverse=True)
    days, day = np.unique(counted.day, return_inverse=True)
    cell = tool * len(days) + day
    size = len(tools) * len(days)
    drawn = np.bincount(cell, minlength=size)
    failed = np.bincount(cell, weights=counted.bad, minlength=size).astype(int)
    all_runs = np.bincount(tool, minlength=len(tools))
    all_failed = np.bincount(tool, weights=counted.bad, minlength=len(tools)).astype(int)
    tested = np.flatnonzero(drawn >= LEAST_RUNS)
    anomalies = []
    for cell_number in tested[failed[tested] >= 2].tolist():
        tool_number, day_number = divmod(cell_number, len(days))
        bad, runs = int(failed[cell_number]), int(drawn[cell_number])
        all_bad, tool_runs = int(all_failed[tool_number]), int(all_runs[tool_number])
        if tool_runs - runs < LEAST_RUNS:  # no other days to compare with
            continue
        chance = tail(bad, runs, all_bad, tool_runs)
        if chance < _CHANCE / len(tested):
            rows = np.flatnonzero((cell == cell_number) & counted.bad)
            text = f"{bad} of {runs} runs failed, {all_bad - bad} of {tool_runs - runs} otherwise"
            name = names(int(tools[tool_number]))
            anomalies.append(
                Anomaly("tool", name, name_of(days[day_number]), text, _SHARE, counted.places(rows))
            )
    return anomalies


def _times(ratio: float) -> str:
    return f"{ratio:.0f} ×" if ratio >= 10 else f"{ratio:.1f} ×"
