"""The sandbox pane: engine, live output and the last runs."""

from __future__ import annotations

from alita_tui.console.widgets.sheet import Row, Sheet, say
from alita_tui.spine.text import one_line
from alita_tui.view.model import SandboxRun, SessionView

_RUNS = 12


class SandboxPane(Sheet):
    """Shows live output first, then runs, newest first."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drawn: object = None

    def advance(self, view: SessionView) -> None:
        """Draw a newer view."""
        state = (view.sandbox, view.runs, view.live.output, view.live.work)
        if state == self._drawn:
            return
        self._drawn = state
        self.show(_rows(view), top=view.live.output is None)


def _rows(view: SessionView) -> list[Row]:
    rows: list[Row] = []
    status = view.sandbox
    if status is None:
        rows += say("Checking the sandbox …", "muted")
    elif not status.available:
        rows += say(one_line(status.problem), "warn") + say(one_line(status.hint), "muted")
    else:
        held = [one_line(row.resource) for row in status.enforcement if row.strong]
        weak = [one_line(row.resource) for row in status.enforcement if not row.strong]
        rows.append(Row(((one_line(status.engine), "muted"),)))
        if view.runs or view.live.output is not None:
            limits = f"{len(held)} limits enforced" + (f", {len(weak)} approximate" if weak else "")
            rows += say(limits, "muted")
            held = weak = []
        if held:
            rows.append(Row((("enforced ", "good"), (", ".join(held), "muted"))))
        if weak:
            rows.append(Row((("approximate ", "warn"), (", ".join(weak), "muted"))))
    live = view.live
    if live.output is not None:
        rows += [Row(), Row(((live.output.title, "strong"), ("  running", "wait")), (("▸ ", "wait"),))]
        rows += [
            Row(((line, ""),), (("│ ", "muted"),)) for line in live.output.text.rstrip().split("\n")[-40:]
        ]
    for run in reversed(view.runs[-_RUNS:]):
        rows += [Row(), *_run(run)]
    if not view.runs and live.output is None and status is not None and status.available:
        rows += [Row(), *say("Nothing has run yet.", "muted")]
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
    for text, quiet in ((run.stdout, ""), (run.stderr, "warn")):
        lines = text.rstrip().split("\n")[-12:] if text.strip() else []
        rows += [Row(((line, quiet),), (("│ ", "muted"),)) for line in lines]
    if run.truncated:
        rows.append(Row((("output was cut at its cap", "warn"),), (("  ", ""),)))
    return rows
