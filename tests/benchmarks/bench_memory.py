"""What recall gets right, and how long it takes: recipes of known tasks, and of tasks that nothing known resembles."""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alita_tui.events import Json, MemoryItem
from alita_tui.memory.recall import Recollection
from tests.benchmarks.fit_memory import tasks_of

Row = Callable[..., dict[str, float | str | None]]
_TASKS, _ASKED = 12, 12
_SEEDS = 3


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


def learned(tasks: dict[str, list[str]]) -> Recollection:
    """Return a memory with one recipe for each tool, that has answered these tasks."""
    memory = Recollection(Table())
    for name, answered in tasks.items():
        for number, task in enumerate(answered):
            memory.write(
                MemoryItem(
                    item_id=f"recipe:{name}", memory="procedural", text=task, source_session="s",
                    source_seq=number + 1, tools=(name,),
                )
            )  # fmt: skip
    return memory


def rates(tasks: dict[str, list[str]], size: int, seed: int) -> tuple[float, float, float]:
    """Return, in percent: unknown tasks with a recipe; known ones with the right one, and with one at all."""
    chance = random.Random(seed)
    names = chance.sample(sorted(tasks), len(tasks))
    mixed = {name: chance.sample(tasks[name], len(tasks[name])) for name in names}
    memory = learned({name: mixed[name][:_TASKS] for name in names[:size]})

    def recipes(task: str) -> set[str]:
        return {item.tools[0] for item in memory.recall(task) if item.memory == "procedural"}

    known = [(name, recipes(task)) for name in names[:size] for task in mixed[name][_TASKS : _TASKS + _ASKED]]
    unknown = [recipes(task) for name in names[size:] for task in mixed[name][:_ASKED]]
    return (
        100 * statistics.mean(bool(found) for found in unknown),
        100 * statistics.mean(name in found for name, found in known),
        100 * statistics.mean(bool(found) for _, found in known),
    )


def memory(results: dict[str, Any], row: Row, data: Path | None) -> None:
    """Recall by memories of two sizes, and its time with 2,000 recipes."""
    if data is None:
        print("bench: memory needs tasks to say what it recalls: --data FOLDER", file=sys.stderr)
    else:
        tasks = {name: listed for name, listed in tasks_of(data).items() if len(listed) >= _TASKS + _ASKED}
        for size in (20, len(tasks) * 3 // 4):
            found = [rates(tasks, size, seed) for seed in range(_SEEDS)]
            wrong, right, some = (statistics.mean(column) for column in zip(*found, strict=True))
            results[f"memory.unknown_recalled_{size}_percent"] = row(wrong, "%")
            results[f"memory.known_right_{size}_percent"] = row(right, "%")
            results[f"memory.known_recalled_{size}_percent"] = row(some, "%")
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghiklmnoprstuvw", k=chance.randint(4, 9))) for _ in range(8_000)]
    made = {f"t{n}": [" ".join(chance.choices(words, k=12)) for _ in range(3)] for n in range(2_000)}
    large = Table()
    kept = Recollection(large)
    for name, listed in made.items():
        document = {
            "item": {"item_id": f"recipe:{name}", "memory": "procedural", "text": listed[0], "tools": [name]}
        }
        large.put(name, {**document, "worked": 3, "tasks": listed})
    started = time.perf_counter()
    kept.recall("anything")
    results["memory.opened_2000_ms"] = row((time.perf_counter() - started) * 1000, "ms")
    times = []
    for _ in range(60):
        task = " ".join(chance.choices(words, k=14))
        started = time.perf_counter()
        kept.recall(task)
        times.append((time.perf_counter() - started) * 1000)
    results["memory.recall_2000_p95_ms"] = row(statistics.quantiles(times, n=20)[18], "ms")
