"""The statistics of 100,000 runs in 2,000 sessions: processor time of a report when nothing changed, and of the first."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from alita_tui.app.context import AppContext, close_all
from alita_tui.app.statistics import read_report
from tests.statistics.simulated import envelopes

Row = Callable[..., dict[str, float | str | None]]
SESSIONS, TASKS = 2_000, 14
_DAYS = 120


def stats(results: dict[str, dict[str, float | str | None]], row: Row, sessions: int = SESSIONS) -> None:
    """Milliseconds of the processor for a report whose rows are kept, and seconds until they are for the first time."""
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as folder:
        app = AppContext.open(Path(folder))
        for number in range(sessions):
            start = now - timedelta(days=_DAYS * (1 - number / sessions))
            app.sessions.add(f"s{number:05}", envelopes(f"s{number:05}", start, tasks=TASKS))
        began = time.process_time()
        first = read_report(app, None)
        cold = time.process_time() - began
        took = []
        for _ in range(7):
            began = time.process_time()
            read_report(app, 30)
            took.append((time.process_time() - began) * 1000)
        close_all()
    scale = 100_000 / max(first.totals.runs, 1)
    results["stats.runs"] = row(first.totals.runs, "runs")
    results["stats.100k_runs_ms"] = row(statistics.median(took) * max(scale, 1.0), "ms CPU")
    results["stats.first_read_s"] = row(cold, "s CPU")
