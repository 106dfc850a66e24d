"""Computes when a repeated task is due."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from alita_tui.events import Value
from alita_tui.spine.errors import UsageError

_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
_DAY = _SECONDS["d"]
_LONGEST = 366 * _DAY


class Rhythm(Value, frozen=True):
    """How often, and at which time of the day."""

    every: int
    """Seconds from one run to the next; whole days where `at` is set."""
    at: str = ""
    """`HH:MM` in this machine's local time; empty: counted from when the schedule was made."""

    def due(
        self, since: datetime, last: datetime, now: datetime, zone: tzinfo | None = None
    ) -> datetime | None:
        """Return the newest moment after `last`, up to `now`, at which it is due; None if there is none.

        Of several missed times it is the last one, so missed runs are made up for only once. `since` is when it was
        made; `zone` is for tests. All times are aware.
        """
        count = self._count(since, now, zone)
        moment = self._moment(since, count, zone)
        return moment if count and moment > last else None

    def following(self, since: datetime, now: datetime, zone: tzinfo | None = None) -> datetime:
        """Return the first moment after `now` at which it is due."""
        return self._moment(since, self._count(since, now, zone) + 1, zone)

    def _count(self, since: datetime, now: datetime, zone: tzinfo | None) -> int:
        """Return how often it was due from when it was made until `now`."""
        if not self.at:
            return max(0, int((now - since).total_seconds() // self.every))
        passed = (now.astimezone(zone).date() - self._first_day(since, zone)).days
        count = max(0, passed // (self.every // _DAY) + 1)
        return count - 1 if count and self._moment(since, count, zone) > now else count

    def _moment(self, since: datetime, count: int, zone: tzinfo | None) -> datetime:
        """Return when it is due for the n-th time, from 1."""
        if not self.at:
            return since + timedelta(seconds=count * self.every)
        days = (count - 1) * (self.every // _DAY)
        return self._on(self._first_day(since, zone) + timedelta(days=days), zone)

    def _first_day(self, since: datetime, zone: tzinfo | None) -> date:
        day = since.astimezone(zone).date()
        return day if self._on(day, zone) > since else day + timedelta(days=1)

    def _on(self, day: date, zone: tzinfo | None) -> datetime:
        """Return when it is due on a day: an hour later if the clock skips that time, the first if it occurs twice."""
        moment = datetime.combine(day, time.fromisoformat(self.at))
        return (moment.replace(tzinfo=zone) if zone else moment.astimezone()).astimezone(UTC)

    def __str__(self) -> str:
        """Return it as it is typed."""
        unit = next(unit for unit in ("w", "d", "h", "m") if self.every % _SECONDS[unit] == 0)
        return f"every {self.every // _SECONDS[unit]}{unit}" + (f" at {self.at}" if self.at else "")


def rhythm(every: str, at: str) -> Rhythm:
    """Return what `--every` and `--at` say. Raises UsageError."""
    interval = re.fullmatch(r"([1-9][0-9]{0,4})([mhdw])", every.strip().lower())
    if not interval:
        raise UsageError(f"{every!r} is not an interval.", hint="Write a number and a unit: 15m, 2h, 1d, 1w.")
    seconds = int(interval[1]) * _SECONDS[interval[2]]
    if seconds > _LONGEST:
        raise UsageError(f"{every!r} is longer than a year.", hint="Give at most 366d.")
    if not at:
        return Rhythm(every=seconds)
    clock = re.fullmatch(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", at.strip())
    if not clock:
        raise UsageError(f"{at!r} is not a time of day.", hint="Write HH:MM, for example 07:00.")
    if seconds % _DAY:
        raise UsageError("--at goes with whole days.", hint=f"For example: --every 1d --at {at.strip()}")
    return Rhythm(every=seconds, at=f"{int(clock[1]):02}:{clock[2]}")
