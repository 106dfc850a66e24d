"""A draft's self-tests as observed in the sandbox: cases, runs and output."""

from __future__ import annotations

from collections.abc import Sequence

from alita_tui.console.review.code import code_rows
from alita_tui.console.widgets.sheet import BLANK, Row, fact, flat, heading, say
from alita_tui.events import RunReport
from alita_tui.spine.text import neutralise, reveal
from alita_tui.state.build import Attempt


def tests(attempt: Attempt, *, log: bool, log_key: str) -> list[Row]:
    """Return each self-test and run; with `log` also their output and the tests' code, else the key that shows them."""
    reports = attempt.reports
    cases = reports[-1].cases if reports else ()
    good = sum(case.passed for case in cases)
    rows = heading("Self-tests", f"{good} of {len(cases)} passed" if cases else "")
    rows.append(
        Row(
            (
                (
                    "Edited by a person; the tests may still be the model's."
                    if attempt.author == "person"
                    else "Written by the same model that wrote the code.",
                    "muted",
                ),
            ),
            (("  ", ""),),
        )
    )
    if attempt.passed is None:
        rows.append(fact("", (("have not run", "bad"),)))
    elif not attempt.passed:
        rows.append(fact("failed", ((reveal(flat(attempt.problem)) or "see the log", "bad"),)))
    names = list(dict.fromkeys(case.name for report in reports for case in report.cases))
    for name in names:
        rows += _case(name, reports)
    for number, report in enumerate(reports, 1):
        rows.append(_run(number, report))
    rows += _granted(attempt)
    if log:
        rows += _log((*reports, *attempt.granted_reports))
        rows += [BLANK, *heading("Tests"), *code_rows(attempt.draft.tests, sources=False)]
    else:
        lines = sum(len(_output(report)) for report in (*reports, *attempt.granted_reports))
        rows.append(
            Row(
                (
                    (f"  log of {lines} lines and the tests' code", "muted"),
                    (f"  {log_key} shows them", "wait"),
                )
            )
        )
    return rows


def _granted(attempt: Attempt) -> list[Row]:
    """Return the results of the tests with the capabilities that a person granted."""
    reports = attempt.granted_reports
    if not reports:
        return []
    rows = [BLANK, *heading("Self-tests with what was granted")]
    rows.append(fact("granted", reveal(", ".join(attempt.granted.items))))
    if attempt.granted_problem:
        rows.append(fact("failed", ((reveal(flat(attempt.granted_problem)), "bad"),)))
    for name in dict.fromkeys(case.name for report in reports for case in report.cases):
        rows += _case(name, reports)
    return rows + [_run(number, report) for number, report in enumerate(reports, 1)]


def _case(name: str, reports: Sequence[RunReport]) -> list[Row]:
    runs = [case for report in reports for case in report.cases if case.name == name]
    passed = all(case.passed for case in runs) and len(runs) == len(reports)
    times = max((case.duration_ms for case in runs), default=0.0)
    good = sum(case.passed for case in runs)
    summary = f"  {good}/{len(reports)} runs, {times:.0f} ms"
    rows = [
        Row(
            ((reveal(name), ""), (summary, "muted")),
            (("  ✔ ", "good") if passed else ("  ✖ ", "bad"),),
        )
    ]
    message = next((case.message for case in runs if not case.passed and case.message), "")
    return rows + (say(neutralise(message).rstrip(), "bad", indent=6) if message else [])


def _run(number: int, report: RunReport) -> Row:
    parts = [f"{report.duration_ms:.0f} ms"]
    parts += [f"peak {report.peak_memory_bytes / 2**20:.0f} MiB"] if report.peak_memory_bytes else []
    parts += [f"exit code {report.exit_code}"] if report.exit_code is not None else []
    parts += [f"hit the {limit} limit" for limit in report.limits_hit]
    parts += [f"{stream} was cut" for stream in report.truncated]
    good = report.status == "ok" and not report.limits_hit
    return fact(
        f"run {number}", ((f"{report.status}  ", "good" if good else "bad"), (", ".join(parts), "muted"))
    )


def _output(report: RunReport) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for stream, text in (("stdout", report.stdout), ("stderr", report.stderr), ("error", report.error)):
        lines += [(stream, line) for line in neutralise(text).rstrip("\n").split("\n")] if text else []
    return lines


def _log(reports: Sequence[RunReport]) -> list[Row]:
    rows: list[Row] = []
    for number, report in enumerate(reports, 1):
        rows += [BLANK, *heading(f"Log of run {number}", "" if _output(report) else "nothing was printed")]
        for stream, line in _output(report):
            rows.append(
                Row(((line, "bad" if stream == "error" else ""),), ((f"  {stream:<7}", "muted"),), hard=True)
            )
    return rows
