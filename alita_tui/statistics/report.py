"""The statistics of a period, from the rows of all sessions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from alita_tui.spine.ports.statistics import Anomaly, Day, EstimateAccuracy, Line, Place, Report, Totals
from alita_tui.statistics import anomalies
from alita_tui.statistics.advice import advice
from alita_tui.statistics.days import day_numbers, day_of, name_of
from alita_tui.statistics.estimates import Estimator, task_usd
from alita_tui.statistics.records import Column, Records

TREND_DAYS = 30
"""Days that are shown one by one in a report of everything."""
_MOST_DAYS = 3660
_MOST_LINES = 500
_MOST_PLACES = 20
_NOT_JUDGED = ("interrupted", "sandbox")
"""Reasons why a run ended that are no evidence about its tool."""
_OPEN = ("", "parked")
"""Outcomes of tasks that have not ended."""


class Period(NamedTuple):
    """The days of a report, as days since 1970."""

    first: int
    last: int
    whole: bool = False
    """True if everything counts, also outside of these days."""

    def has(self, day: Column) -> Column:
        """Return for each row whether its day is in the period."""
        return np.ones(len(day), bool) if self.whole else (day >= self.first) & (day <= self.last)

    @property
    def earlier(self) -> Period:
        """The preceding period of the same length."""
        return Period(2 * self.first - self.last - 1, self.first - 1)


def period(now: datetime, days: int | None) -> Period:
    """Return this many days up to today; for None everything, with the last 30 days shown one by one."""
    today = day_of(now)
    return Period(today - (min(days or TREND_DAYS, _MOST_DAYS) - 1), today, whole=days is None)


def report(
    records: Records, span: Period, *, unreadable: Sequence[str] = (), estimates: bool = True
) -> Report:
    """Return the statistics of a period; without `estimates` it is not computed how often estimates held."""
    return _Reporter(records, span).report(tuple(unreadable), estimates=estimates)


class _Reporter:
    def __init__(self, records: Records, span: Period) -> None:
        self._records = records
        self._span = span
        self._tables = records.tables
        self._day = {
            name: day_numbers(self._tables[name]["at"]) for name in ("runs", "calls", "builds", "tasks")
        }
        self._owner = {name: records.owners(name) for name in self._day}
        self._usd = task_usd(records)
        names = records.names
        self._not_judged = self._codes(_NOT_JUDGED)
        self._open = self._codes(_OPEN)
        self._answered = names.index("answered") if "answered" in names else -1

    def _codes(self, names: Sequence[str]) -> list[int]:
        return [number for number, name in enumerate(self._records.names) if name in names]

    def report(self, unreadable: tuple[str, ...], *, estimates: bool) -> Report:
        span = self._span
        tools, models, roles, kinds = (
            self._tools(),
            self._calls_by("model"),
            self._calls_by("role"),
            self._kinds(),
        )
        days = self._days()
        anomalies_found = self._anomalies(days)
        lines = {
            tool.name: "; ".join(
                f"{each.day}: {each.text}" for each in anomalies_found if each.name == tool.name
            )
            for tool in tools
        }
        tools = tuple(_with_note(tool, lines[tool.name]) for tool in tools)
        totals = self._totals(span)
        return Report(
            since="" if span.whole else name_of(span.first),
            until=name_of(span.last),
            sessions=len(self._records.sessions),
            unreadable=unreadable,
            totals=totals,
            before=Totals() if span.whole else self._totals(span.earlier),
            days=days,
            tools=tools,
            models=models,
            roles=roles,
            kinds=kinds,
            anomalies=tuple(anomalies_found),
            advice=advice(totals, tools, models, kinds, anomalies_found),
            held=Estimator(self._records).accuracy() if estimates else EstimateAccuracy(),
        )

    # --- totals and days ----------------------------------------------------------------------------

    def _ended(self, span: Period) -> Column:
        tasks = self._tables["tasks"]
        ended: Column = (
            span.has(self._day["tasks"]) & (tasks["end"] > 0) & ~np.isin(tasks["outcome"], self._open)
        )
        return ended

    def _totals(self, span: Period) -> Totals:
        runs, calls, builds, tasks = (self._tables[name] for name in ("runs", "calls", "builds", "tasks"))
        ended = self._ended(span)
        answered = ended & (tasks["outcome"] == self._answered)
        ran = span.has(self._day["runs"])
        judged = ran & ~np.isin(runs["kind"], self._not_judged)
        calls_made = span.has(self._day["calls"])
        usd = calls["usd"][calls_made]
        seconds = tasks["seconds"][answered]
        seconds = seconds[~np.isnan(seconds)]
        built = span.has(self._day["builds"]) & (builds["kind"] == 0)
        return Totals(
            tasks=int(ended.sum()),
            answered=int(answered.sum()),
            runs=int(ran.sum()),
            runs_ok=int((judged & (runs["kind"] == 0)).sum()),
            runs_judged=int(judged.sum()),
            reused=int((ran & runs["reused"]).sum()),
            calls=int(calls_made.sum()),
            tokens=int(calls["tokens"][calls_made].sum()),
            usd=float(np.nansum(usd)),
            unpriced=int(np.isnan(usd).sum()),
            builds=int(built.sum()),
            median_s=float(np.median(seconds)) if len(seconds) else None,
        )

    def _days(self) -> tuple[Day, ...]:
        first, count = self._span.first, self._span.last - self._span.first + 1
        tasks, runs, calls = self._tables["tasks"], self._tables["runs"], self._tables["calls"]

        def per_day(table: str, rows: Column, weights: Column | None = None) -> list[float]:
            index = self._day[table] - first
            rows = rows & (index >= 0) & (index < count)
            sums = np.bincount(index[rows], None if weights is None else weights[rows], minlength=count)
            return [float(value) for value in sums]

        all_runs = np.ones(len(runs), bool)
        ended = self._ended(self._span)
        answered = ended & (tasks["outcome"] == self._answered)
        all_calls = np.ones(len(calls), bool)
        columns = (
            per_day("calls", all_calls, np.nan_to_num(calls["usd"])),
            per_day("calls", np.isnan(calls["usd"])),
            per_day("calls", all_calls, calls["tokens"]),
            per_day("tasks", ended),
            per_day("tasks", answered),
            per_day("runs", all_runs),
            per_day("runs", all_runs & runs["reused"]),
        )
        times = self._times(np.flatnonzero(answered & ~np.isnan(tasks["seconds"])), first, count)
        places = self._places_of_days(ended, answered, first, count)
        return tuple(
            Day(
                name_of(first + index), usd=usd, unpriced=int(unpriced), tokens=int(tokens), tasks=int(all_tasks),
                answered=int(answers), runs=int(ran), reused=int(reused), median_s=times[index][0],
                p95_s=times[index][1], places=places[index],
            )
            for index, (usd, unpriced, tokens, all_tasks, answers, ran, reused) in enumerate(zip(*columns, strict=True))
        )  # fmt: skip

    def _times(self, rows: Column, first: int, count: int) -> list[tuple[float | None, float | None]]:
        """Return median and 95th percentile of the tasks' seconds, for each day."""
        seconds = self._tables["tasks"]["seconds"]
        order = rows[np.lexsort((seconds[rows], self._day["tasks"][rows]))]
        times: list[tuple[float | None, float | None]] = []
        for tasks_of_day in self._by_day(order, first, count):
            durations = seconds[tasks_of_day]
            times.append(
                (float(np.median(durations)), _rank(durations, 0.95)) if len(tasks_of_day) else (None, None)
            )
        return times

    def _by_day(self, order: Column, first: int, count: int) -> Iterator[Column]:
        """Yield the tasks of each day, from tasks that are sorted by day."""
        edges = np.searchsorted(self._day["tasks"][order], np.arange(first, first + count + 1))
        return (order[start:end] for start, end in pairwise(edges.tolist()))

    def _places_of_days(
        self, ended: Column, answered: Column, first: int, count: int
    ) -> list[tuple[Place, ...]]:
        """Return the newest tasks without an answer, or if all were answered the newest tasks, for each day."""
        rows = np.flatnonzero(ended)
        order = rows[
            np.lexsort((self._tables["tasks"]["at"][rows], answered[rows], self._day["tasks"][rows]))
        ]
        places = []
        for tasks_of_day in self._by_day(order, first, count):
            lost = int(np.searchsorted(answered[tasks_of_day], True))  # unanswered tasks are sorted first
            places.append(
                self._places("tasks", (tasks_of_day[:lost] if lost else tasks_of_day)[::-1][:_MOST_PLACES])
            )
        return places

    # --- tables -------------------------------------------------------------------------------------

    def _tools(self) -> tuple[Line, ...]:
        runs, calls = self._tables["runs"], self._tables["calls"]
        rows = np.flatnonzero(self._span.has(self._day["runs"]))
        paid = np.flatnonzero(self._span.has(self._day["calls"]) & (calls["tool"] > 0))
        groups = _grouped(
            runs["tool"][rows], runs["kind"][rows], runs["ms"][rows], runs["at"][rows],
            judged=~np.isin(runs["kind"][rows], self._not_judged), trend=self._trend("runs", rows),
        )  # fmt: skip
        size = len(self._records.names)
        usd = np.bincount(calls["tool"][paid], np.nan_to_num(calls["usd"][paid]), size)
        unpriced = np.bincount(calls["tool"][paid], np.isnan(calls["usd"][paid]), size)
        tokens = np.bincount(calls["tool"][paid], calls["tokens"][paid], size)
        reused = np.bincount(runs["tool"][rows], runs["reused"][rows], size)
        paid_calls = np.bincount(calls["tool"][paid], minlength=size)
        return tuple(
            self._line(
                group, "runs", rows, usd=float(usd[group.code]) if paid_calls[group.code] else None,
                unpriced=int(unpriced[group.code]), tokens=int(tokens[group.code]), reused=int(reused[group.code]),
            )
            for group in groups
        )  # fmt: skip

    def _calls_by(self, column: str) -> tuple[Line, ...]:
        calls = self._tables["calls"]
        rows = np.flatnonzero(self._span.has(self._day["calls"]) & (calls[column] > 0))
        groups = _grouped(
            calls[column][rows], calls["kind"][rows], calls["ms"][rows], calls["at"][rows],
            judged=np.ones(len(rows), bool), trend=self._trend("calls", rows),
        )  # fmt: skip
        size = len(self._records.names)
        codes = calls[column][rows]
        usd = np.bincount(codes, np.nan_to_num(calls["usd"][rows]), size)
        unpriced = np.bincount(codes, np.isnan(calls["usd"][rows]), size)
        tokens = np.bincount(codes, calls["tokens"][rows], size)
        lines = [
            self._line(
                group, "calls", rows, usd=float(usd[group.code]), unpriced=int(unpriced[group.code]),
                tokens=int(tokens[group.code]),
            )
            for group in groups
        ]  # fmt: skip
        return tuple(sorted(lines, key=lambda line: (-(line.usd or 0.0), -line.count, line.name)))

    def _kinds(self) -> tuple[Line, ...]:
        lines: list[Line] = []
        for prefix, table, column in (
            ("task", "tasks", "outcome"), ("run", "runs", "kind"), ("model", "calls", "kind"),
            ("build", "builds", "kind"),
        ):  # fmt: skip
            rows = np.flatnonzero(self._span.has(self._day[table]))
            codes = self._tables[table][column][rows]
            failed = (codes > 0) & ~np.isin(codes, [*self._open, self._answered])
            rows = rows[failed]
            usd = np.nan_to_num(self._usd[rows]) if table == "tasks" else np.zeros(len(rows))
            durations = self._durations(table, rows)
            groups = _grouped(
                codes[failed], codes[failed], durations, self._tables[table]["at"][rows],
                judged=np.zeros(len(rows), bool), trend=self._trend(table, rows),
            )  # fmt: skip
            cost = np.bincount(codes[failed], usd, len(self._records.names))
            for group in groups:
                line = self._line(
                    group,
                    table,
                    rows,
                    usd=float(cost[group.code]) if table == "tasks" else None,
                    prefix=f"{prefix}: ",
                )
                lines.append(line)
        return tuple(sorted(lines, key=lambda line: (-line.count, line.name)))

    def _durations(self, table: str, rows: Column) -> Column:
        if table == "builds":
            return np.full(len(rows), math.nan)
        if table == "tasks":
            return self._tables[table]["seconds"][rows] * 1000
        return self._tables[table]["ms"][rows]

    def _trend(self, table: str, rows: Column) -> Callable[[Column], tuple[int, ...]]:
        first, count = self._span.first, self._span.last - self._span.first + 1

        def trend(selected: Column) -> tuple[int, ...]:
            offsets = self._day[table][rows[selected]] - first
            offsets = offsets[(offsets >= 0) & (offsets < count)]
            return tuple(np.bincount(offsets, minlength=count).tolist())

        return trend

    def _line(
        self, group: _Group, table: str, rows: Column, *, usd: float | None, unpriced: int = 0, tokens: int = 0,
        reused: int = 0, prefix: str = "",
    ) -> Line:  # fmt: skip
        return Line(
            name=prefix + self._records.names[group.code].replace("_", " " if prefix else "_"),
            count=group.rows_in,
            judged=group.judged,
            ok=group.ok,
            median_ms=group.median,
            p95_ms=group.p95,
            usd=usd,
            unpriced=unpriced,
            tokens=tokens,
            reused=reused,
            trend=group.trend,
            places=self._places(table, rows[group.rows]),
        )

    def _places(self, table: str, rows: Column) -> tuple[Place, ...]:
        owners, seqs = self._owner[table], self._tables[table]["end" if table == "tasks" else "seq"]
        sessions = self._records.sessions
        return tuple(Place(sessions[int(owners[row])].session_id, int(seqs[row])) for row in rows.tolist())

    # --- unusual days -------------------------------------------------------------------------------

    def _anomalies(self, days: tuple[Day, ...]) -> list[Anomaly]:
        runs, tasks, calls = self._tables["runs"], self._tables["tasks"], self._tables["calls"]
        period_days = range(self._span.first, self._span.last + 1)
        usd = np.array([day.usd for day in days])
        seconds = np.array([math.nan if day.median_s is None else day.median_s for day in days])
        answered = np.array([day.answered for day in days])

        def dearest(day: int) -> tuple[Place, ...]:
            rows = np.flatnonzero(self._day["calls"] == day)
            return self._places("calls", rows[np.argsort(-np.nan_to_num(calls["usd"][rows]))][:_MOST_PLACES])

        def slowest(day: int) -> tuple[Place, ...]:
            rows = np.flatnonzero((self._day["tasks"] == day) & (tasks["end"] > 0))
            return self._places(
                "tasks", rows[np.argsort(-np.nan_to_num(tasks["seconds"][rows]))][:_MOST_PLACES]
            )

        ended = np.flatnonzero(self._ended(self._span))
        judged = np.flatnonzero(self._span.has(self._day["runs"]) & ~np.isin(runs["kind"], self._not_judged))
        tasks_of_days = anomalies.Counted(
            self._day["tasks"][ended],
            tasks["outcome"][ended] != self._answered,
            lambda rows: self._places("tasks", ended[rows][-_MOST_PLACES:]),
        )
        runs_of_tools = anomalies.Counted(
            self._day["runs"][judged],
            runs["kind"][judged] > 0,
            lambda rows: self._places("runs", judged[rows][-_MOST_PLACES:]),
            owner=runs["tool"][judged],
        )
        anomalies_found = [
            *anomalies.cost_days(period_days, usd, dearest),
            *anomalies.slow_days(period_days, seconds, answered, slowest),
            *anomalies.unanswered_days(tasks_of_days),
            *anomalies.failing_tools(runs_of_tools, lambda code: self._records.names[code]),
        ]
        return sorted(anomalies_found, key=lambda anomaly: (anomaly.day, anomaly.what, anomaly.name))


class _Group(NamedTuple):
    code: int
    rows_in: int
    judged: int
    ok: int
    median: float | None
    p95: float | None
    trend: tuple[int, ...]
    rows: Column


def _grouped(
    codes: Column,
    kinds: Column,
    ms: Column,
    times: Column,
    *,
    judged: Column,
    trend: Callable[[Column], tuple[int, ...]],
) -> list[_Group]:
    """Return the groups of rows with the same code, largest first."""
    order = np.argsort(codes, kind="stable")
    values, starts, counts = np.unique(codes[order], return_index=True, return_counts=True)
    groups = []
    for index in np.argsort(-counts, kind="stable")[:_MOST_LINES].tolist():
        rows = order[starts[index] : starts[index] + counts[index]]
        durations = ms[rows]
        durations = np.sort(durations[~np.isnan(durations)])
        failures = rows[kinds[rows] > 0]
        newest = failures if len(failures) else rows
        newest = newest[np.argsort(times[newest], kind="stable")][::-1][:_MOST_PLACES]
        groups.append(
            _Group(
                code=int(values[index]),
                rows_in=int(counts[index]),
                judged=int(judged[rows].sum()),
                ok=int((judged[rows] & (kinds[rows] == 0)).sum()),
                median=_rank(durations, 0.5),
                p95=_rank(durations, 0.95),
                trend=trend(rows),
                rows=newest,
            )
        )
    return groups


def _rank(ordered: Column, share: float) -> float | None:
    """Return a quantile of an ordered sample by nearest rank; `share` is from 0 to 1. None for an empty sample."""
    if not len(ordered):
        return None
    return float(ordered[min(max(math.ceil(share * len(ordered)) - 1, 0), len(ordered) - 1)])


def _with_note(line: Line, note: str) -> Line:
    return replace(line, note=note) if note else line
