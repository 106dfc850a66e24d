"""A repeated task is due when its words say so, whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_tui.app.background.schedule import Rhythm, rhythm
from alita_tui.spine.errors import UsageError

BERLIN = ZoneInfo("Europe/Berlin")
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


def berlin(year: int, month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=BERLIN)


@pytest.mark.parametrize("words", [("1d", ""), ("15m", ""), ("2h", ""), ("1d", "07:00"), ("2w", "23:59")])
def test_a_rhythm_is_shown_as_it_was_typed(words: tuple[str, str]) -> None:
    every, at = words
    assert str(rhythm(every, at)) == f"every {every}" + (f" at {at}" if at else "")


@pytest.mark.parametrize(
    ("every", "at"),
    [("", ""), ("0m", ""), ("d", ""), ("1.5h", ""), ("-1d", ""), ("1y", ""), ("367d", ""), ("90m", "07:00"),
     ("1d", "24:00"), ("1d", "7"), ("1d", "07:60"), ("1d", "\u0661\u0662:00")],
)  # fmt: skip
def test_an_invalid_rhythm_is_refused_with_an_example(every: str, at: str) -> None:
    with pytest.raises(UsageError) as caught:
        rhythm(every, at)
    assert caught.value.hint


def test_every_day_at_seven_stays_at_seven_when_the_clocks_change() -> None:
    daily, made = rhythm("1d", "07:00"), berlin(2026, 3, 27, 9)
    seen = []
    moment = made
    for _ in range(4):
        moment = daily.following(made, moment, BERLIN)
        seen.append(moment.astimezone(BERLIN))
    assert seen == [berlin(2026, 3, day, 7) for day in (28, 29, 30, 31)]
    assert seen[1] - seen[0] == timedelta(hours=24) and (
        seen[1].astimezone(UTC) - seen[0].astimezone(UTC) == timedelta(hours=23)
    )


def test_a_time_that_the_clock_skips_or_repeats_comes_once_a_day() -> None:
    for at, day in (("02:30", berlin(2026, 3, 28, 12)), ("02:30", berlin(2026, 10, 24, 12))):
        nightly, moments = rhythm("1d", at), []
        moment = day
        for _ in range(3):
            moment = nightly.following(day, moment, BERLIN)
            moments.append(moment)
        days = [one.astimezone(BERLIN).date() for one in moments]
        assert len(set(days)) == 3 and days == sorted(days), moments


def test_a_task_missed_for_a_week_is_run_once() -> None:
    daily, made = rhythm("1d", "07:00"), berlin(2026, 6, 1, 12)
    now = berlin(2026, 6, 9, 6)
    due = daily.due(made, made, now, BERLIN)
    assert due == berlin(2026, 6, 8, 7)
    assert daily.due(made, due, now, BERLIN) is None
    assert daily.due(made, due, berlin(2026, 6, 9, 7), BERLIN) == berlin(2026, 6, 9, 7)


@given(
    made=MOMENTS,
    passed=st.timedeltas(timedelta(0), timedelta(days=40)),
    every=st.sampled_from([900, 3600, 86400]),
)
def test_an_interval_is_counted_from_its_creation(made: datetime, passed: timedelta, every: int) -> None:
    """By counting them one by one."""
    now = made + passed
    moments: list[datetime] = []
    while made + timedelta(seconds=every * (len(moments) + 1)) <= now:
        moments.append(made + timedelta(seconds=every * (len(moments) + 1)))
    wanted = moments[-1] if moments else None
    assert Rhythm(every=every).due(made, made, now) == wanted
    assert Rhythm(every=every).following(made, now) == (wanted or made) + timedelta(seconds=every)


@given(
    made=MOMENTS,
    passed=st.timedeltas(timedelta(0), timedelta(days=60)),
    days=st.integers(1, 10),
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
)
def test_a_daily_time_repeats_on_each_nth_day_from_the_first(
    made: datetime, passed: timedelta, days: int, hour: int, minute: int
) -> None:
    """By looking at the clock on the wall on each day."""
    now, rule = made + passed, Rhythm(every=days * 86_400, at=f"{hour:02}:{minute:02}")
    first = made.astimezone(BERLIN).date() - timedelta(days=1)
    wall = [
        datetime(day.year, day.month, day.day, hour, minute, tzinfo=BERLIN)
        for day in (first + timedelta(days=n) for n in range(90))
    ]
    after = [one for one in wall if one.astimezone(UTC) > made][::days]
    past = [one for one in after if one.astimezone(UTC) <= now]
    assert rule.due(made, made, now, BERLIN) == (past[-1].astimezone(UTC) if past else None)
    coming = next(one for one in after if one.astimezone(UTC) > now)
    assert rule.following(made, now, BERLIN) == coming.astimezone(UTC)
