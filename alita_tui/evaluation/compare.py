"""Two runs of the same cases compared figure by figure, with a sentence on whether a difference may be chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

from alita_tui.evaluation.paired import Paired, paired
from alita_tui.evaluation.results import CaseResult
from alita_tui.events import Value


class Figure(Value, frozen=True):
    """One figure of both runs."""

    name: str
    unit: str
    paired: Paired


class Comparison(Value, frozen=True):
    """Two runs side by side."""

    first: str
    second: str
    """Run and model, as a person would name them."""
    cases: int
    """Cases that both did."""
    left_out: int
    """Cases that only one of them did."""
    figures: tuple[Figure, ...]
    failures: tuple[tuple[str, int, int], ...]
    """Kind of failure, how often in the first run, how often in the second."""
    changed: tuple[tuple[str, float, float], ...]
    """Cases that are solved more or less often, with the shares."""


_FIGURES: tuple[tuple[str, str, Callable[[CaseResult], float]], ...] = (
    ("solved", "%", lambda one: 100.0 * one.solved),
    ("cost", "$", lambda one: math.nan if one.unpriced else one.usd),
    ("time", "s", lambda one: one.seconds),
    ("steps", "", lambda one: one.steps),
    ("model calls", "", lambda one: one.calls),
    ("builds", "", lambda one: one.builds),
    ("reuse", "%", lambda one: 100.0 * one.reused / one.runs if one.runs else math.nan),
    ("ungrounded figures", "", lambda one: one.ungrounded),
)


def compare(first: str, second: str, before: Iterable[CaseResult], after: Iterable[CaseResult]) -> Comparison:
    """Compare two runs case by case. The repeats of a case are averaged, so that they count as one case."""
    before, after = tuple(before), tuple(after)
    left, right = _by_case(before), _by_case(after)
    both = sorted({*left} & {*right})
    figures = []
    for name, unit, value in _FIGURES:
        found = paired(
            [_mean(map(value, left[case])) for case in both],
            [_mean(map(value, right[case])) for case in both],
        )
        if found is not None:
            figures.append(Figure(name=name, unit=unit, paired=found))
    kinds = [Counter(str(run.failure) for run in runs if run.failure) for runs in (before, after)]
    shares = [(case, _solved(left[case]), _solved(right[case])) for case in both]
    return Comparison(
        first=first, second=second, cases=len(both), left_out=len({*left} ^ {*right}), figures=tuple(figures),
        failures=tuple((kind, kinds[0][kind], kinds[1][kind]) for kind in sorted({*kinds[0], *kinds[1]})),
        changed=tuple(share for share in shares if share[1] != share[2]),
    )  # fmt: skip


def _by_case(results: tuple[CaseResult, ...]) -> dict[str, list[CaseResult]]:
    found: dict[str, list[CaseResult]] = {}
    for result in results:
        found.setdefault(result.case, []).append(result)
    return found


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


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
    """Return p and what it means, in words."""
    p = figure.paired.p
    said = "the same" if figure.paired.difference == 0 else "real" if figure.paired.real else "may be chance"
    return ("< 0.001" if p < 0.001 else f"{p:.3f}"), said


def verdict(one: Comparison) -> str:
    """Return in one sentence or two what the share solved says."""
    solved = next((figure for figure in one.figures if figure.name == "solved"), None)
    if solved is None:
        return "The two runs have no case in common, so there is nothing to compare."
    found = solved.paired
    if found.difference == 0:
        return f"Both solved the same share, {amount(solved, found.first)} of {found.cases} cases."
    way = "more" if found.difference > 0 else "fewer"
    points = f"{abs(found.difference):.1f} points {way}"
    if found.real:
        share = f"{100 * found.p:.1f} %" if found.p >= 0.001 else "less than 0.1 %"
        often = f"chance alone would do that in {share} of such comparisons"
        return f"{one.second} solves {points} than {one.first}; {often}."
    said = f"{one.second} solved {points} than {one.first}, which may be chance (p = {found.p:.2f})."
    if found.smallest_p > 0.05:
        return f"{said} Too few cases differ for any difference to be told from chance: add cases."
    return f"{said} More cases or repeats would tell."
