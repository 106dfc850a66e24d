"""Figures of the statistics in words: shares, money, times and changes, and the tables of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from alita_tui.events import TaskEstimated
from alita_tui.spine.ports.statistics import By, Estimate, EstimateAccuracy, Line, Report
from alita_tui.spine.text import counted, one_line

NONE = "—"
COUNTED = {"tool": "runs", "model": "calls", "role": "calls", "kind": "count", "day": "tasks"}
"""Title of the second column, by the kind of table."""
NOTHING = {
    "tool": "No tool ran in this period.",
    "model": "No model was called in this period.",
    "role": "No model was called in this period.",
    "kind": "Nothing failed in this period.",
    "day": "No task ended in this period.",
}
"""Sentence in place of a table without rows, by the kind of table."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters that begin a formula in a spreadsheet."""


def lines_of(report: Report, by: By) -> tuple[Line, ...]:
    """Return the lines of a table."""
    match by:
        case "tool":
            return report.tools
        case "model":
            return report.models
        case "role":
            return report.roles
        case "kind":
            return report.kinds
        case "day":
            return tuple(
                Line(
                    name=day.day, count=day.tasks, judged=day.tasks, ok=day.answered, usd=day.usd or None,
                    median_ms=None if day.median_s is None else day.median_s * 1000,
                    p95_ms=None if day.p95_s is None else day.p95_s * 1000,
                    unpriced=day.unpriced, tokens=day.tokens, reused=day.reused, places=day.places,
                    note="; ".join(
                        f"{each.name} {each.text}".strip() for each in report.anomalies if each.day == day.day
                    ),
                )
                for day in report.days
            )  # fmt: skip


def percent(share: float | None) -> str:
    """Return a share in words: `94 %`. A share below 1 is never `100 %`, one above 0 never `0 %`."""
    if share is None:
        return NONE
    number = 99 if 0.99 < share < 1 else 1 if 0 < share < 0.01 else round(100 * share)
    return f"{number} %"


def money(usd: float | None, unpriced: int = 0) -> str:
    """Return a cost in words, with `>` before it if some calls have no known price."""
    if usd is None or (not usd and not unpriced):
        return NONE
    if not usd:
        return "no price"
    return f">{dollars(usd)}" if unpriced else dollars(usd)


def dollars(usd: float) -> str:
    """Return a cost to a cent; below ten cents to a hundredth of one."""
    return f"${usd:.4f}" if 0 < usd < 0.1 else f"${usd:,.2f}"


def duration(milliseconds: float | None) -> str:
    """Return a duration in words: `42 ms`, `1.2 s`, `3 min`, `2.5 h`."""
    if milliseconds is None or math.isnan(milliseconds):
        return NONE
    if milliseconds < 100:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def totals_of(report: Report) -> tuple[tuple[str, str, str, bool | None], ...]:
    """Return five figures, each as name, value, change since the previous period, and whether the change is good.

    The change is empty if the previous period has no figures; `None` means that it is neither good nor bad.
    """
    current, previous = report.totals, report.before
    current_runs, previous_runs = current.runs, previous.runs

    def ratio(value: float, earlier: float) -> str:
        change = round(100 * (value / earlier - 1)) if earlier else 0
        return f"{change:+d} %".replace("-", "−") if change else ""

    def points(value: float, total: float, earlier: float, earlier_total: float) -> tuple[str, bool | None]:
        change = round(100 * (value / total - earlier / earlier_total)) if total and earlier_total else 0
        return (f"{change:+d} pts".replace("-", "−"), change > 0) if change else ("", None)

    answered, answered_good = points(current.answered, current.tasks, previous.answered, previous.tasks)
    reuse, reuse_good = points(current.reused, current_runs, previous.reused, previous_runs)
    slower = (
        (current.median_s or 0) - (previous.median_s or 0) if current.median_s and previous.median_s else 0
    )
    time = f"{slower:+.0f} s".replace("-", "−") if abs(slower) >= 1 else ""
    spent = ratio(current.usd, previous.usd)
    return (
        ("spent", money(current.usd, current.unpriced), spent, current.usd < previous.usd if spent else None),
        ("tasks", f"{current.tasks:,}", ratio(current.tasks, previous.tasks), None),
        (
            "answered",
            percent(current.answered / current.tasks if current.tasks else None),
            answered,
            answered_good,
        ),
        ("reused runs", percent(current.reused / current.runs if current.runs else None), reuse, reuse_good),
        (
            "median",
            duration(None if current.median_s is None else current.median_s * 1000),
            time,
            slower < 0 if time else None,
        ),
    )


def row_of(line: Line) -> tuple[str, ...]:
    """Return the cells of a table's line: name, count, good share, median, 95th percentile, cost, tokens."""
    return (
        line.name,
        f"{line.count:,}",
        percent(line.share),
        duration(line.median_ms),
        duration(line.p95_ms),
        money(line.usd, line.unpriced),
        f"{line.tokens:,}" if line.tokens else NONE,
    )


def estimate_words(estimate: Estimate) -> str:
    """Return an estimate in one sentence."""
    if not estimate.count:
        return "No estimate yet: it takes nine tasks that ended."
    cost, time = estimate.usd, estimate.seconds
    parts = []
    if cost is not None:
        parts.append(f"{dollars(cost[0])} to {dollars(cost[2])} (mostly about {dollars(cost[1])})")
    if time is not None:
        low, middle, high = (duration(1000 * seconds) for seconds in time)
        parts.append(f"{low} to {high} (mostly about {middle})")
    evidence = "alike ones" if estimate.alike else "tasks of all kinds, as too few are alike"
    figures = " and ".join(parts) or "nothing known of cost and time"
    return f"8 of 10 such tasks take {figures}. From {estimate.count} {evidence}."


def estimated_title(event: TaskEstimated) -> str:
    """Return a recorded estimate in one line."""
    spans = (event.usd, dollars), (event.seconds, lambda value: duration(1000 * value))
    parts = [f"{write(span[0])} to {write(span[2])}" for span, write in spans if span is not None]
    evidence = "alike tasks" if event.alike else "tasks of all kinds"
    return f"8 of 10 {evidence} took {', '.join(parts)} ({event.tasks} known)"


def accuracy_words(accuracy: EstimateAccuracy) -> str:
    """Return how often estimates held, in one sentence."""
    if not accuracy.tasks:
        return "No estimates could be checked yet: it takes nine tasks that ended."
    parts = []
    if accuracy.usd_of:
        parts.append(f"cost {accuracy.usd_in} of {accuracy.usd_of}")
    if accuracy.seconds_of:
        parts.append(f"time {accuracy.seconds_in} of {accuracy.seconds_of}")
    return f"Estimates held: {', '.join(parts)} (8 of 10 is what they are made for)"


def as_csv(lines: Sequence[Line], by: By) -> str:
    """Return a table as CSV: plain numbers, empty if unknown, and no text that a spreadsheet would run."""
    import csv  # imported here, because this module is loaded for the first frame, which needs no CSV
    import io

    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(
        (
            by,
            COUNTED[by],
            "judged",
            "ok",
            "median_ms",
            "p95_ms",
            "usd",
            "unpriced_calls",
            "tokens",
            "reused",
            "note",
        )
    )
    for line in lines:
        figures = (
            line.count,
            line.judged,
            line.ok,
            line.median_ms,
            line.p95_ms,
            line.usd,
            line.unpriced,
            line.tokens,
            line.reused,
        )
        writer.writerow(
            (_cell(line.name), *("" if figure is None else figure for figure in figures), _cell(line.note))
        )
    return output.getvalue()


def _cell(text: str) -> str:
    flat = one_line(text, 1000)
    return f"'{flat}" if flat.startswith(_FORMULA) else str(flat)


def unreadable_words(report: Report) -> str:
    """Return a sentence naming the sessions that could not be read completely; empty if there are none."""
    if not report.unreadable:
        return ""
    names = ", ".join(one_line(name, 60) for name in report.unreadable[:3])
    ellipsis = ", …" if len(report.unreadable) > 3 else ""
    count = counted(len(report.unreadable), "session")
    return f"{count} could not be read whole, so figures are missing: {names}{ellipsis}. See: alita sessions verify"
