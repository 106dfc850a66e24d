"""Whether a remembered recipe fits a task: how well it ranks, and how far it stands out among all recipes.

The ranker that finds tools also finds recipes, by the tasks that they answered. Its score alone says little, because in
a large memory something is always similar. So the best recipe is compared with the next ones, by a logistic regression
that was fitted on memories of very different sizes (`tests/benchmarks/fit_memory.py`). With an encoder, the task's
cosine with the recipe's tasks counts, too. It is compared with those of requests of every kind, because a memory may
have a single recipe.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from alita_tui.events import Value
from alita_tui.spine.ranking import Ranked, Ranker, Served, words
from alita_tui.spine.ranking.vectors import NOT_ENCODED, Near

_MOST = 3
"""Maximum number of recipes that are shown."""
_CLOSE = 0.6
"""Share of the best score from which another recipe is shown as well."""
_RIVALS = 5
"""How many of the next best recipes the best is compared with."""
_BY_MEANING = 100
"""Number of recipes compared by vectors, which may change the order."""


class Features(NamedTuple):
    """Features of the best match; the weights have the same form and give each feature's share of the log-odds."""

    base: float
    score: float
    margin: float
    """Score difference to the next recipe."""
    lead: float
    """The same as a share of the score."""
    crowd: float
    """Score difference to the mean of the next five."""
    cover: float
    pairs: float
    likeness: float
    words: float
    tasks: float
    recipes: float
    score_by_tasks: float
    crowd_by_tasks: float
    tasks_squared: float
    close: float = 0.0
    """How far its cosine is above those of requests of every kind, in standard deviations; 0 without vectors."""
    close_by_recipes: float = 0.0
    tasks_squared_by_few: float = 0.0
    """`tasks_squared` divided by the number of recipes: many tasks share words with any task, and a small memory has
    nothing to compare them with."""


BY_WORDS = Features(
    base=-2.076, score=1.046, margin=-4.010, lead=0.706, crowd=4.900, cover=-6.535, pairs=-0.243, likeness=13.694,
    words=0.262, tasks=-0.044, recipes=-0.479, score_by_tasks=0.363, crowd_by_tasks=1.682, tasks_squared=-0.134,
    tasks_squared_by_few=-0.5,  # by itself, for one to three recipes; the other weights are as fitted without it
)  # fmt: skip
WITH_VECTORS = Features(
    base=-2.486, score=0.960, margin=-0.718, lead=0.438, crowd=3.940, cover=-6.012, pairs=0.610, likeness=6.308,
    words=-0.405, tasks=-0.007, recipes=0.088, score_by_tasks=1.042, crowd_by_tasks=-0.788, tasks_squared=-0.201,
    close=0.360, close_by_recipes=-0.106,
)  # fmt: skip
_LIKELY_BY_WORDS, _LIKELY_WITH_VECTORS = 0.67, 0.61
"""Chances from which recipes are recalled; about one unknown task in ten gets one at most (see `bench_memory.py`)."""


class Fit(Value, frozen=True):
    """A recipe that resembles a task."""

    key: str
    chance: float
    """Probability that one of those shown is the right one, 0 to 1."""
    likely: bool
    """Whether the probability is high enough to recall them."""
    score: float
    words: tuple[str, ...] = ()
    """The task's words that also occur in its tasks, highest weight first."""


class Relevance:
    """An index of recipes by their tasks, changed one recipe at a time."""

    def __init__(self) -> None:
        self._ranker = Ranker()
        self._tasks: dict[str, int] = {}

    def put(self, key: str, tasks: Iterable[str]) -> None:
        """Index a recipe by its tasks, in place of an earlier one with this key."""
        served = [Served(query=task) for task in tasks]
        self._tasks[key] = len(served)
        self._ranker.put(key, (), served)

    def remove(self, key: str) -> None:
        """Remove a recipe; a missing one is not an error."""
        self._tasks.pop(key, None)
        self._ranker.remove(key)

    def fits(self, task: str, near: Near = NOT_ENCODED) -> list[Fit]:
        """Return the few recipes that resemble a task most, best first, with the chance that one of them is right."""
        ranked = self._ranked(task, near)
        if not ranked:
            return []
        encoded = ranked[0].key in near.cosines
        chance = _chance(WITH_VECTORS if encoded else BY_WORDS, self._features(ranked))
        likely = chance >= (_LIKELY_WITH_VECTORS if encoded else _LIKELY_BY_WORDS)
        return [
            Fit(
                key=ranked_item.key,
                chance=chance,
                likely=likely,
                score=ranked_item.score,
                words=ranked_item.words,
            )
            for ranked_item in _close(ranked)
        ]

    def features(self, task: str, near: Near = NOT_ENCODED) -> tuple[tuple[str, ...], Features] | None:
        """Return what would be shown with its features, for fitting; None if nothing is similar."""
        ranked = self._ranked(task, near)
        return (
            (tuple(ranked_item.key for ranked_item in _close(ranked)), self._features(ranked))
            if ranked
            else None
        )

    def _ranked(self, task: str, near: Near) -> list[Ranked]:
        looked_at = _BY_MEANING if near.cosines else _RIVALS + 1
        return self._ranker.rank(task, limit=looked_at, cosines=near.cosines, background=near.background)

    def _features(self, ranked: Sequence[Ranked]) -> Features:
        best, rivals = ranked[0], ranked[1 : _RIVALS + 1]
        margin = best.score - (rivals[0].score if rivals else 0.0)
        crowd = best.score - sum(rival.score for rival in rivals) / _RIVALS
        tasks = math.log(max(self._tasks[best.key], 1))
        return Features(
            base=1.0,
            score=best.score,
            margin=margin,
            lead=margin / (best.score + 1e-9),
            crowd=crowd,
            cover=best.cover,
            pairs=best.pairs,
            likeness=best.likeness,
            words=math.log(1 + len(best.words)),
            tasks=tasks,
            recipes=math.log(len(self._tasks)),
            score_by_tasks=best.score * tasks,
            crowd_by_tasks=crowd * tasks,
            tasks_squared=tasks**2,
            close=best.close,
            close_by_recipes=best.close * math.log(len(self._tasks)),
            tasks_squared_by_few=tasks**2 / len(self._tasks),
        )


def _close(ranked: Sequence[Ranked]) -> list[Ranked]:
    return [ranked_item for ranked_item in ranked[:_MOST] if ranked_item.score >= _CLOSE * ranked[0].score]


def _chance(weights: Features, features: Features) -> float:
    odds = sum(weight * feature for weight, feature in zip(weights, features, strict=True))
    return round(1 / (1 + math.exp(-max(-30.0, min(odds, 30.0)))), 4)


def why_of(matched: tuple[str, ...]) -> str:
    """Return the words of a match that carry meaning, the weightiest first."""
    return ", ".join([word for word in matched if words(word)][:8])
