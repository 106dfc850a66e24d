"""`python -m tests.benchmarks.fit_memory --data FOLDER [--encoder FOLDER]`: fits the weights of `alita_tui/memory/relevance.py`.

Memories of very different sizes are made of the folder's tasks (a CSV file with the columns `tool` and `query`): some tools
are known, by one to twelve of their tasks, the others are not. Known and unknown weigh the same in every memory, so that the
chance means the same whatever its size. What is printed of the fit is measured on tools that it has not seen.
With the folder of a static model the weights are those for recall with vectors.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import os
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from alita_tui.llm.embedding import StaticModel
from alita_tui.memory.background import REQUESTS
from alita_tui.memory.relevance import Features, Relevance
from alita_tui.registry.index_cache import IndexCache
from alita_tui.spine.ranking.vectors import Near, Vectors

Made = Mapping[str, Sequence[float]]
"""What an encoder gave for texts; nothing without one."""

SIZES = (1, 3, 8, 20, 50, 75)
TASKS = (1, 2, 4, 12)
_ASKED = 6
"""New tasks of each tool, unless --asked says how many."""


def tasks_of(folder: Path) -> dict[str, list[str]]:
    """Return the tasks of each tool, in the order of the file."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.glob("*queries.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found[row["tool"]].append(row["query"])
    return dict(found)


def vectors_of(tasks: Mapping[str, Sequence[str]], folder: Path) -> Made:
    """Return what a static model gives for tasks and for the background."""
    texts = list(dict.fromkeys([*REQUESTS, *(task for listed in tasks.values() for task in listed)]))
    return dict(zip(texts, asyncio.run(StaticModel(folder).encode(texts)).vectors, strict=True))


def keep(vectors: Vectors, made: Made, query: str = "") -> None:
    """Give what is lacking, as the product asks an encoder for it."""
    lacking = vectors.missing(query)
    vectors.keep(lacking, [made[text] for text in lacking])


class Case:
    """Questions to one memory: features of the best match, whether the right one is shown, whether the tool is known."""

    def __init__(
        self,
        tasks: dict[str, list[str]],
        tools: Sequence[str],
        size: int,
        known: int,
        seed: int,
        made: Made | None = None,
        new: int = _ASKED,
    ) -> None:
        chance = random.Random(seed)
        names = [*tools]
        chance.shuffle(names)
        size = min(size, len(names) * 2 // 3)
        memory = Relevance()
        known_by: dict[str, tuple[str, tuple[str, ...]]] = {}
        asked: list[tuple[str, str]] = []
        for number, name in enumerate(names[: size + 40]):
            mixed = chance.sample(tasks[name], len(tasks[name]))
            if number < size:
                memory.put(name, mixed[:known])
                asked += [(name, task) for task in mixed[known : known + new]]
            else:
                asked += [("", task) for task in mixed[:new]]
            known_by[name] = ("", tuple(mixed[:known]) if number < size else ())
        vectors = Vectors("", IndexCache(Path(os.devnull)), REQUESTS)
        vectors.know(known_by)

        def near(task: str) -> Near:
            if made is None:
                return Near()
            keep(vectors, made, task)
            return vectors.near(task)

        rows = [(name, memory.features(task, near(task))) for name, task in asked]
        told = [(name, found) for name, found in rows if found is not None]
        self.silent_known = sum(name != "" for name, found in rows if found is None)
        self.silent_unknown = sum(name == "" for name, found in rows if found is None)
        self.x = np.array([found[1] for _, found in told], float)
        self.right = np.array([name in found[0] for name, found in told])
        self.known = np.array([name != "" for name, _ in told])

    def rates(self, odds: np.ndarray, bar: float) -> tuple[float, float]:
        """Return the share of unknown tasks with a recipe, and of known ones with the right recipe."""
        above = odds >= bar
        unknown = (~self.known).sum() + self.silent_unknown
        known = self.known.sum() + self.silent_known
        return float((above & ~self.known).sum() / unknown), float((above & self.right).sum() / known)


def fitted(cases: Sequence[Case], ridge: float = 1.0) -> np.ndarray:
    """Return the weights of a logistic regression, known and unknown tasks of each memory weighing the same."""
    x = np.concatenate([case.x for case in cases])
    y = np.concatenate([case.right for case in cases]).astype(float)
    weight = np.concatenate(
        [
            np.where(case.known, 0.5 / max(case.known.sum(), 1), 0.5 / max((~case.known).sum(), 1)) * 200
            for case in cases
        ]
    )
    spread = x.std(0)
    spread[spread == 0] = 1.0  # the constant, and what nobody told
    z = x / spread
    w = np.zeros(z.shape[1])
    keep = np.full(len(w), ridge)
    keep[0] = 0.0
    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(z @ w, -30, 30)))
        hessian = (z * (weight * (p * (1 - p) + 1e-6))[:, None]).T @ z + np.diag(keep + 1e-9)
        w -= np.linalg.solve(hessian, z.T @ (weight * (p - y)) + keep * w)
    return np.asarray(w / spread)


def bar_for(cases: Sequence[Case], w: np.ndarray, share: float) -> float:
    """Return the odds above which that share of the unknown tasks of a memory are, on average over the memories."""
    low, high = -10.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        rate = np.mean([case.rates(case.x @ w, middle)[0] for case in cases])
        low, high = (middle, high) if rate > share else (low, middle)
    return high


def main() -> None:
    """Fit, and print."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--data", type=Path, required=True)
    reader.add_argument("--encoder", type=Path, help="folder of a static model")
    reader.add_argument("--asked", type=int, default=_ASKED, help="new tasks of each tool")
    reader.add_argument("--seeds", type=int, default=2)
    reader.add_argument("--share", type=float, default=0.08, help="of unknown tasks that may get a recipe")
    chosen = reader.parse_args()
    tasks = {
        name: listed for name, listed in tasks_of(chosen.data).items() if len(listed) >= 12 + chosen.asked
    }
    made = vectors_of(tasks, chosen.encoder) if chosen.encoder else None
    tools = sorted(tasks)
    random.Random(7).shuffle(tools)

    def cases(among: Sequence[str], seeds: Sequence[int]) -> dict[tuple[int, int, int], Case]:
        return {
            (size, known, seed): Case(tasks, among, size, known, 1000 * seed + 10 * size + known, made, chosen.asked)
            for size in SIZES for known in TASKS for seed in seeds
        }  # fmt: skip

    halves = tools[::2], tools[1::2]
    seen: defaultdict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for mine, other in (halves, halves[::-1]):
        learned, judged = cases(mine, range(chosen.seeds)), cases(other, range(chosen.seeds))
        w = fitted(list(learned.values()))
        bar = bar_for(list(learned.values()), w, chosen.share)
        for (size, known, _), case in judged.items():
            seen[size, known].append(case.rates(case.x @ w, bar))
    print("unseen tools: recipes of unknown tasks, right recipes of known ones, in %")
    for key, found in sorted(seen.items()):
        wrong, right = np.mean(found, axis=0) * 100
        print(f"  {key[0]:3} recipes x {key[1]:2} tasks: {wrong:5.1f} {right:5.1f}")
    every = list(cases(tools, range(chosen.seeds)).values())
    w = fitted(every)
    bar = bar_for(every, w, chosen.share)
    print("all tools, at the bar", round(bar, 3), "that is a chance of", round(1 / (1 + np.exp(-bar)), 3))
    for (size, known, _), case in cases(tools, [chosen.seeds]).items():
        wrong, right = case.rates(case.x @ w, bar)
        print(f"  {size:3} x {known:2}: {wrong * 100:5.1f} {right * 100:5.1f}")
    print(
        f"{'BY_WORDS' if made is None else 'WITH_VECTORS'} = Features("
        + ", ".join(f"{name}={value:.3f}" for name, value in zip(Features._fields, w, strict=True))
        + ")"
    )


if __name__ == "__main__":
    main()
