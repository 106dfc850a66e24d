"""A comparison as one HTML file: no script, no network, charts as SVG."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256
from html import escape

from alita_tui.evaluation.agreement import Agreement
from alita_tui.evaluation.compare import Comparison, Figure, amount, chance, verdict
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
    one: Comparison,
    first: Setup,
    second: Setup,
    judges: Sequence[Agreement] = (),
    other_judges: Sequence[Agreement] = (),
) -> str:
    """Return a comparison as a whole page; everything that models or suites said is text.

    `judges`, `other_judges`: those of rubrics in the first and the second run.
    """
    digest = base64.b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    rows = "".join(
        f"<tr><td>{_text(figure.name)}</td><td class=n>{amount(figure, figure.paired.first)}</td>"
        f"<td class=n>{amount(figure, figure.paired.second)}</td>"
        f"<td class=n>{amount(figure, figure.paired.difference, signed=True)}</td><td>{_interval(figure)}</td>"
        f"<td class=n>{escape(chance(figure)[0])}</td><td>{chance(figure)[1]}</td></tr>"
        for figure in one.figures
    )
    failures = "".join(
        f"<tr><td>{_text(_words(kind))}</td><td class=n>{left}</td><td class=n>{right}</td>"
        f"<td>{_bars(left, right, one)}</td></tr>"
        for kind, left, right in one.failures
    )
    changed = "".join(
        f"<tr><td class=any>{_text(case)}</td><td class=n>{100 * left:.0f} %</td>"
        f"<td class=n>{100 * right:.0f} %</td></tr>"
        for case, left, right in one.changed
    )
    made = "".join(
        f"<tr><td>{_text(name)}</td><td class=any>{_text(left)}</td><td class=any>{_text(right)}</td></tr>"
        for name, left, right in _made(first, second)
    )
    judged = "".join(
        f"<p>Judge of the {which} run: {_text(str(judge))}. Rubric: {_text(judge.rubric)}</p>"
        for which, found in (("first", judges), ("second", other_judges))
        for judge in found
    )
    title = f"{_text(one.first)} and {_text(one.second)}"
    left_out = f" {one.left_out} that only one of them did are left out." if one.left_out else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width"><title>{title}</title><style>{_STYLE}</style></head><body>
<h1>{title}</h1>
<p class="verdict">{_text(verdict(one))}</p>
<p>First: {_text(one.first)}. Second: {_text(one.second)}.</p>
<p>{one.cases} cases that both did, repeats of a case taken together.{left_out}
Intervals are 95 % bootstrap intervals of the difference; p is from a sign-flip test over cases, which decides.
Several figures are looked at, and by chance alone one in twenty is called real: the share solved is what counts.</p>
{judged}
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
<div class=wide><table><thead><tr><th></th><th>first</th><th>second</th></tr></thead><tbody>{made}</tbody></table></div>
</body></html>
"""


def _text(value: str) -> str:
    return escape(str(reveal(value)))


def _words(kind: str) -> str:
    return next((words for name, words in FAILURE_WORDS.items() if name == kind), kind)


def _interval(figure: Figure) -> str:
    """Draw the interval of a difference around zero."""
    found = figure.paired
    most = max(abs(found.low), abs(found.high), abs(found.difference)) or 1.0

    def at(value: float) -> float:
        return _WIDTH / 2 + value / most * (_WIDTH / 2 - 6)

    middle = _HEIGHT / 2
    low, high = amount(figure, found.low, signed=True), amount(figure, found.high, signed=True)
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{low} to {high}">'
        f'<line class="zero" x1="{_WIDTH / 2}" x2="{_WIDTH / 2}" y1="0" y2="{_HEIGHT}"/>'
        f'<line x1="{at(found.low):.1f}" x2="{at(found.high):.1f}" y1="{middle}" y2="{middle}"/>'
        f'<circle cx="{at(found.difference):.1f}" cy="{middle}" r="4"/></svg><small>{low} to {high}</small>'
    )


def _bars(left: int, right: int, one: Comparison) -> str:
    most = max(max(first, second) for _, first, second in one.failures) or 1
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{left} and {right}">'
        f'<rect class="one" y="1" height="7" width="{left / most * _WIDTH:.1f}"/>'
        f'<rect class="bar" y="10" height="7" width="{right / most * _WIDTH:.1f}"/></svg>'
    )


def _made(first: Setup, second: Setup) -> list[tuple[str, str, str]]:
    """Return what both runs depend on; settings and prompts where they differ alone."""
    names = (
        "run",
        "suite",
        "suite_digest",
        "models",
        "tags",
        "cases",
        "repeat",
        "budget_usd",
        "approve",
        "without",
        "library_digest",
        "started_at",
        "version",
        "python",
    )
    rows = [
        (name.replace("_", " "), _shown(getattr(first, name)), _shown(getattr(second, name)))
        for name in names
    ]
    for what, left, right in (
        ("setting", first.settings, second.settings),
        ("prompt", first.prompts, second.prompts),
    ):
        for key in sorted({*left, *right}):
            if left.get(key) != right.get(key):
                rows.append((f"{what} {key}", left.get(key, "default"), right.get(key, "default")))
    return rows


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
