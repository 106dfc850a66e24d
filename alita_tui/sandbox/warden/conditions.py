"""The conditions of a trial: time zone, locale and clock, set before anything of the draft is imported."""

from __future__ import annotations

import datetime
import locale
import os
import time
from datetime import date as PlainDate
from datetime import datetime as PlainMoment
from typing import Any


class Unsupported(Exception):
    """The sandbox cannot provide the condition."""


def meet(conditions: dict[str, Any], *, foreign: bool = False) -> None:
    """Set time zone, locale and clock; the clock of a `foreign` program cannot be set. Raise Unsupported."""
    if conditions.get("time_zone"):
        _zone(conditions["time_zone"])
    if conditions.get("locale"):
        os.environ["LC_ALL"] = os.environ["LANG"] = conditions["locale"]
        try:
            locale.setlocale(locale.LC_ALL, conditions["locale"])
        except locale.Error:
            raise Unsupported(f"the sandbox has no locale {conditions['locale']}") from None
    if conditions.get("clock_shift_seconds") and foreign:
        raise Unsupported("the clock of a program cannot be shifted")
    if conditions.get("clock_shift_seconds"):
        _shift(float(conditions["clock_shift_seconds"]))


def _zone(name: str) -> None:
    if "/" in name and not os.path.exists(f"/usr/share/zoneinfo/{name}"):
        raise Unsupported(f"the sandbox has no time zone {name}")
    os.environ["TZ"] = name
    time.tzset()


def _shift(seconds: float) -> None:
    """Shift Python's clocks forwards or backwards; clocks that measure durations stay unchanged."""
    real = {
        name: getattr(time, name) for name in ("time", "time_ns", "localtime", "gmtime", "ctime", "asctime")
    }
    strftime, clock_gettime = time.strftime, time.clock_gettime
    nanoseconds = int(seconds * 1e9)

    def now() -> float:
        return float(real["time"]()) + seconds

    def with_default(convert: Any) -> Any:
        return lambda value=None: convert(now() if value is None else value)

    shifted: dict[str, Any] = {
        "time": now,
        "time_ns": lambda: int(real["time_ns"]()) + nanoseconds,
        "localtime": with_default(real["localtime"]),
        "gmtime": with_default(real["gmtime"]),
        "ctime": with_default(real["ctime"]),
        "asctime": lambda value=None: real["asctime"](time.localtime() if value is None else value),
        "strftime": lambda how, value=None: strftime(how, time.localtime() if value is None else value),
        "clock_gettime": lambda which: (
            clock_gettime(which) + (seconds if which == time.CLOCK_REALTIME else 0)
        ),
    }
    for name, replacement in shifted.items():
        setattr(time, name, replacement)
    _dates(now)


def _dates(now: Any) -> None:
    """Replace `date` and `datetime` by classes whose present is shifted."""

    class OfDates(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, PlainDate)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, PlainDate)

    class OfMoments(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, PlainMoment)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, PlainMoment)

    class date(PlainDate, metaclass=OfDates):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(now())

    class moment(PlainMoment, metaclass=OfMoments):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(now(), tz)

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(now())

        @classmethod
        def utcnow(cls) -> Any:
            return cls.fromtimestamp(now(), datetime.UTC).replace(tzinfo=None)

    for shifted, plain in ((date, PlainDate), (moment, PlainMoment)):
        shifted.__name__ = shifted.__qualname__ = plain.__name__
        shifted.__module__ = "datetime"
        setattr(datetime, plain.__name__, shifted)
