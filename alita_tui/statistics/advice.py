"""Advice from the figures, only with enough evidence; each line names its evidence and a command."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence

from alita_tui.spine.ports.statistics import Advice, Anomaly, Line, Place, Totals
from alita_tui.spine.text import counted

LEAST_RUNS = 8
"""Minimum number of runs of a tool before advice is given about it."""
_FAILING = 0.9
"""A tool is worth a repair if its share of good runs is below this, with 95 % confidence."""
_BUDGET_TASKS = 3


def advice(
    totals: Totals,
    tools: Sequence[Line],
    models: Sequence[Line],
    kinds: Sequence[Line],
    anomalies: Sequence[Anomaly],
) -> tuple[Advice, ...]:
    """Return the advice, most urgent first."""
    lines = [
        *_repairs(tools),
        *_unpriced(models),
        *_budget(kinds),
        *_builds(totals, kinds),
        *_days(anomalies),
    ]
    return tuple(line for line in lines if line.places)


def at_most(ok: int, total: int) -> float:
    """Return the upper end of the 95 % interval of a share (Wilson)."""
    if not total:
        return 1.0
    z, share = 1.96, ok / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (middle + spread) / (1 + z * z / total)


def _repairs(tools: Iterable[Line]) -> list[Advice]:
    failing = [
        line for line in tools if line.judged >= LEAST_RUNS and at_most(line.ok, line.judged) < _FAILING
    ]
    return [
        Advice(
            text=f"{line.name} failed {line.judged - line.ok} of {line.judged} runs."
            " See what it failed on, and repair it.",
            command=f"alita tools improve {shlex.quote(line.name)}",
            places=line.places,
            tool=line.name,
        )
        for line in sorted(failing, key=lambda line: line.ok - line.judged)[:5]
    ]


def _unpriced(models: Iterable[Line]) -> list[Advice]:
    return [
        Advice(
            text=f"{counted(line.unpriced, 'call')} of {line.name} have no known price: the costs here are too low.",
            command="alita config set budget.unknown_usd N",
            places=line.places,
            setting="budget.unknown_usd",
        )
        for line in models
        if line.unpriced >= LEAST_RUNS
    ]


def _budget(kinds: Iterable[Line]) -> list[Advice]:
    return [
        Advice(
            text=f"{counted(line.count, 'task')} stopped at their budget. Raise it, or split such tasks.",
            command="alita config set budget.task_usd N",
            places=line.places,
            setting="budget.task_usd",
        )
        for line in kinds
        if line.name == "task: budget" and line.count >= _BUDGET_TASKS
    ]


def _builds(totals: Totals, kinds: Iterable[Line]) -> list[Advice]:
    lost = [line for line in kinds if line.name.startswith("build: ")]
    count = sum(line.count for line in lost)
    if count < LEAST_RUNS or count <= totals.builds:
        return []
    places: tuple[Place, ...] = tuple(place for line in lost for place in line.places)
    return [
        Advice(
            text=f"{count} builds led to no tool, {totals.builds} did. Another model may build better.",
            command="alita models list",
            places=places,
        )
    ]


def _days(anomalies: Iterable[Anomaly]) -> list[Advice]:
    advices = []
    for anomaly in anomalies:
        if anomaly.what == "cost" and anomaly.places:
            advices.append(
                Advice(
                    text=f"{anomaly.day}: {anomaly.text}. See the dearest calls.",
                    command=f"alita sessions show {shlex.quote(anomaly.places[0].session_id)}",
                    places=anomaly.places,
                )
            )
    return advices[:3]
