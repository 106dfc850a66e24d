"""The planner: compares plans for a task, follows the most promising one, and compares again when a tool fails.

A model call is spent only if the records can distinguish the plans.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.resources import files

import msgspec
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.one_call import calls_of
from alita_tui.agent.planning import weighed
from alita_tui.agent.tasks import CurrentTask
from alita_tui.events import Json, MemoryItem, PlanCandidate, Value, ready
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
        before = [event for event in self._task.newest(e.PlansWeighed) if isinstance(event, e.PlansWeighed)]
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
        recalled = next(iter(self._task.newest(e.MemoryRecalled)), None)
        items = recalled.items if isinstance(recalled, e.MemoryRecalled) else ()
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
            system=files("alita_tui.agent.prompts").joinpath("planner.md").read_text("utf-8"),
            prompt=prompt,
            reply_tokens=_REPLY_TOKENS,
            seconds=_SECONDS,
        )
        return [plan for arguments in calls for plan in _plans(arguments)]


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


def _plans(arguments: Json) -> list[PlanCandidate]:
    listed = arguments.get("plans") if isinstance(arguments, dict) else None
    plans = []
    for fields in listed if isinstance(listed, list) else ():
        try:
            proposed = msgspec.convert(fields, ready(_Proposed))
        except msgspec.ValidationError:
            continue
        steps = tuple(str(one_line(step, _STEP)) for step in proposed.steps if step.strip())[:_STEPS]
        if len(steps) > 1 and 0 <= proposed.confidence <= 1:
            tools = tuple(tool for tool in proposed.tools if tool.isidentifier())[:_TOOLS]
            confidence = proposed.confidence
            fit = 0.5 + confidence / 2  # only its author vouches for it, so it counts half
            plans.append(
                PlanCandidate(steps=steps, tools=tools, source="planner", confidence=confidence, fit=fit)
            )
    return plans


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
