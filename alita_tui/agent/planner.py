"""The planner: compares plans for a task, follows the most promising one, and compares again when a tool fails.

A model call is spent only if the records can distinguish the plans. What a plan is worth is its own record, drawn
towards the records of its tools. Constants and form come from a simulation of 15 kinds of task, 10 plans each and 40
tools, which `tests/benchmarks/bench_planner.py` repeats: valuing plans by their tools beats exploring them (UCB,
Thompson sampling) while each was tried a few times only.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.calling import calls_of, items_of
from alita_tui.agent.prompt import prompt_text
from alita_tui.agent.tasks import CurrentTask
from alita_tui.events import MemoryItem, PlanCandidate, Value
from alita_tui.events.task import MOST_REPLANS
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.fence import fenced
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.memory import Memory
from alita_tui.spine.ports.models import Asker, ToolSpec
from alita_tui.spine.text import clip, one_line

_SECONDS = 30.0
_REPLY_TOKENS = 900
_TASK = 4_000
"""Characters of the task that the planner reads."""
_CARDS = 15
_STEP, _STEPS, _TOOLS = 200, 8, 8
"""Limits on a reply: characters of a step, steps of a plan, tools of a plan."""
_USED = 3
"""Fewest runs that make a tool's record meaningful."""
_COMPARABLE = 2
"""Tools with such a record that make plans comparable."""
_CERTAIN_TRIES, _CERTAIN = 3, 0.75
"""Tries and worth from which a recipe is followed without asking for other plans."""
_OWN = 0.6
"""Confidence assumed for a plan that comes without one."""

_TOOL = ToolSpec(
    name="propose_plans",
    description="Propose other plans for the task.",
    parameters={
        "type": "object",
        "properties": {
            "plans": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "steps": {"type": "array", "items": {"type": "string"}},
                        "tools": {"type": "array", "items": {"type": "string"}},
                        "confidence": {"type": "number"},
                    },
                    "required": ["steps", "tools", "confidence"],
                },
            }
        },
        "required": ["plans"],
    },
)


class _Proposed(Value, frozen=True):
    steps: list[str]
    tools: list[str] = []
    confidence: float = _OWN


class Planner:
    """Weighs the plans of the newest task."""

    def __init__(
        self, bus: Bus, asker: Asker, shelf: ToolShelf, memory: Memory, task: CurrentTask, *, candidates: int
    ) -> None:
        """`candidates` is how many plans are compared at most; with 1 the agent's own is followed."""
        self._bus = bus
        self._asker = asker
        self._shelf = shelf
        self._memory = memory
        self._task = task
        self._candidates = candidates

    async def weigh(self, steps: Sequence[str], recipe: str) -> e.PlansWeighed | None:
        """Compare the agent's plan with others; return None if there is nothing to compare it with."""
        latest = self._task.latest
        if latest is None or self._candidates < 2 or len(steps) < 2:
            return None
        reliabilities = self._reliabilities()
        items = self._recalled()
        own = PlanCandidate(
            steps=tuple(steps),
            tools=_tools_named(steps, reliabilities),
            source="agent",
            recipe=recipe,
            confidence=_OWN,
        )
        remembered = [_from_recipe(item) for item in items if item.item_id != recipe]
        plans = [own, *remembered[:1]]
        plans = self._weighed(plans, reliabilities)
        certain = any(
            plan.recipe and plan.tried >= _CERTAIN_TRIES and plan.value >= _CERTAIN for plan in plans
        )
        comparable = sum(card.runs >= _USED for card in self._shelf.cards()) >= _COMPARABLE
        if not certain and (remembered or comparable) and len(plans) < self._candidates:
            more = await self._proposed(latest.text, steps)
            compared = {plan.tools for plan in plans}
            plans += [plan for plan in more if plan.tools not in compared][: self._candidates - len(plans)]
            plans = self._weighed(plans, reliabilities)
        if len(plans) < 2:
            return None
        return e.PlansWeighed(task_id=latest.task_id, candidates=tuple(plans), chosen=_best(plans))

    def reweigh(self, happened: Sequence[Envelope]) -> e.PlansWeighed | None:
        """Weigh the task's plans again once a tool has failed; return None if the plan stays."""
        before = [*self._task.newest(e.PlansWeighed)]
        if not before or len(before) > MOST_REPLANS:
            return None
        failed_now = _failed(happened)
        last = before[0]
        current = last.followed
        if current is None or not any(tool in failed_now for tool in current.tools):
            return None
        failed = failed_now | {event.because for event in before if event.because}
        plans = self._weighed(last.candidates, self._reliabilities(), failed)
        best = _best(plans)
        if best == last.chosen:
            return None
        because = next(tool for tool in current.tools if tool in failed_now)
        return replace(last, candidates=tuple(plans), chosen=best, because=because)

    def _weighed(
        self, plans: Sequence[PlanCandidate], reliabilities: dict[str, float], failed: set[str] | None = None
    ) -> list[PlanCandidate]:
        records = [(plan, self._memory.record(plan.tools)) for plan in plans]
        fresh = [
            replace(plan, worked=worked, tried=worked + failures) for plan, (worked, failures) in records
        ]
        return list(weighed(fresh, reliabilities, failed or ()))

    def _reliabilities(self) -> dict[str, float]:
        return {
            card.name: self._shelf.reliability(card.name, card.version).value for card in self._shelf.cards()
        }

    def _recalled(self) -> list[MemoryItem]:
        """Return the recipes that were recalled for the task, best first."""
        recalled = next(self._task.newest(e.MemoryRecalled), None)
        items = recalled.items if recalled else ()
        return [item for item in items if item.memory == "procedural" and item.tools]

    async def _proposed(self, task: str, steps: Sequence[str]) -> list[PlanCandidate]:
        """Return the planner's proposals; empty if its call fails, which the stream then records."""
        hits = await asyncio.to_thread(self._shelf.search, task, limit=_CARDS)
        reliabilities = self._reliabilities()
        lines = [
            f"- {hit.card.name}: {one_line(hit.card.description, 200)} "
            f"(relied on {reliabilities.get(hit.card.name, 0):.2f})"
            for hit in hits.hits
        ]
        prompt = "\n".join(
            (
                f"The task: {clip(task, _TASK)[0]}",
                "The agent's plan:",
                *(f"{number}. {step}" for number, step in enumerate(steps, 1)),
                "The library:",
                fenced("library", "\n".join(lines) or "It has nothing that fits."),
            )
        )
        calls = await calls_of(
            self._asker,
            _TOOL,
            role="planner",
            system=prompt_text("planner"),
            prompt=prompt,
            reply_tokens=_REPLY_TOKENS,
            seconds=_SECONDS,
        )
        plans = map(_plan, items_of(calls, "plans", _Proposed))
        return [plan for plan in plans if plan]


def _best(plans: Sequence[PlanCandidate]) -> int:
    return max(range(len(plans)), key=lambda place: plans[place].value)


def _tools_named(steps: Sequence[str], names: Sequence[str] | dict[str, float]) -> tuple[str, ...]:
    """Return the tools of the library that steps name, in their order."""
    words = [word.strip("`'\".,;:()") for step in steps for word in step.split()]
    return tuple(dict.fromkeys(word for word in words if word in names))


def _from_recipe(item: MemoryItem) -> PlanCandidate:
    steps = (*(f"Run {tool}" for tool in item.tools), "Answer from what came back")
    fit = max(item.score, 0.5)
    return PlanCandidate(
        steps=steps, tools=item.tools, source="recipe", recipe=item.item_id, confidence=item.score, fit=fit
    )


def _plan(proposed: _Proposed) -> PlanCandidate | None:
    """Return a proposal as a plan, within its limits; None if it is too short or its confidence is impossible."""
    steps = tuple(str(one_line(step, _STEP)) for step in proposed.steps if step.strip())[:_STEPS]
    if len(steps) < 2 or not 0 <= proposed.confidence <= 1:
        return None
    tools = tuple(tool for tool in proposed.tools if tool.isidentifier())[:_TOOLS]
    fit = 0.5 + proposed.confidence / 2  # only its author vouches for it, so it counts half
    return PlanCandidate(steps=steps, tools=tools, source="planner", confidence=proposed.confidence, fit=fit)


def _failed(happened: Sequence[Envelope]) -> set[str]:
    """Return the tools whose runs failed."""
    called: dict[str, str] = {}
    failed: set[str] = set()
    for envelope in happened:
        match envelope.event:
            case e.ToolCalled(call_id=call_id, name=name):
                called[call_id] = name
            case e.ToolFailed(call_id=call_id, report=report) if report is not None:
                failed |= {called[call_id]} if call_id in called else set()
            case _:
                pass
    return failed


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
