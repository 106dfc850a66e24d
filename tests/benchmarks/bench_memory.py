"""What recall gets right, and how long it takes: recipes of known tasks, and of tasks that nothing known resembles."""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from alita_tui.events import Json, MemoryItem
from alita_tui.memory.background import REQUESTS
from alita_tui.memory.recall import Recollection
from alita_tui.registry.index_cache import IndexCache
from alita_tui.spine.ranking.vectors import Vectors
from tests.benchmarks.fit_memory import Made, keep, tasks_of, vectors_of

Row = Callable[..., dict[str, float | str | None]]
_TASKS, _ASKED = 12, 12
_SEEDS = 3
_NUMBERS = 256
"""In a vector of the made-up recipes."""


class Table:
    """Meets `Documents` in memory."""

    def __init__(self) -> None:
        self._rows: dict[str, Json] = {}
        self._all: tuple[Json, ...] | None = None

    def all(self) -> tuple[Json, ...]:
        if self._all is None:
            self._all = tuple(self._rows.values())
        return self._all

    def put(self, key: str, document: Json, *, barrier: bool = True) -> None:
        self._rows[key], self._all = document, None

    def remove(self, key: str) -> None:
        self._rows.pop(key, None)
        self._all = None

    def changing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def sync(self) -> None:
        """Nothing is on a disk."""


def no_vectors() -> Vectors:
    """Return vectors that nothing is known of yet and no file keeps."""
    return Vectors("", IndexCache(Path(os.devnull)), REQUESTS)


def learned(tasks: dict[str, list[str]], vectors: Vectors | None = None) -> Recollection:
    """Return a memory with one recipe for each tool, that has answered these tasks."""
    memory = Recollection(Table(), vectors=vectors)
    for name, answered in tasks.items():
        for number, task in enumerate(answered):
            memory.write(
                MemoryItem(
                    item_id=f"recipe:{name}", memory="procedural", text=task, source_session="s",
                    source_seq=number + 1, tools=(name,),
                )
            )  # fmt: skip
    return memory


def rates(
    tasks: dict[str, list[str]], size: int, seed: int, made: Made | None = None
) -> tuple[float, float, float]:
    """Return, in percent: unknown tasks with a recipe; known ones with the right one, and with one at all.

    `made` is what an encoder gave for the tasks.
    """
    chance = random.Random(seed)
    names = chance.sample(sorted(tasks), len(tasks))
    mixed = {name: chance.sample(tasks[name], len(tasks[name])) for name in names}
    vectors = no_vectors() if made else None
    memory = learned({name: mixed[name][:_TASKS] for name in names[:size]}, vectors)
    memory.recall("")  # from here on the vectors know what there is

    def recipes(task: str) -> set[str]:
        if made and vectors:
            keep(vectors, made, task)
        return {item.tools[0] for item in memory.recall(task) if item.memory == "procedural"}

    known = [(name, recipes(task)) for name in names[:size] for task in mixed[name][_TASKS : _TASKS + _ASKED]]
    unknown = [recipes(task) for name in names[size:] for task in mixed[name][:_ASKED]]
    return (
        100 * statistics.mean(bool(found) for found in unknown),
        100 * statistics.mean(name in found for name, found in known),
        100 * statistics.mean(bool(found) for _, found in known),
    )


def memory(results: dict[str, Any], row: Row, data: Path | None, encoder: Path | None = None) -> None:
    """Recall by memories of several sizes, and its time with 2,000 recipes; `encoder` is the folder of a static model."""
    if data is None:
        print("bench: memory needs tasks to say what it recalls: --data FOLDER", file=sys.stderr)
    else:
        tasks = {name: listed for name, listed in tasks_of(data).items() if len(listed) >= _TASKS + _ASKED}
        cases: list[tuple[str, Made | None]] = [("", None)]
        if encoder:
            cases.append(("_encoder", vectors_of(tasks, encoder)))
        for size in (1, 2, 3, 10, 20, 50, len(tasks) * 3 // 4):
            for suffix, encoded in cases:
                found = [
                    rates(tasks, size, seed, encoded) for seed in range(_SEEDS if size > 5 else _SEEDS * 4)
                ]
                wrong, right, some = (statistics.mean(column) for column in zip(*found, strict=True))
                results[f"memory.unknown_recalled_{size}_percent{suffix}"] = row(wrong, "%")
                results[f"memory.known_right_{size}_percent{suffix}"] = row(right, "%")
                results[f"memory.known_recalled_{size}_percent{suffix}"] = row(some, "%")
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghiklmnoprstuvw", k=chance.randint(4, 9))) for _ in range(8_000)]
    made = {f"t{n}": [" ".join(chance.choices(words, k=12)) for _ in range(3)] for n in range(2_000)}
    large = Table()
    kept, vectors = Recollection(large), no_vectors()
    for name, listed in made.items():
        document = {
            "item": {"item_id": f"recipe:{name}", "memory": "procedural", "text": listed[0], "tools": [name]}
        }
        large.put(name, {**document, "worked": 3, "tasks": listed})
    started = time.perf_counter()
    kept.recall("anything")
    results["memory.opened_2000_ms"] = row((time.perf_counter() - started) * 1000, "ms")
    asked = [" ".join(chance.choices(words, k=14)) for _ in range(60)]
    results["memory.recall_2000_p95_ms"] = row(_slow(kept, asked), "ms")
    with_vectors = Recollection(large, vectors=vectors)
    with_vectors.recall("")
    lacking = [*vectors.missing(""), *asked]
    vectors.keep(lacking, np.random.default_rng(1).normal(size=(len(lacking), _NUMBERS)).tolist())
    results["memory.recall_2000_p95_ms_encoder"] = row(_slow(with_vectors, asked), "ms")


def _slow(kept: Recollection, tasks: Sequence[str]) -> float:
    """Return the milliseconds that 19 of 20 recalls stay below."""
    times = []
    for task in tasks:
        started = time.perf_counter()
        kept.recall(task)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.quantiles(times, n=20)[18]
