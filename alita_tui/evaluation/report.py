"""Writes a comparison as one HTML file without scripts or network, with charts as SVG."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256
from html import escape

from alita_tui.evaluation.agreement import Agreement
from alita_tui.evaluation.compare import Comparison, Figure, amount, chance, unknown_line, verdict
from alita_tui.evaluation.conditions import conditions, difference_line, differences
from alita_tui.evaluation.results import FAILURE_WORDS, Setup
from alita_tui.spine.text import reveal

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: CanvasText; background: Canvas; color-scheme: light dark; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid GrayText; overflow-wrap: break-word; }
td.n, td svg { white-space: nowrap; }
td.any { overflow-wrap: anywhere; min-width: 10rem; }
td small { display: block; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
p.verdict { font-size: 1.25rem; }
svg line, svg circle { stroke: CanvasText; } svg circle { fill: CanvasText; }
svg .zero { stroke: GrayText; stroke-dasharray: 3 3; } svg .bar { fill: CanvasText; } svg .one { fill: GrayText; }
"""
_WIDTH, _HEIGHT = 200, 18


def as_html(
    comparison: Comparison,
    first: Setup,
    second: Setup,
    judges: Sequence[Agreement] = (),
    other_judges: Sequence[Agreement] = (),
    caveats: Sequence[str] = (),
) -> str:
    """Return a comparison as a complete page; text from models and suites is escaped.

    `judges` and `other_judges` are the judges of rubrics in the first and second run; `caveats` are reasons why figures
    are not comparable.
    """
    digest = base64.b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    rows = "".join(
        f"<tr><td>{_text(figure.name)}</td><td class=n>{amount(figure, figure.paired.first)}</td>"
        f"<td class=n>{amount(figure, figure.paired.second)}</td>"
        f"<td class=n>{amount(figure, figure.paired.difference, signed=True)}</td><td>{_interval(figure)}</td>"
        f"<td class=n>{escape(chance(figure)[0])}</td><td>{chance(figure)[1]}</td></tr>"
        for figure in comparison.figures
    )
    failures = "".join(
        f"<tr><td>{_text(_words(kind))}</td><td class=n>{left}</td><td class=n>{right}</td>"
        f"<td>{_bars(left, right, comparison)}</td></tr>"
        for kind, left, right in comparison.failures
    )
    changed = "".join(
        f"<tr><td class=any>{_text(case)}</td><td class=n>{100 * left:.0f} %</td>"
        f"<td class=n>{100 * right:.0f} %</td></tr>"
        for case, left, right in comparison.changed
    )
    dependent = "".join(
        f"<tr><td>{_text(name)}</td><td class=any>{_text(left)}</td><td class=any>{_text(right)}</td></tr>"
        for name, left, right in conditions(first, second)
    )
    judged = "".join(
        f"<p>Judge of the {ordinal} run: {_text(str(judge))}. Rubric: {_text(judge.rubric)}</p>"
        for ordinal, measured in (("first", judges), ("second", other_judges))
        for judge in measured
    )
    warned = "".join(f"<p><strong>{_text(caveat)}</strong></p>\n" for caveat in caveats)
    not_known = f"<p>{_text(line)}</p>" if (line := unknown_line(comparison)) else ""
    title = f"{_text(comparison.first)} and {_text(comparison.second)}"
    left_out = (
        f" {comparison.left_out} that only one of them did are left out." if comparison.left_out else ""
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width"><title>{title}</title><style>{_STYLE}</style></head><body>
<h1>{title}</h1>
<p class="verdict">{_text(verdict(comparison))}</p>
<p>{_text(difference_line(differences(first, second)))}</p>
{warned}<p>First: {_text(comparison.first)}. Second: {_text(comparison.second)}.</p>
<p>{comparison.cases} cases that both did, repeats of a case taken together.{left_out}
Intervals are 95 % bootstrap intervals of the difference; p is from a sign-flip test over cases, which decides.
Several figures are looked at, and by chance alone one in twenty is called real: the share solved is what counts.</p>
{judged}{not_known}
<div class=wide><table><thead><tr><th>per case</th><th class=n>first</th><th class=n>second</th>
<th class=n>difference</th><th>interval</th>
<th class=n>p</th><th></th></tr></thead><tbody>{rows}</tbody></table></div>
<h2>Failures by kind</h2>
<p>The upper bar is the first run, the lower one the second.</p>
<div class=wide><table><thead><tr><th>kind</th><th class=n>first</th><th class=n>second</th><th></th></tr></thead>
<tbody>{failures or "<tr><td>none</td></tr>"}</tbody></table></div>
<h2>Cases that changed</h2>
<div class=wide><table><thead><tr><th>case</th><th class=n>first</th><th class=n>second</th></tr></thead>
<tbody>{changed or "<tr><td>none</td></tr>"}</tbody></table></div>
<h2>What was run</h2>
<div class=wide><table><thead><tr><th></th><th>first</th><th>second</th></tr></thead>
<tbody>{dependent}</tbody></table></div>
</body></html>
"""


def _text(value: str) -> str:
    return escape(str(reveal(value)))


def _words(kind: str) -> str:
    return next((words for name, words in FAILURE_WORDS.items() if name == kind), kind)


def _interval(figure: Figure) -> str:
    """Return a chart of a difference's interval around zero, as SVG."""
    change = figure.paired
    largest = max(abs(change.low), abs(change.high), abs(change.difference)) or 1.0

    def at(value: float) -> float:
        return _WIDTH / 2 + value / largest * (_WIDTH / 2 - 6)

    middle = _HEIGHT / 2
    low, high = amount(figure, change.low, signed=True), amount(figure, change.high, signed=True)
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{low} to {high}">'
        f'<line class="zero" x1="{_WIDTH / 2}" x2="{_WIDTH / 2}" y1="0" y2="{_HEIGHT}"/>'
        f'<line x1="{at(change.low):.1f}" x2="{at(change.high):.1f}" y1="{middle}" y2="{middle}"/>'
        f'<circle cx="{at(change.difference):.1f}" cy="{middle}" r="4"/></svg><small>{low} to {high}</small>'
    )


def _bars(left: int, right: int, comparison: Comparison) -> str:
    largest = max(max(first, second) for _, first, second in comparison.failures) or 1
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{left} and {right}">'
        f'<rect class="one" y="1" height="7" width="{left / largest * _WIDTH:.1f}"/>'
        f'<rect class="bar" y="10" height="7" width="{right / largest * _WIDTH:.1f}"/></svg>'
    )
