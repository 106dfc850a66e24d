"""Rows of the runs and of their cases as styled text."""

from __future__ import annotations

from datetime import datetime

from rich.cells import set_cell_size
from textual.content import Content

from alita_tui.console.evaluations.ports import CaseLine, CaseState, RunLine, RunSheet, RunState
from alita_tui.console.widgets.figures import age, spoken
from alita_tui.console.widgets.styled_text import at_words, cut
from alita_tui.spine.text import counted, one_line
from alita_tui.view.spend import unpriced_words

_MUTED = "$alita-muted"
_RUN: dict[RunState, tuple[str, str]] = {
    "running": ("●", "$alita-good"),
    "waiting": ("◆", "$alita-wait"),
    "stopped": ("○", "$alita-warn"),
    "finished": ("·", _MUTED),
}
_CASE: dict[CaseState, tuple[str, str, str]] = {
    "solved": ("✓", "$alita-good", ""),
    "failed": ("✖", "$alita-bad", ""),
    "running": ("●", "$alita-good", "running"),
    "waiting": ("◆", "$alita-wait", "waits for your decision"),
    "stopped": ("○", "$alita-warn", "broke off"),
    "left": (" ", _MUTED, "not begun"),
}
"""Glyph, colour and word; never colour alone."""
_REASON = 20
"""Cells from which a reason says something."""
_FIGURES = (9, 8, 10)
"""Widths of ended, solved, cost."""


def run_head(width: int) -> Content:
    """Return the heading of the list of runs."""
    suite, models = _rooms(width)
    text = f" {'  State':<11}{'Age':>5}  {'Suite':<{suite}}"
    text += f"{'Models':<{models}}" if models else ""
    for title, room in zip(("Ended", "Solved", "Cost"), _FIGURES, strict=True):
        text += f"{title:>{room}}"
    return Content.styled(text, _MUTED)


def run_row(line: RunLine, width: int, now: datetime) -> Content:
    """Return one run."""
    suite, models = _rooms(width)
    glyph, style = _RUN[line.state]
    started = age(line.started, now) if line.started else ""
    ended = f"{line.ended}/{line.of}" if line.of else str(line.ended)
    shown = Content.assemble(
        (f" {glyph} ", f"bold {style}"),
        (f"{line.state:<9}", style),
        (f"{started:>5}  ", _MUTED),
        _fitted(line.suite, suite),
    )
    if models:
        shown += Content.styled(_fitted(", ".join(line.models), models), _MUTED)
    cost = f"{'~' if line.unpriced else ''}${line.usd:.4f}"
    for text, room in zip((ended, _share(line), cost), _FIGURES, strict=True):
        shown += Content.styled(f"{text:>{room}}", _MUTED if text == "–" else "")
    return shown


def about(sheet: RunSheet) -> str:
    """Return what a run is, in a line."""
    line = sheet.line
    parts = [", ".join(line.models), f"{line.ended} of {line.of} ended" if line.of else f"{line.ended} ended"]
    parts.append(f"{_share(line)} solved" if line.ended else "none solved yet")
    parts.append(
        f"{'about ' if line.unpriced else ''}${line.usd:.4f}"
        + (f" of ${line.budget_usd:g}" if line.budget_usd else "")
    )
    parts.append(f"approves: {line.approve}")
    if line.unpriced:
        parts.append(unpriced_words(line.unpriced))
    if line.without:
        parts.append(f"without {', '.join(line.without)}")
    return one_line(" · ".join(parts), 400)


def case_head(sheet: RunSheet, width: int) -> Content:
    """Return the heading of a run's cases."""
    case, model, turn = _case_rooms(sheet, width)
    text = (
        f"   {'Case':<{case}}"
        + (f"{'Model':<{model}}" if model else "")
        + (f"{'Repeat':>{turn}}" if turn else "")
    )
    return Content.styled(f"{text}{'Cost':>9}{'Took':>9}{'Steps':>7}  Result", _MUTED)


def case_row(line: CaseLine, sheet: RunSheet, width: int) -> Content:
    """Return one case."""
    case, model, turn = _case_rooms(sheet, width)
    glyph, style, word = _CASE[line.state]
    shown = Content.assemble((f" {glyph} ", f"bold {style}"), _fitted(line.case, case))
    if model:
        shown += Content.styled(_fitted(line.model, model), _MUTED)
    if turn:
        shown += Content.styled(f"{line.turn:>{turn}}", _MUTED)
    ended = line.state in ("solved", "failed")
    duration = spoken(line.seconds) if line.seconds >= 10 else f"{line.seconds:.1f} s"
    figures = (f"${line.usd:.4f}", duration, str(line.steps)) if ended else ("", "", "")
    shown += Content(f"{figures[0]:>9}{figures[1]:>9}{figures[2]:>7}  ")
    room = max(width - shown.cell_length, 8)
    # Without room for what a reason says, the word for it: that of the chosen case stands whole below the list.
    why = at_words(one_line(line.why, 400), room) if room >= _REASON else "not solved" if line.why else ""
    return shown + Content.styled(why or word or "solved", "" if why else style)


def totals(sheet: RunSheet) -> str:
    """Return the number of cases in each state."""
    count = {state: sum(case.state == state for case in sheet.cases) for state in _CASE}
    words = {
        **{state: word for state, (_, _, word) in _CASE.items()},
        "solved": "solved",
        "failed": "not solved",
    }
    parts = [f"{number} {words[state]}" for state, number in count.items() if number]
    return f"{counted(len(sheet.cases), 'case')}: {', '.join(parts)}" if parts else "no cases"


def _share(line: RunLine) -> str:
    return f"{100 * line.solved / line.ended:.0f} %" if line.ended else "–"


def _fitted(text: str, room: int) -> str:
    return set_cell_size(cut(one_line(text, 200), room - 1), room)


def _rooms(width: int) -> tuple[int, int]:
    """Return the widths of suite and models; 0 where there is no room for models."""
    left = width - 19 - sum(_FIGURES)
    return (left, 0) if left < 44 else (max(left * 2 // 5, 20), left - max(left * 2 // 5, 20))


def _case_rooms(sheet: RunSheet, width: int) -> tuple[int, int, int]:
    """Return the widths of case, model and repeat; 0 for a column that is not needed."""
    model = 26 if len(sheet.line.models) > 1 and width >= 110 else 14 if len(sheet.line.models) > 1 else 0
    return (20 if width < 100 else 32 if width < 160 else 44), model, 8 if sheet.line.repeat > 1 else 0
