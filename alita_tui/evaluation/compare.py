"""Compares two runs of the same cases figure by figure, and says whether a difference may be chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

from alita_tui.evaluation.paired import Paired, paired
from alita_tui.evaluation.results import CaseResult
from alita_tui.events import Value


class Figure(Value, frozen=True):
    """One figure, of both runs."""

    name: str
    unit: str
    paired: Paired


class Comparison(Value, frozen=True):
    """Two runs side by side."""

    first: str
    second: str
    """Run and model, named for people; `first` too."""
    cases: int
    """Number of cases in both runs."""
    left_out: int
    """Number of cases in only one of the runs."""
    figures: tuple[Figure, ...]
    failures: tuple[tuple[str, int, int], ...]
    """Kind of failure, count in the first run, count in the second."""
    changed: tuple[tuple[str, float, float], ...]
    """Cases that were solved more or less often, with the shares in both runs."""
    unknown: tuple[str, ...] = ()
    """Figures that no case has in both runs, such as a cost without a known price."""


_FIGURES: tuple[tuple[str, str, Callable[[CaseResult], float]], ...] = (
    ("solved", "%", lambda result: 100.0 * result.solved),
    ("cost", "$", lambda result: math.nan if result.unpriced else result.usd),
    ("time", "s", lambda result: result.seconds),
    ("steps", "", lambda result: result.steps),
    ("model calls", "", lambda result: result.calls),
    ("builds", "", lambda result: result.builds),
    ("reuse", "%", lambda result: 100.0 * result.reused / result.runs if result.runs else math.nan),
    ("ungrounded figures", "", lambda result: result.ungrounded),
)


def compare(first: str, second: str, before: Iterable[CaseResult], after: Iterable[CaseResult]) -> Comparison:
    """Return the comparison of two runs, case by case. Repeats are averaged, so that a case counts once."""
    before, after = tuple(before), tuple(after)
    left, right = _by_case(before), _by_case(after)
    common = sorted({*left} & {*right})
    figures, unknown = [], []
    for name, unit, value in _FIGURES:
        change = paired(
            [_mean(map(value, left[case])) for case in common],
            [_mean(map(value, right[case])) for case in common],
        )
        if change is not None:
            figures.append(Figure(name=name, unit=unit, paired=change))
        else:
            unknown.append(name)
    kinds = [Counter(str(run.failure) for run in runs if run.failure) for runs in (before, after)]
    shares = [(case, _solved(left[case]), _solved(right[case])) for case in common]
    return Comparison(
        first=first, second=second, cases=len(common), left_out=len({*left} ^ {*right}), figures=tuple(figures),
        failures=tuple((kind, kinds[0][kind], kinds[1][kind]) for kind in sorted({*kinds[0], *kinds[1]})),
        changed=tuple(share for share in shares if share[1] != share[2]), unknown=tuple(unknown),
    )  # fmt: skip


def _by_case(results: tuple[CaseResult, ...]) -> dict[str, list[CaseResult]]:
    by_case: dict[str, list[CaseResult]] = {}
    for result in results:
        by_case.setdefault(result.case, []).append(result)
    return by_case


def _mean(values: Iterable[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return sum(finite) / len(finite) if finite else math.nan


def _solved(results: list[CaseResult]) -> float:
    return sum(result.solved for result in results) / len(results)


def amount(figure: Figure, value: float, *, signed: bool = False) -> str:
    """Return a value of a figure in its unit."""
    sign = "+" if signed and value > 0 else "\u2212" if value < 0 else ""
    size = abs(value)
    match figure.unit:
        case "$":
            return f"{sign}${size:.4f}"
        case "%":
            return f"{sign}{size:.1f} {'points' if signed else '%'}"
        case "s":
            return f"{sign}{size:.{1 if size >= 10 else 2}f} s"
        case _:
            return f"{sign}{size:.2f}"


def chance(figure: Figure) -> tuple[str, str]:
    """Return p and its meaning, in words."""
    p = figure.paired.p
    meaning = (
        "the same" if figure.paired.difference == 0 else "real" if figure.paired.real else "may be chance"
    )
    return ("< 0.001" if p < 0.001 else f"{p:.3f}"), meaning


def unknown_line(comparison: Comparison) -> str:
    """Return a sentence naming the figures that are not known for all cases; empty if all are known."""
    counts = [(figure.name, figure.paired.cases) for figure in comparison.figures]
    counts += [(name, 0) for name in comparison.unknown]
    parts = [f"{name} ({count} of {comparison.cases})" for name, count in counts if count < comparison.cases]
    return f"Not known for all cases, and compared only where it is: {', '.join(parts)}." if parts else ""


def verdict(comparison: Comparison) -> str:
    """Return one or two sentences on whether the share of solved cases differs."""
    solved = next((figure for figure in comparison.figures if figure.name == "solved"), None)
    if solved is None:
        return "The two runs have no case in common, so there is nothing to compare."
    change = solved.paired
    if change.difference == 0:
        return f"Both solved the same share, {amount(solved, change.first)} of {change.cases} cases."
    direction = "more" if change.difference > 0 else "fewer"
    points = f"{abs(change.difference):.1f} points {direction}"
    if change.real:
        share = f"{100 * change.p:.1f} %" if change.p >= 0.001 else "less than 0.1 %"
        often = f"chance alone would do that in {share} of such comparisons"
        return f"{comparison.second} solves {points} than {comparison.first}; {often}."
    sentence = f"{comparison.second} solved {points} than {comparison.first}, which may be chance (p = {change.p:.2f})."
    if change.smallest_p > 0.05:
        return f"{sentence} Too few cases differ to distinguish any difference from chance: add cases."
    return f"{sentence} More cases or repeats would decide it."
