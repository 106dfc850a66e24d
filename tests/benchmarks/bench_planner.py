"""Choosing among plans: a simulation of 15 kinds of task, 10 plans for each and 40 tools, 6 of them broken.

Every task offers four of its kind's plans, with a confidence that says little. Tools work or fail one by one; a plan
whose tools all work answers the task if it fits. The choice is the product's own (`agent/planner.py`), on records
that the simulation keeps as the product keeps them. The oracle knows every chance.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from alita_tui.agent.planner import weighed
from alita_tui.events import PlanCandidate

_KINDS, _PLANS, _TOOLS, _BROKEN = 15, 10, 40, 6
_OFFERED, _TASKS, _SEEDS = 4, 600, 60
_NOISE = 0.35
"""Standard deviation of the confidence around the true chance."""
_GOOD, _RUNS = 3.4, 4.0
"""What is taken for known of an approved tool, as in `registry/trust.py`."""


@dataclass
class _Plan:
    tools: tuple[int, ...]
    fit: float
    chance: float
    worked: int = 0
    tried: int = 0


@dataclass
class _World:
    seed: int
    chances: list[float] = field(default_factory=list)
    kinds: list[list[_Plan]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.chances = [self.random.uniform(0.7, 1.0) for _ in range(_TOOLS)]
        for broken in self.random.sample(range(_TOOLS), _BROKEN):
            self.chances[broken] = self.random.uniform(0.0, 0.2)
        for _ in range(_KINDS):
            plans = []
            for _ in range(_PLANS):
                tools = tuple(self.random.sample(range(_TOOLS), self.random.randint(2, 3)))
                fit = self.random.uniform(0.2, 1.0)
                plans.append(_Plan(tools, fit, fit * math.prod(self.chances[tool] for tool in tools)))
            self.kinds.append(plans)
        self.good, self.runs = [_GOOD] * _TOOLS, [_RUNS] * _TOOLS

    def offer(self) -> list[tuple[_Plan, float]]:
        """Return the plans that a task comes with, and how sure their author is of each."""
        offered = self.random.sample(self.random.choice(self.kinds), _OFFERED)
        return [(plan, min(max(plan.chance + self.random.gauss(0, _NOISE), 0.0), 1.0)) for plan in offered]

    def follow(self, plan: _Plan) -> tuple[bool, str]:
        """Return whether the plan answered the task, and the tool that failed."""
        plan.tried += 1
        for tool in plan.tools:
            self.runs[tool] += 1
            if self.random.random() >= self.chances[tool]:
                return False, str(tool)
            self.good[tool] += 1
        answered = self.random.random() < plan.fit
        plan.worked += answered
        return answered, ""


Choice = Callable[[_World, Sequence[tuple[_Plan, float]], set[str]], int]
"""Chooses one of the plans that are left; the tools that failed in this task are named."""


def ours(world: _World, offered: Sequence[tuple[_Plan, float]], failed: set[str]) -> int:
    """Choose as the product does."""
    known = {
        str(tool): good / runs for tool, (good, runs) in enumerate(zip(world.good, world.runs, strict=True))
    }
    plans = [
        PlanCandidate(
            steps=tuple(map(str, plan.tools)),
            tools=tuple(map(str, plan.tools)),
            confidence=sure,
            fit=0.5 + sure / 2,
            worked=plan.worked,
            tried=plan.tried,
        )
        for plan, sure in offered
    ]
    values = [plan.value for plan in weighed(plans, known, failed)]
    return values.index(max(values))


def oracle(world: _World, offered: Sequence[tuple[_Plan, float]], failed: set[str]) -> int:
    """Choose as one that knows every chance."""
    chances = [plan.chance for plan, _ in offered]
    return chances.index(max(chances))


def sure(world: _World, offered: Sequence[tuple[_Plan, float]], failed: set[str]) -> int:
    """Choose the plan whose author is surest."""
    confidence = [confidence for _, confidence in offered]
    return confidence.index(max(confidence))


def success(choice: Choice, seeds: int = _SEEDS, replans: int = 1) -> float:
    """Return the share of tasks that were answered."""
    answered = 0
    for seed in range(seeds):
        world = _World(seed)
        for _ in range(_TASKS):
            offered = world.offer()
            failed: set[str] = set()
            for _ in range(1 + replans):
                plan, _ = offered.pop(choice(world, offered, failed))
                done, tool = world.follow(plan)
                if done:
                    answered += 1
                    break
                failed |= {tool} - {""}
    return answered / seeds / _TASKS


def planner(results: dict[str, dict[str, Any]], row: Callable[..., dict[str, Any]]) -> None:
    """Fill in how near the choice comes to the oracle's, with one replan and without."""
    results["planner.share_of_oracle"] = row(success(ours), "", success(oracle))
    results["planner.share_of_oracle_no_replan"] = row(
        success(ours, replans=0), "", success(oracle, replans=0)
    )
    results["planner.surest_share_of_oracle"] = row(success(sure), "", success(oracle))


if __name__ == "__main__":
    for replans in (0, 1):
        for choice in (sure, ours, oracle):
            print(replans, choice.__name__, round(100 * success(choice, 10, replans), 1))
