"""Whether one agent does a task or the lead hands parts of it to others: decided by the plan, or by the person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from alita_tui import events as e
from alita_tui.agent.agents_told import asks_for_team
from alita_tui.agent.prompt import director_prompt
from alita_tui.agent.role import Roles
from alita_tui.agent.tasks import CurrentTask
from alita_tui.events import Value
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus

Setting = Literal["auto", "always", "never"]
_BRANCHES = 2
"""Steps that need nothing of each other from which a task has a director."""
_FIRST_CALL = 3_000
"""Tokens that a call is taken to take where the task has made none."""
_PER_STEP, _PER_AGENT = 2, 6
"""Calls that a step takes one agent, and a part a specialist, where the session knows no better."""
_KNOWN = 3
"""Agents that have reported, from which the session knows better."""


class Director:
    """Decides it once for a task, and once more if a later plan has parts that the first one had not."""

    def __init__(self, bus: Bus, task: CurrentTask, roles: Roles, setting: Setting) -> None:
        self._bus = bus
        self._task = task
        self._setting: Setting = setting if list(roles) else "never"
        self._prompt = director_prompt(roles)

    @property
    def directs(self) -> bool:
        """Whether the present agent leads a task and may hand parts of it on."""
        decided = self._decided
        return self._setting != "never" and decided is not None and decided.directs

    @property
    def prompt(self) -> str:
        """What the lead is told of it; empty where it does not direct."""
        return self._prompt if self.directs else ""

    @property
    def _decided(self) -> e.DirectorChosen | None:
        if origin.delegate():
            return None
        newest = next(iter(self._task.newest(e.DirectorChosen)), None)
        return newest if isinstance(newest, e.DirectorChosen) else None

    async def begin(self, text: str) -> None:
        """Decide as a task begins, where nothing of it has to be known for that."""
        if self._setting == "always":
            await self._choose("setting")
        elif asks_for_team(text):
            await self.ask()

    async def ask(self) -> None:
        """The person wants parts to be handed on."""
        if not self.directs and self._setting != "never":
            await self._choose("person")

    async def consider(self, plan: e.PlanProposed) -> None:
        """Decide by a plan: two open steps that need nothing of each other make a director."""
        if self._setting != "auto" or self.directs:
            return
        apart = branches(plan)
        if len(apart) >= _BRANCHES:
            await self._choose("plan", plan)
        elif self._decided is None and len(plan.steps) > 1:
            await self._choose("single", plan)

    async def _choose(
        self, because: Literal["plan", "person", "setting", "single"], plan: e.PlanProposed | None = None
    ) -> None:
        task_id = self._task.id
        apart = branches(plan) if plan else ()
        left = _open(plan) if plan else ()
        parts = len(apart) if because == "plan" else 0
        made = self._estimated(len(left), parts) if plan else _Estimate()
        chosen = e.DirectorChosen(
            task_id=task_id,
            directs=because != "single",
            because=because,
            branches=apart,
            alone_tokens=made.alone,
            tokens=made.directed,
            usd=made.usd,
        )
        await self._bus.emit(chosen, span=task_id)

    def _estimated(self, steps: int, apart: int) -> _Estimate:
        """Return what the steps that are left are likely to take, by what the task and the session took so far."""
        calls = usd = tokens = 0.0
        unknown = False
        agents: list[int] = []
        for one in self._bus.history.of(e.BudgetSpent, e.AgentEnded):
            match one.event:
                case e.AgentEnded(outcome="reported", tokens=taken):
                    agents.append(taken)
                case e.BudgetSpent(cost_usd=cost, tokens=taken) if one.task_id == self._task.id and taken:
                    calls, tokens, usd = calls + 1, tokens + taken, usd + (cost or 0.0)
                    unknown = unknown or cost is None
                case _:
                    pass
        call = tokens / calls if calls else _FIRST_CALL
        agent = sum(agents) / len(agents) if len(agents) >= _KNOWN else call * _PER_AGENT
        alone = call * _PER_STEP * steps
        directed = agent * apart + call * (_PER_STEP * max(steps - apart, 0) + _PER_STEP)
        price = directed * usd / tokens if usd and not unknown else None
        return _Estimate(
            alone=round(alone), directed=round(directed) if apart else 0, usd=price if apart else None
        )


class _Estimate(Value, frozen=True):
    alone: int = 0
    directed: int = 0
    usd: float | None = None


def branches(plan: e.PlanProposed) -> tuple[str, ...]:
    """Return the steps of a plan that are not done and need nothing of each other."""
    return tuple(step for number, step in _open(plan) if number in plan.apart)


def _open(plan: e.PlanProposed) -> Sequence[tuple[int, str]]:
    status = plan.status or ("open",) * len(plan.steps)
    listed = zip(plan.ids, plan.steps, status, strict=False)
    return [(number, step) for number, step, tick in listed if tick in ("open", "doing")]
