"""`alita stats`: where money and time go, from the records of all sessions."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.statistics import estimate as estimated
from alita_tui.app.statistics import read_report
from alita_tui.cli.output import Json, json_document, print_result, table
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.statistics import By, Report
from alita_tui.spine.text import counted, one_line, reveal
from alita_tui.view import statistics as words

_MOST_DAYS = 3660


def stats(
    context: typer.Context,
    by: Annotated[
        By, typer.Option("--by", help="What the table is by; `kind` is the kind of failure.")
    ] = "tool",
    since: Annotated[
        str, typer.Option("--since", help="Days back (30d), weeks (4w), or `all`.", metavar="AGO")
    ] = "30d",
    csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    estimate: Annotated[
        str, typer.Option("--estimate", help="What this task would cost and take.", metavar="TASK")
    ] = "",
    otel: Annotated[
        str, typer.Option("--otel", help="Send spans and metrics to this OTLP/HTTP address.", metavar="URL")
    ] = "",
    texts: Annotated[
        bool, typer.Option("--texts", help="With --otel: send what tasks and answers say, too.")
    ] = False,
    json: Json = False,
) -> None:
    """Show where money and time go, what stands out, and what would help.

    All of it is derived from the sessions on this machine; nothing leaves it but by --otel, to the address given.
    """
    days = days_of(since)
    if json and csv:
        raise UsageError("--json and --csv exclude each other.", hint="Choose one.")
    if texts and not otel:
        raise UsageError("--texts goes with --otel alone.", hint="Add --otel URL.")
    app = AppContext.open(context.obj, strict=False)
    if otel:
        _send(app, otel, days, texts=texts)
        return
    if estimate:
        result = estimated(app, estimate, _progress)
        print_result(result, words.estimate_words(result), json=json)
        return
    report = read_report(app, days, _progress)
    if json:
        json_document(report)
    elif csv:
        sys.stdout.write(words.as_csv(words.lines_of(report, by), by))
    else:
        _show(report, by)
    if report.unreadable:
        typer.echo(words.unreadable_words(report), err=True)


def days_of(since: str) -> int | None:
    """Return how many days `30d`, `4w` or `all` are; None for all. Raises UsageError."""
    if since == "all":
        return None
    match = re.fullmatch(r"([1-9]\d{0,3})([dw]?)", since)
    days = int(match[1]) * (7 if match[2] == "w" else 1) if match else 0
    if not 1 <= days <= _MOST_DAYS:
        raise UsageError(
            f"{one_line(since, 40)!r} is not a time span.", hint=f"Write 30d, 4w or all; up to {_MOST_DAYS}d."
        )
    return days


def _progress(done: int, of: int) -> None:
    """Print the progress of reading on a terminal, if there are many sessions."""
    if of > 50 and sys.stderr.isatty():
        end = "\r" if done + 1 < of else "\r\x1b[K"
        sys.stderr.write(f"reading sessions: {done} of {of}{end}")
        sys.stderr.flush()


def _show(report: Report, by: By) -> None:
    since = f"{report.since} to {report.until}" if report.since else "everything"
    typer.echo(f"{since}, {counted(report.sessions, 'session')}")
    figures = [
        f"{name} {value}{f' ({change})' if change else ''}"
        for name, value, change, _ in words.totals_of(report)
    ]
    typer.echo("  ".join(figures))
    lines = words.lines_of(report, by)
    if lines:
        typer.echo()
        head = (by, words.COUNTED[by], "ok", "median", "p95", "cost", "tokens", "")
        table(head, ((*words.row_of(line), line.note) for line in lines))
    else:
        typer.echo(f"\n{words.NOTHING[by]}")
    if report.anomalies:
        typer.echo("\nstands out:")
        for anomaly in report.anomalies:
            name = f"{anomaly.name}: " if anomaly.name else ""
            typer.echo(f"  ! {anomaly.day}  {reveal(name)}{anomaly.text}\n      rule: {anomaly.rule}")
    if report.advice:
        typer.echo("\nwhat would help:")
        for advice in report.advice:
            sources = ", ".join(f"{place.session_id}:{place.seq}" for place in advice.places[:3])
            typer.echo(f"  {reveal(advice.text)}\n      {reveal(advice.command)}   (from {sources})")
    typer.echo(f"\n{words.accuracy_words(report.held)}")


def _send(app: AppContext, url: str, days: int | None, *, texts: bool) -> None:
    from alita_tui.app.telemetry import send

    sent = send(app, url, days, texts=texts, progress=_progress)
    spans, metrics = counted(sent.spans, "span"), counted(sent.metrics, "metric")
    typer.echo(f"sent {spans} and {metrics} of {counted(sent.sessions, 'session')} to {one_line(url)}")
