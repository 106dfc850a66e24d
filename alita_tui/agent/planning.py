"""Computes what a plan is worth: its own record, drawn towards the records of its tools. Pure.

Constants and form come from a simulation of 15 kinds of task, 10 plans each and 40 tools, which
`tests/benchmarks/bench_planner.py` repeats: valuing plans by their tools beats exploring them (UCB, Thompson sampling)
while each was tried a few times only.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from alita_tui.events import PlanCandidate

_SHRINK = 3.0
"""Weight of the tools' records, in tries of the plan."""
_BONUS = 0.1
"""Weight of the planner's own confidence; more than 0.15 explores too much."""
_COST = 0.01
"""Deduction for one step, for money and time."""
_BUILD_COST = 0.05
"""Deduction for a tool that has to be written, reviewed and approved first."""
UNBUILT = 0.6
"""Assumed reliability of a tool that does not exist yet."""
_FAILED_HERE = 0.2
"""Factor on a tool's reliability once it has failed in the same task."""


def reliability(
    plan: PlanCandidate, reliabilities: Mapping[str, float], failed: Collection[str] = ()
) -> float:
    """Return the chance that all tools of a plan work; `failed` have failed in this task already."""
    return math.prod(
        reliabilities.get(tool, UNBUILT) * (_FAILED_HERE if tool in failed else 1.0) for tool in plan.tools
    )


def value(
    plan: PlanCandidate, reliabilities: Mapping[str, float], tried_together: int, failed: Collection[str] = ()
) -> float:
    """Return what a plan is worth, about 0 to 1.

    `reliabilities` has the reliability of each tool of the library, `tried_together` how often any of the candidates
    was tried, `failed` the tools that failed in this task.
    """
    expected = reliability(plan, reliabilities, failed) * plan.fit
    believed = (plan.worked + _SHRINK * expected) / (plan.tried + _SHRINK)
    if failed and any(tool in failed for tool in plan.tools):
        believed = min(believed, expected)  # its own record does not include this failure
    bonus = _BONUS * plan.confidence * math.sqrt(1 + tried_together) / (1 + plan.tried)
    new = sum(tool not in reliabilities for tool in plan.tools)
    return believed + bonus - _COST * len(plan.steps) - _BUILD_COST * new


def weighed(
    plans: Collection[PlanCandidate], reliabilities: Mapping[str, float], failed: Collection[str] = ()
) -> tuple[PlanCandidate, ...]:
    """Return the plans with what each is worth, in the same order."""
    together = sum(plan.tried for plan in plans)
    return tuple(
        replace(
            plan,
            reliability=round(reliability(plan, reliabilities, failed), 4),
            value=round(value(plan, reliabilities, together, failed), 4),
        )
        for plan in plans
    )
