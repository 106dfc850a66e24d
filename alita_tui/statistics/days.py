"""Days in the local time, as numbers that can be grouped by."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np

from alita_tui.statistics.records import Column

_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = -60_000_000_000.0, 250_000_000_000.0
"""Seconds of the years that a `datetime` knows, with room to spare."""


def _offset(at: float) -> float:
    """Return how far the local time is ahead of UTC, in seconds."""
    ahead = datetime.fromtimestamp(at, UTC).astimezone().utcoffset()
    return ahead.total_seconds() if ahead is not None else 0.0


def day_numbers(at: Column) -> Column:
    """Return the local day of each time (seconds since 1970) as days since 1970."""
    if not len(at):
        return np.empty(0, np.int64)
    at = np.clip(np.nan_to_num(at), _FIRST, _LAST)
    utc = np.floor_divide(at, _DAY).astype(np.int64)
    days, place = np.unique(utc, return_inverse=True)
    starts = np.array([_offset(day * _DAY) for day in days.tolist()])
    ends = np.array([_offset(day * _DAY + _DAY - 1) for day in days.tolist()])
    ahead = starts[place]
    for row in np.flatnonzero(
        (starts != ends)[place]
    ).tolist():  # the two days a year with a change of the clocks
        ahead[row] = _offset(float(at[row]))
    local: Column = np.floor_divide(at + ahead, _DAY).astype(np.int64)
    return local


def day_of(now: datetime) -> int:
    """Return the local day of a time as days since 1970."""
    return now.astimezone().date().toordinal() - _EPOCH


def name_of(day: int) -> str:
    """Write a day as ISO 8601."""
    return (date(1970, 1, 1) + timedelta(days=int(day))).isoformat()
