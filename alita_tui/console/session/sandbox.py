"""The sandbox pane: what runs now, the last runs, and what limits them."""

from __future__ import annotations

from alita_tui.console.widgets.figures import parted
from alita_tui.console.widgets.sheet import BLANK, Row, Sheet, say
from alita_tui.events import SandboxStatus
from alita_tui.spine.text import one_line
from alita_tui.view.model import Live, SandboxRun, SessionView

_RUNS = 12
_BAR = 24
"""Cells of the bar of what runs."""


class SandboxPane(Sheet):
    """Shows what runs first, then finished runs, newest first."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drawn: object = None

    def advance(self, view: SessionView) -> None:
        """Draw a newer view."""
        live = view.live
        state = (view.sandbox, view.runs, live.output, live.work, live.work_detail, live.work_done, view.busy)
        if state == self._drawn:
            return
        self._drawn = state
        self.show(_rows(view), top=live.output is None)


def _rows(view: SessionView) -> list[Row]:
    status = view.sandbox
    if status is None:
        rows = say("Checking the sandbox …", "muted")
    elif not status.available:
        rows = say(one_line(status.problem), "warn") + say(one_line(status.hint), "muted")
    else:
        rows = []
    running = _running(view.live)
    rows += [BLANK, *running] if rows and running else running
    for run in reversed(view.runs[-_RUNS:]):
        rows += [*([BLANK] if rows else []), *_run(run)]
    if status is None or not status.available:
        return rows
    if rows:  # what runs and ran leads; what holds for all of it is one quiet line
        return [*_limits(status, short=True), BLANK, *rows]
    return [*_limits(status, short=view.busy), BLANK, *say("Nothing has run yet.", "muted")]


def _limits(status: SandboxStatus, *, short: bool) -> list[Row]:
    """Return the engine and the limits that it enforces, by number or by name."""
    strong = [one_line(row.resource) for row in status.enforcement if row.strong]
    weak = [one_line(row.resource) for row in status.enforcement if not row.strong]
    engine = one_line(status.engine)
    if short:
        count = f"{len(strong)} limits enforced" + (f", {len(weak)} approximate" if weak else "")
        return say(f"{engine} · {count}", "muted")
    rows = [Row(((engine, "muted"),))]
    if strong:
        rows.append(Row((("enforced ", "good"), (", ".join(strong), "muted"))))
    if weak:
        rows.append(Row((("approximate ", "warn"), (", ".join(weak), "muted"))))
    return rows


def _running(live: Live) -> list[Row]:
    """Return what runs at the moment: its output, or how far it is."""
    mark = (("▸ ", "wait"),)
    if live.output is not None:
        lines = live.output.text.rstrip().split("\n")[-40:]
        title = Row(((live.output.title, "strong"), ("  running", "wait")), mark)
        return [title, *(Row(((line, ""),), (("│ ", "muted"),)) for line in lines)]
    if not live.work:
        return []
    rows = [Row(((live.work, "strong"), ("  running", "wait")), mark)]
    if live.work_total:
        full, track = parted(live.work_done / live.work_total, _BAR)
        rows.append(Row(((full, "wait"), (track, "line")), (("  ", ""),)))
    if live.work_detail:
        rows.append(Row(((live.work_detail, "muted"),), (("  ", ""),)))
    return rows


def _run(run: SandboxRun) -> list[Row]:
    good = run.status == "ok" and all(passed for _, passed in run.cases)
    glyph, style = ("✓", "good") if good else ("✗", "bad")
    memory = f" · {run.peak_memory_bytes / 1_000_000:.0f} MB" if run.peak_memory_bytes else ""
    code = f" · exit {run.exit_code}" if run.exit_code else ""
    passed = sum(good for _, good in run.cases)
    ended = f"{passed} of {len(run.cases)} passed" if run.cases and run.status == "ok" else run.status
    rows = [
        Row(((run.title, "strong"),), ((f"{glyph} ", style),)),
        Row(((f"{ended}{code} · {run.duration_ms:.0f} ms{memory}", "muted"),), (("  ", ""),)),
    ]
    if run.limits_hit:
        rows.append(Row(((f"limit hit: {', '.join(run.limits_hit)}", "bad"),), (("  ", ""),)))
    rows += [
        Row(((name, "muted"),), (("  ", ""), ("✓ " if passed else "✗ ", "good" if passed else "bad")))
        for name, passed in run.cases
    ]
    for text, text_style in ((run.stdout, ""), (run.stderr, "warn")):
        lines = text.rstrip().split("\n")[-12:] if text.strip() else []
        rows += [Row(((line, text_style),), (("│ ", "muted"),)) for line in lines]
    if run.truncated:
        rows.append(Row((("output was cut at its cap", "warn"),), (("  ", ""),)))
    return rows
