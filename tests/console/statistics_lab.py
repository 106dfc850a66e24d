"""A month of sessions for the statistics screen: a day that cost too much, a tool that broke, names that are hostile."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

from alita_tui.spine.ports.statistics import Report
from alita_tui.statistics.report import period, report
from alita_tui.statistics.rows import Call, Run, SessionRows
from tests.statistics.simulated import records

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
_ODD = NOW.timestamp() - 17 * 86_400


@cache
def month(days: int | None = 30) -> Report:
    """The statistics as the screen gets them."""
    made = records(200, NOW, days=70, tasks=4, seed=5)
    calls = [
        Call(
            _ODD + n, 900 + n, -1, "toolsmith", "anthropic:large", "rate_limit" if n == 3 else "", 90_000, 0, 0.6,
            True, 900.0, "fx_rates",
        )
        for n in range(10)
    ]  # fmt: skip
    hostile = "名前 [b]bold[/b] \x1b[31mred\u202e"
    runs = [
        Run(_ODD + n, 800 + n, -1, "fx_rates", 1, "timeout" if n < 27 else "", 7_200.0, True)
        for n in range(30)
    ]
    runs += [Run(_ODD + 3600 * n, 700 + n, -1, hostile, 1, "", 3.0, True) for n in range(5)]
    odd = SessionRows(runs=runs, calls=calls)
    made.update([*(one.name for one in made.sessions), "odd"], [("odd", "20261104-101500-ab12", (1,), odd)])
    return report(made, period(NOW, days))
