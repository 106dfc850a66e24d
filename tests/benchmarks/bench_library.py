"""Measures the search of the library: how often it finds the right tool or says that there is none, and how fast it is.

Quality is measured before and after use, on the tools and questions of a folder (`--data`, see `retrieval_set.py`), through
the classes that the product searches with; speed is measured on generated tools.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from alita_tui.llm.embedding import StaticModel
from alita_tui.registry.index_cache import IndexCache
from alita_tui.registry.search import ToolIndex, wording
from alita_tui.spine.ranking import Served
from alita_tui.spine.ranking.vectors import Vectors
from tests.benchmarks.retrieval_set import Questions, library, made_up, read

Row = Callable[..., dict[str, float | str | None]]
_USES = {"untrained": 0, "5_uses": 5, "20_uses": 20}
_SEEDS = (0, 1, 2)
_PARTS = 5
"""Parts of the tools, of which one at a time is hidden."""
_NEAREST_READ = 5


class Quality(NamedTuple):
    """Shares of the questions, in percent; one of the library's tools answers each question."""

    first: float
    """With the right tool first (R@1)."""
    five: float
    """With it among the first five (R@5)."""
    visible: float
    """With it among what the model is shown, as a hit or as a near miss."""


def encoded(questions: Questions, uses: int, encoder: StaticModel) -> Vectors:
    """Return the vectors of a library after a number of uses of each tool."""
    vectors = Vectors(encoder.name, IndexCache(Path(os.devnull)))
    tools = library(questions.tools, questions.learned, uses)
    vectors.know({
        str(tool.draft.name): (wording(tool), tuple(need.query for need in served)) for tool, served in tools
    })  # fmt: skip
    texts = vectors.missing("")
    vectors.keep(texts, asyncio.run(encoder.encode(texts)).vectors)
    return vectors


def quality(questions: Questions, uses: int, encoder: StaticModel | None = None) -> Quality:
    """Return how often a library finds the right tool after a number of uses of each tool."""
    index = ToolIndex()
    index.update(library(questions.tools, questions.learned, uses))
    vectors = encoded(questions, uses, encoder) if encoder else None
    first = five = visible = 0
    for question, right in questions.asked:
        cosines = None
        if encoder and vectors:
            vectors.keep([question], asyncio.run(encoder.encode([question])).vectors)
            cosines = vectors.cosines(question)
        result = index.search(question, _NEAREST_READ, cosines=cosines)
        shown = [str(hit.card.name) for hit in result.hits] + [miss.name for miss in result.near_misses]
        ranked = [match.key for match in index.rank(question, cosines)[:_NEAREST_READ]]
        first += ranked[:1] == [right]
        five += right in ranked
        visible += right in shown
    whole = len(questions.asked) / 100
    return Quality(first / whole, five / whole, visible / whole)


def gap_auroc(questions: Questions, uses: int, seed: int = 0, step: int = 2) -> float:
    """Return the AUROC of the prior: how well it separates questions that a tool answers from those whose tool is hidden."""
    names = sorted(questions.tools)
    random.Random(seed).shuffle(names)
    part = {name: place % _PARTS for place, name in enumerate(names)}
    present: list[float] = []
    hidden: list[float] = []
    for absent in range(_PARTS):
        index = ToolIndex()
        indexed = {name: text for name, text in questions.tools.items() if part[name] != absent}
        index.update(library(indexed, questions.learned, uses))
        for question, right in questions.asked[absent % step :: step]:
            (hidden if part[right] == absent else present).append(index.search(question, 5).prior)
    return auroc(present, hidden)


def auroc(above: Iterable[float], below: Iterable[float]) -> float:
    """Return how often a value of `above` exceeds one of `below`; ties count half."""
    ordered = sorted([(value, 1) for value in above] + [(value, 0) for value in below])
    ranks: dict[float, float] = {}
    at = 0
    while at < len(ordered):
        end = at
        while end < len(ordered) and ordered[end][0] == ordered[at][0]:
            end += 1
        ranks[ordered[at][0]] = (at + 1 + end) / 2
        at = end
    first = [ranks[value] for value, kind in ordered if kind]
    others = len(ordered) - len(first)
    return (sum(first) - len(first) * (len(first) + 1) / 2) / (len(first) * others)


def _quality_rows(
    results: dict[str, dict[str, float | str | None]], row: Row, data: Path, encoder: Path | None
) -> None:
    sets = [read(data, seed) for seed in _SEEDS]
    for name, uses in _USES.items() if encoder else ():
        model = StaticModel(encoder)  # type: ignore[arg-type]
        qualities = [quality(questions, uses, model) for questions in sets]
        for place, measure in enumerate(("r1", "r5", "visible")):
            results[f"library.encoder_{measure}_{name}"] = row(
                statistics.mean(measured[place] for measured in qualities), "%"
            )
    for name, uses in _USES.items():
        qualities = [quality(questions, uses) for questions in sets]
        for place, measure in enumerate(("r1", "r5", "visible")):
            results[f"library.{measure}_{name}"] = row(
                statistics.mean(measured[place] for measured in qualities), "%"
            )
        results[f"library.gap_auroc_{name}"] = row(gap_auroc(sets[0], uses) * 100, "%")


def _scale(results: dict[str, dict[str, float | str | None]], row: Row, count: int) -> None:
    tools = list(made_up(count, 20))
    chance = random.Random(2)
    queries = [served[0].query for _, served in chance.sample(tools, 200)]
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        cache = IndexCache(Path(folder) / "tools.index")
        index = ToolIndex(cache)
        index.update(tools)
        index.search(queries[0], 5)
        opened = []
        for _ in range(3):
            began = time.perf_counter()
            index = ToolIndex(cache)
            index.update(tools)
            index.search(queries[0], 5)
            opened.append(time.perf_counter() - began)
        took = sorted(_milliseconds(lambda query=query: index.search(query, 5)) for query in queries)  # type: ignore[misc]
        changed = []
        for number in range(30):
            record, served = tools[number]
            more = [*served, Served(query=f"what it was asked for lately, the {number}th time")]
            changed.append(_milliseconds(lambda record=record, more=more: index.change(record, more)))  # type: ignore[misc]
    results[f"library.search_{count}_p95_ms"] = row(took[len(took) * 95 // 100], "ms")
    results[f"library.search_{count}_p50_ms"] = row(statistics.median(took), "ms")
    results[f"library.open_{count}_ms"] = row(statistics.median(opened) * 1000, "ms")
    results[f"library.update_{count}_ms"] = row(statistics.median(changed), "ms")


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def tools(
    results: dict[str, dict[str, float | str | None]],
    row: Row,
    data: Path | None,
    encoder: Path | None = None,
) -> None:
    """Fill in the figures of the library's search; `encoder` is the folder of a static model."""
    if data is not None:
        _quality_rows(results, row, data, encoder)
    else:
        print("bench: how well the library finds is measured on a set: --data FOLDER", file=sys.stderr)
    for count in (2_000, 10_000):
        _scale(results, row, count)
