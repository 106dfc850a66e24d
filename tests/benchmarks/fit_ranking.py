"""Fits what the ranker takes for given, on a set of tools and questions: `python -m tests.benchmarks.fit_ranking FOLDER`.

Three things, each judged on tools that it was not fitted on (five parts) and on questions that nothing was learned from:
how common words are in requests (`spine/ranking/common.py`), what its signals weigh (`spine/ranking/ranker.py`), and the
prior of the bands (`spine/ranking/bands.py`). It prints; what it says is put there by hand.

Tried for 20 uses a tool and not taken, on MetaTool's development half (100 tools; R@1 / R@5 in percent; weights fitted on
other tools; the three signals alone 81.5 / 93.1): with the nearest served query 81.5 / 93.3, the mean of the nearest three
81.3 / 92.8, the share of words held 81.6 / 92.8, naive Bayes on words 81.2 / 93.0 and on pairs 81.4 / 93.3, a language model
of pairs 81.7 / 93.5, ridge classification of character grams 81.4 / 93.1 and of words and pairs 82.5 / 93.1 (needs the
inverse of a matrix of all served queries), all 27 together 82.3 / 93.6. Of 227 mistakes of the three signals the ridge with grams made 196, too.
"""

from __future__ import annotations

import argparse
import random
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from math import log1p
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alita_tui.registry.search import ToolIndex
from alita_tui.spine.ranking import Ranked, prior, words
from alita_tui.spine.ranking.common import COMMON
from tests.benchmarks.bench_library import auroc
from tests.benchmarks.retrieval_set import Questions, library, read

_USES = (0, 5, 20)
_PARTS = 5
_LEVELS = ((0.3, 0.4), (0.15, 0.2), (0.08, 0.11), (0.05, 0.06), (0.03, 0.04))
"""From which share of tools, and what is written down for it."""
_OFTEN = 4
"""A word that a quarter of a tool's questions have counts as if all had it."""
_PAIRS, _LIKENESS = (0.0, 0.2, 0.3, 0.5, 0.8), (0.2, 0.5, 0.8, 1.2)

Floats = npt.NDArray[np.float64]


class Case(NamedTuple):
    """One question, and what was found for it."""

    part: int
    """Of the tool that answers it."""
    right: str
    found: list[Ranked]
    there: bool
    """The tool was not taken away."""


def common(questions: Questions, tools: Iterable[str]) -> dict[str, float]:
    """Return by stem in which share of these tools' questions it occurs, each tool counting the same."""
    names = list(tools)
    asked: dict[str, list[str]] = {name: list(questions.learned[name]) for name in names}
    for question, name in questions.asked:
        if name in asked:
            asked[name].append(question)
    spread: Counter[str] = Counter()
    for said in asked.values():
        having = Counter(form for question in said for form in {form for form, _ in words(question)})
        for form, count in having.items():
            spread[form] += min(1.0, _OFTEN * count / len(said))  # type: ignore[assignment]
    return {form: share / len(names) for form, share in spread.items()}


def rounded(shares: Mapping[str, float]) -> dict[str, float]:
    """Return shares as they are written down."""
    told = {
        form: next((level for least, level in _LEVELS if share >= least), 0.0)
        for form, share in shares.items()
    }
    return {form: level for form, level in told.items() if level}


@contextmanager
def taken_for_common(shares: Mapping[str, float]) -> Iterator[None]:
    """Let the ranker take these words for common meanwhile."""
    before = dict(COMMON)
    COMMON.clear()
    COMMON.update(shares)
    try:
        yield
    finally:
        COMMON.clear()
        COMMON.update(before)


def cases(questions: Questions, uses: int, parts: Mapping[str, int], *, hidden: bool) -> list[Case]:
    """Return what is found for each question, by words that were counted without its tool's part.

    With `hidden` the tools of one part after the other are taken away.
    """
    made: list[Case] = []
    for part in range(_PARTS):
        others = [name for name in questions.tools if parts[name] != part]
        with taken_for_common(rounded(common(questions, others))):
            index = ToolIndex()
            kept = {name: questions.tools[name] for name in others} if hidden else questions.tools
            index.update(library(kept, questions.learned, uses))
            for place, (question, right) in enumerate(questions.asked):
                away = parts[right] == part
                if away or (hidden and place % _PARTS == part):
                    made.append(Case(parts[right], right, index.rank(question)[:10], not (hidden and away)))
    return made


def first(found: Sequence[Ranked], pairs: float, likeness: float) -> str:
    """Return what comes first with these weights."""
    best = max(found, key=lambda one: one.cover + pairs * one.pairs + likeness * one.likeness, default=None)
    return best.key if best else ""


def fit_weights(by_uses: Mapping[int, list[Case]]) -> None:
    """Print the best weights, and what weights that were chosen on the other tools find."""

    def right(weights: tuple[float, float], parts: Sequence[int]) -> float:
        shares = []
        for made in by_uses.values():
            asked = [case for case in made if case.part in parts]
            shares.append(sum(first(case.found, *weights) == case.right for case in asked) / len(asked))
        return sum(shares) / len(shares)

    grid = list(product(_PAIRS, _LIKENESS))
    everything = range(_PARTS)
    best = max(grid, key=lambda weights: right(weights, everything))
    print(
        f"weights: pairs {best[0]}, likeness {best[1]}: R@1 {right(best, everything):.3f} over {list(by_uses)} uses"
    )
    apart = []
    for part in everything:
        chosen = max(grid, key=lambda weights: right(weights, [one for one in everything if one != part]))
        apart.append(right(chosen, [part]))
    print(f"  chosen on the other tools: R@1 {sum(apart) / len(apart):.3f}")


def features(found: Sequence[Ranked]) -> list[float]:
    """Return what the prior is made of."""
    if not found:
        return [0.0] * 5
    best = found[0]
    return [best.likeness, best.margin, log1p(best.served), log1p(best.asked), 1.0]


def logistic(rows: Floats, truth: Floats, weights: Floats) -> Floats:
    """Return the weights of a logistic regression, by Newton's method."""
    fitted = np.zeros(rows.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-rows @ fitted))
        curve = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + 1e-3 * np.eye(rows.shape[1])
        fitted = fitted - np.linalg.solve(curve, rows.T @ (weights * (chance - truth)) + 1e-3 * fitted)
    return fitted


def fit_bands(by_uses: Mapping[int, list[Case]]) -> None:
    """Print the prior's constants, and how well those that were fitted on the other tools tell what is there."""
    whole = [(uses, case) for uses, made in by_uses.items() for case in made]
    rows = np.array([features(case.found) for _, case in whole])
    truth = np.array([float(case.there) for _, case in whole])
    used = np.array([uses for uses, _ in whole])
    part = np.array([case.part for _, case in whole])
    weights = np.empty(len(whole))
    for uses, there in product(by_uses, (0.0, 1.0)):
        these = (used == uses) & (truth == there)
        weights[these] = 1 / max(1, these.sum())
    weights *= len(whole) / weights.sum()
    names = ("likeness", "margin", "served", "words", "otherwise")
    fitted = logistic(rows, truth, weights)
    print("bands:", ", ".join(f"{name} {value:.2f}" for name, value in zip(names, fitted, strict=True)))
    chances = np.empty(len(whole))
    for one in range(_PARTS):
        apart = logistic(rows[part != one], truth[part != one], weights[part != one])
        chances[part == one] = rows[part == one] @ apart
    shipped = np.array([prior(case.found) for _, case in whole])
    for uses in by_uses:
        told = [
            auroc(values[(used == uses) & (truth == 1)], values[(used == uses) & (truth == 0)])
            for values in (chances, shipped)
        ]
        print(f"  AUROC after {uses} uses: fitted on the other tools {told[0]:.3f}, as shipped {told[1]:.3f}")


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with *tools.json and *queries.csv")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    questions = read(given.data, given.seed)
    names = sorted(questions.tools)
    random.Random(given.seed).shuffle(names)
    parts = {name: place % _PARTS for place, name in enumerate(names)}
    fit_weights({uses: cases(questions, uses, parts, hidden=False) for uses in _USES})
    fit_bands({uses: cases(questions, uses, parts, hidden=True) for uses in _USES})
    told = rounded(common(questions, questions.tools))
    for _, level in _LEVELS:
        forms = " ".join(sorted(form for form, one in told.items() if one == level))
        print(f"common {level}:", textwrap.fill(forms, 110), sep="\n")


if __name__ == "__main__":
    main()
