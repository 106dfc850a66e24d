"""Days in local time, as numbers by which rows can be grouped."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np

from alita_tui.statistics.records import Column

_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = -60_000_000_000.0, 250_000_000_000.0
"""First and last time in seconds since 1970, well within the range of `datetime`."""


def _offset(timestamp: float) -> float:
    """Return how far local time is ahead of UTC at a time, in seconds."""
    offset = datetime.fromtimestamp(timestamp, UTC).astimezone().utcoffset()
    return offset.total_seconds() if offset is not None else 0.0


def day_numbers(times: Column) -> Column:
    """Return the local day of each time (seconds since 1970) as days since 1970."""
    if not len(times):
        return np.empty(0, np.int64)
    times = np.clip(np.nan_to_num(times), _FIRST, _LAST)
    utc = np.floor_divide(times, _DAY).astype(np.int64)
    days, day_index = np.unique(utc, return_inverse=True)
    starts = np.array([_offset(day * _DAY) for day in days.tolist()])
    ends = np.array([_offset(day * _DAY + _DAY - 1) for day in days.tolist()])
    offsets = starts[day_index]
    for row in np.flatnonzero(
        (starts != ends)[day_index]
    ).tolist():  # the two days a year with a change of the clocks
        offsets[row] = _offset(float(times[row]))
    local: Column = np.floor_divide(times + offsets, _DAY).astype(np.int64)
    return local


def day_of(now: datetime) -> int:
    """Return the local day of a time as days since 1970."""
    return now.astimezone().date().toordinal() - _EPOCH


def name_of(day: int) -> str:
    """Return a day, given as days since 1970, in ISO 8601."""
    return (date(1970, 1, 1) + timedelta(days=int(day))).isoformat()
