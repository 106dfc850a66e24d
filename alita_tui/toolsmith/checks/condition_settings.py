"""The conditions under which a draft is tried: clock, time zone, locale, hash seed, order of the tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec.structs import replace

from alita_tui.events import Value
from alita_tui.runtimes.rules import rule
from alita_tui.spine.judge_plan import Conditions

Cause = Literal["clock", "zone", "locale", "seed", "order"]

# POSIX notation, which needs no zone files; the first has summer time and a half-hour offset.
_ZONES = {"Adelaide (UTC+9:30)": "ACST-9:30ACDT,M10.1.0,M4.1.0", "Pago Pago (UTC-11)": "SST11"}
_CLOCKS = re.compile(r"\b(time|date|datetime|calendar|clock\w*|\w+time)\b")


class Setting(Value, frozen=True):
    """One or several conditions, and their label."""

    label: str
    causes: tuple[Cause, ...]
    conditions: Conditions
    tests: bool = True
    """False if only the calls are tried."""


def singles(now: datetime) -> tuple[Setting, ...]:
    """Return each condition by itself."""
    settings = [
        Setting(
            label=_on(when),
            causes=("clock",),
            conditions=Conditions(clock_shift_seconds=(when - now).total_seconds()),
        )
        for when in _moments(now)
    ]
    settings += [
        Setting(label=f"time zone {name}", causes=("zone",), conditions=Conditions(time_zone=zone))
        for name, zone in _ZONES.items()
    ]
    settings += [
        Setting(label="locale C (ASCII)", causes=("locale",), conditions=Conditions(locale="C")),
        *(
            Setting(label="another hash seed", causes=("seed",), conditions=Conditions(hash_seed=n))
            for n in (1, 2)
        ),
        *(
            Setting(
                label="another order of the tests", causes=("order",), conditions=Conditions(shuffle_seed=n)
            )
            for n in (1, 2)
        ),
    ]
    return tuple(settings)


def bundles(now: datetime) -> tuple[Setting, ...]:
    """Return all of `singles` combined into a few runs; the cause is searched for only if something differs.

    A hash seed needs an interpreter of its own, so not every run has one.
    """
    soon, later, far = ((when - now).total_seconds() for when in _moments(now))
    east, west = _ZONES.values()
    first = Conditions(clock_shift_seconds=soon, time_zone=east, shuffle_seed=1)
    second = Conditions(clock_shift_seconds=later, time_zone=west, hash_seed=2, shuffle_seed=2, locale="C")
    third = Conditions(clock_shift_seconds=far, hash_seed=1)
    return (
        Setting(label="", causes=("clock", "zone", "order"), conditions=first),
        Setting(label="", causes=("clock", "zone", "order", "seed", "locale"), conditions=second),
        Setting(label="", causes=("clock", "seed"), conditions=third, tests=False),
    )


def meetable(settings: Sequence[Setting], language: str) -> list[Setting]:
    """Return the settings that the sandbox can apply to a language: clock and hash seed only to Python."""
    if language == "python":
        return list(settings)
    possible = []
    for setting in settings:
        causes = tuple(cause for cause in setting.causes if cause not in ("clock", "seed"))
        plain = replace(setting.conditions, clock_shift_seconds=0.0, hash_seed=None)
        if causes:
            possible.append(replace(setting, causes=causes, conditions=plain))
    return possible


def knows_clocks(code: str) -> bool:
    """Return True if code mentions dates, times or clocks."""
    return _CLOCKS.search(code) is not None


def moments(code: str, now: datetime) -> Iterator[Setting]:
    """Yield more dates and hours to try on code that knows the clock; none for other code."""
    if not knows_clocks(code):
        return
    year = now.year + (now.month == 12)
    days = [now + timedelta(days=400 + n) for n in range(1, 8)]  # each day of a week
    days += [datetime(year, *day, 12, tzinfo=UTC) for day in ((12, 24), (12, 25), (12, 31))]
    days += [datetime(year + 1, 4, 1, 9, tzinfo=UTC), datetime(2028, 2, 29, 12, tzinfo=UTC)]
    days += [now.replace(hour=hour, minute=30) + timedelta(days=9) for hour in (0, 4, 13, 23)]
    for when in days:
        shift = Conditions(clock_shift_seconds=(when - now).total_seconds())
        yield Setting(label=_on(when), causes=("clock",), conditions=shift, tests=False)


def excused(cause: Cause | Literal["chance"], purpose: str) -> bool:
    """Return True if a tool of this purpose is expected to answer differently."""
    match cause:
        case "clock":
            return _purpose_matches(purpose, "now")
        case "zone":
            return _purpose_matches(purpose, "now") or _purpose_matches(purpose, "local")
        case "chance":
            return _purpose_matches(purpose, "chance") or _purpose_matches(purpose, "now")
        case _:
            return False


def _purpose_matches(purpose: str, key: str) -> bool:
    return rule("purpose", key, re.IGNORECASE).search(purpose) is not None


def _moments(now: datetime) -> tuple[datetime, datetime, datetime]:
    """Return three moments: soon, after the next new year; in 400 days; and beyond 32-bit time."""
    turn = datetime(now.year + 1, 1, 2, 3, 4, tzinfo=UTC)
    soon = turn if turn - now > timedelta(days=3) else turn.replace(year=turn.year + 1)
    return soon, now + timedelta(days=400), datetime(2038, 3, 1, 12, tzinfo=UTC)


def _on(when: datetime) -> str:
    return f"the clock at {when:%Y-%m-%d %H:%M}"
