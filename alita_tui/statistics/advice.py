"""What would help, said only where enough rows speak for it, each line with these rows and a command."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from alita_tui.spine.ports.statistics import Advice, Anomaly, Line, Place, Totals
from alita_tui.spine.text import counted

LEAST_RUNS = 8
"""Runs of a tool before anything is said of it."""
_FAILING = 0.9
"""A tool whose share of good runs is below, with 95 % confidence, is worth a repair."""
_BUDGET_TASKS = 3


def advice(
    totals: Totals,
    tools: Sequence[Line],
    models: Sequence[Line],
    kinds: Sequence[Line],
    anomalies: Sequence[Anomaly],
) -> tuple[Advice, ...]:
    """Return what to do, the most pressing first."""
    found = [
        *_repairs(tools),
        *_unpriced(models),
        *_budget(kinds),
        *_builds(totals, kinds),
        *_days(anomalies),
    ]
    return tuple(one for one in found if one.places)


def at_most(ok: int, of: int) -> float:
    """Return the upper end of the 95 % interval of a share (Wilson)."""
    if not of:
        return 1.0
    z, share = 1.96, ok / of
    middle = share + z * z / (2 * of)
    spread = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle + spread) / (1 + z * z / of)


def _repairs(tools: Iterable[Line]) -> list[Advice]:
    failing = [one for one in tools if one.judged >= LEAST_RUNS and at_most(one.ok, one.judged) < _FAILING]
    return [
        Advice(
            text=f"{one.name} failed {one.judged - one.ok} of {one.judged} runs. See what it failed on, and repair it.",
            command=f"alita tools improve {one.name}",
            places=one.places,
            tool=one.name,
        )
        for one in sorted(failing, key=lambda one: one.ok - one.judged)[:5]
    ]


def _unpriced(models: Iterable[Line]) -> list[Advice]:
    return [
        Advice(
            text=f"{counted(one.unpriced, 'call')} of {one.name} have no known price: the costs here are too low.",
            command="alita config set budget.unknown_usd N",
            places=one.places,
        )
        for one in models
        if one.unpriced >= LEAST_RUNS
    ]


def _budget(kinds: Iterable[Line]) -> list[Advice]:
    return [
        Advice(
            text=f"{counted(one.count, 'task')} stopped at their budget. Raise it, or split such tasks.",
            command="alita config set budget.task_usd N",
            places=one.places,
        )
        for one in kinds
        if one.name == "task: budget" and one.count >= _BUDGET_TASKS
    ]


def _builds(totals: Totals, kinds: Iterable[Line]) -> list[Advice]:
    lost = [one for one in kinds if one.name.startswith("build: ")]
    count = sum(one.count for one in lost)
    if count < LEAST_RUNS or count <= totals.builds:
        return []
    places: tuple[Place, ...] = tuple(place for one in lost for place in one.places)
    return [
        Advice(
            text=f"{count} builds led to no tool, {totals.builds} did. Another model may build better.",
            command="alita models list",
            places=places,
        )
    ]


def _days(anomalies: Iterable[Anomaly]) -> list[Advice]:
    found = []
    for one in anomalies:
        if one.what == "cost" and one.places:
            found.append(
                Advice(
                    text=f"{one.day}: {one.text}. See the dearest calls.",
                    command=f"alita sessions show {one.places[0].session_id}",
                    places=one.places,
                )
            )
    return found[:3]
