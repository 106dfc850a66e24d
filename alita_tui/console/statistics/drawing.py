"""Figures, charts and table rows of the statistics as styled text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from alita_tui.console.widgets.braille import braille, spark
from alita_tui.console.widgets.styled_text import at_words, cut, wrap
from alita_tui.spine.ports.statistics import Advice, Anomaly, By, Line, Place, Report
from alita_tui.spine.text import one_line
from alita_tui.view import statistics as words

Sort = Literal["count", "ok", "median", "p95", "cost", "tokens", "name"]
SORTS: tuple[Sort, ...] = ("count", "ok", "median", "p95", "cost", "tokens", "name")

_GOOD, _BAD, _MUTED = "$alita-good", "$alita-bad", "$alita-muted"
_COLUMNS = (8, 7, 9, 9, 10, 12)
"""Widths of count, ok, median, p95, cost, tokens."""
_GUTTER = 7
_FAILING = 0.9


def totals(report: Report, width: int) -> Content:
    """Return the five figures over two lines."""
    room = max(width // 5, 12)
    names, values = Content(), Content()
    for name, value, change, good in words.totals_of(report):
        names += Content.styled(name.ljust(room), _MUTED)
        style = _MUTED if good is None else _GOOD if good else "$alita-warn"
        gap = "  " if cell_len(value + change) + 2 < room else " "
        shown = Content.assemble((value, "bold"), (gap, ""), (change, style))
        values += shown + " " * max(room - shown.cell_length, 0)
    return names + "\n" + values


class Chart(NamedTuple):
    """One line over the days."""

    title: str
    about: str
    values: Sequence[float | None]
    low: str
    high: str
    top: float
    marked: frozenset[int]
    tone: str
    note: str
    """What stands out."""


def charts(report: Report) -> tuple[Chart, ...]:
    """Return cost, reuse, answers and time, each day a value; a day without any is a gap."""
    days = report.days
    usd = [day.usd for day in days]
    slow = [day.median_s for day in days]
    reused = [day.reused / day.runs if day.runs else None for day in days]
    top_usd, top_s = (
        max(usd, default=0.0),
        max((seconds for seconds in slow if seconds is not None), default=0.0),
    )
    return (
        Chart("Cost per day", "" if top_usd else "nothing was paid", usd if top_usd else [], words.dollars(0),
              words.money(top_usd or None), top_usd, *_marks(report, "cost")),
        Chart("Reused per day", "share of all runs", reused, "0 %",
              "100 %", 1.0, frozenset(), _GOOD, ""),
        Chart("Answered", "", [day.answered / day.tasks if day.tasks else None for day in days], "0 %", "100 %", 1.0,
              *_marks(report, "answered", _GOOD)),
        Chart("Time to answer", "median", slow, "0 s", words.duration(top_s * 1000 if top_s else None), top_s,
              *_marks(report, "time")),
    )  # fmt: skip


def has_lines(report: Report) -> bool:
    """Return whether any chart has a value to draw."""
    return any(value is not None for chart in charts(report) for value in chart.values)


def _marks(report: Report, metric: str, tone: str = "$primary") -> tuple[frozenset[int], str, str]:
    anomalies = [anomaly for anomaly in report.anomalies if anomaly.what == metric]
    places = {day.day: index for index, day in enumerate(report.days)}
    note = f"▲ {anomalies[-1].day}: {anomalies[-1].text.partition(':')[0]}" if anomalies else ""
    return frozenset(places[anomaly.day] for anomaly in anomalies if anomaly.day in places), tone, note


def drawn_charts(report: Report, width: int, height: int, rows: int) -> Content:
    """Return the charts, two beside each other, each `height` lines high under its title; `rows` pairs of them."""
    half = (width - 2) // 2
    all_charts = charts(report)
    lines: list[Content] = []
    for first in range(0, 2 * rows, 2):
        left, right = (_chart(chart, half, height, report) for chart in all_charts[first : first + 2])
        lines += [
            left_line + " " * max(half - left_line.cell_length, 0) + "  " + right_line
            for left_line, right_line in zip(left, right, strict=True)
        ]
        lines.append(Content())
    return Content("\n").join(lines[:-1])


def _chart(chart: Chart, width: int, height: int, report: Report) -> list[Content]:
    title = Content.assemble((chart.title, "bold"), ("  ", ""))
    note = chart.note or chart.about
    if chart.note and title.cell_length + cell_len(chart.note) > width:
        # The day alone says where to look: the sentence stands whole under "What stands out".
        note = chart.note.partition(":")[0]
    title += Content.styled(at_words(note, width - title.cell_length), _BAD if chart.note else _MUTED)
    room = max(width - _GUTTER - 1, 8)
    body = braille(chart.values, room, height, 0.0, chart.top, chart.marked)
    lines = [title]
    for number, line in enumerate(body):
        label = chart.high if number == 0 else chart.low if number == height - 1 else ""
        shown = Content.styled(f"{cut(label, _GUTTER):>{_GUTTER}} ", _MUTED)
        for text, marked in line:
            shown += Content.styled(text, _BAD if marked else chart.tone)
        lines.append(shown)
    if report.days and height > 2:
        first, last = report.days[0].day, report.days[-1].day
        lines.append(Content.styled(" " * (_GUTTER + 1) + first + last.rjust(room - len(first)), _MUTED))
    return lines


def sorted_lines(report: Report, by: By, sort: Sort) -> list[Line]:
    """Return the lines of a table in an order; unknown values come last."""
    lines = [line for line in words.lines_of(report, by) if line.count or by != "day"]

    def key(line: Line) -> tuple[bool, float]:
        value = {
            "count": float(line.count), "ok": None if line.share is None else -line.share, "median": line.median_ms,
            "p95": line.p95_ms, "cost": line.usd, "tokens": float(line.tokens),
        }.get(sort, 0.0)  # fmt: skip
        return value is None, -(value or 0.0)

    if sort == "name" or (by == "day" and sort == "count"):
        return sorted(lines, key=lambda line: line.name, reverse=by == "day")
    return sorted(lines, key=key)


def shown_columns(width: int) -> int:
    """Return how many columns there is room for beside the name."""
    return 6 if width >= 100 else 5


def table_head(by: By, sort: Sort, width: int) -> Content:
    """Return the heading of the table; the column that sorts it is marked."""
    titles = (words.COUNTED[by], "ok", "median", "p95", "cost", "tokens")
    name = {"tool": "Tool", "model": "Model", "role": "Role", "kind": "Kind of failure", "day": "Day"}[by]
    shown = Content.styled(f" {name + (' ▾' if sort == 'name' else ''):<{_name_room(width)}}", _MUTED)
    for title, key, room in list(zip(titles, SORTS, _COLUMNS, strict=False))[: shown_columns(width)]:
        text = title + (" ▾" if sort == key else "")
        shown += Content.styled(f"{text:>{room}}", "bold" if sort == key else _MUTED)
    return shown


def table_row(line: Line, width: int, days: int) -> Content:
    """Return one row: name, figures, trend over the days, anomaly."""
    room = _name_room(width)
    name, *cells = words.row_of(line)
    shown = Content(f" {set_cell_size(cut(one_line(name), room), room)}")
    for number, (cell, column_width) in enumerate(
        list(zip(cells, _COLUMNS, strict=False))[: shown_columns(width)]
    ):
        failing = number == 1 and line.share is not None and line.share < _FAILING
        style = f"bold {_BAD}" if failing else _MUTED if cell == words.NONE else ""
        shown += Content.styled(f"{cell:>{column_width}}", style)
    left = width - shown.cell_length - 3
    drawn = spark(line.trend, min(days, 30, left)) if left >= 8 else ""
    shown += Content.styled(f"   {drawn}", _BAD if line.note else _MUTED)
    left = width - shown.cell_length - 3
    if line.note and left >= 12:
        shown += Content.styled(f"  ▲ {at_words(one_line(line.note, 300), left - 2)}", _BAD)
    return shown


def _name_room(width: int) -> int:
    return 22 if width < 100 else 28 if width < 160 else 40


def advice_row(advice: Advice, width: int) -> Content:
    """Return an advice, with the number of events behind it."""
    rests = f"  {len(advice.places)} rows"
    text = at_words(one_line(advice.text, 400), width - 4 - cell_len(rests))
    return Content.assemble((" → ", _GOOD), (text, ""), (rests, _MUTED))


def anomaly_row(anomaly: Anomaly, width: int) -> Content:
    """Return a day that stands out, over as many lines as it takes."""
    name = f"{anomaly.name}: " if anomaly.name else ""
    first, *rest = wrap(one_line(f"{anomaly.day}  {name}{anomaly.text}", 400), max(width - 4, 10))
    return Content("\n").join(
        [Content.assemble((" ▲ ", _BAD), first), *(Content(f"   {line}") for line in rest)]
    )


def place_row(place: Place, width: int) -> Content:
    """Return an event that a figure is based on."""
    return Content(f" {cut(one_line(place.session_id), width - 20)}  event {place.seq}")
