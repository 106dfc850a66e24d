"""Decides by the plan or the person's wish whether one agent does a task or the lead delegates parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from alita_tui import events as e
from alita_tui.agent.agent_messages import asks_for_team
from alita_tui.agent.prompt import director_prompt
from alita_tui.agent.role import Roles
from alita_tui.agent.tasks import CurrentTask
from alita_tui.events import Value
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus

Setting = Literal["auto", "always", "never"]
_BRANCHES = 2
"""Independent steps from which a task gets a director."""
_FIRST_CALL = 3_000
"""Assumed tokens of a call in a task without any call so far."""
_PER_STEP, _PER_AGENT = 2, 6
"""Assumed calls of one agent for a step, and of a specialist for a part, until the session has figures of its own."""
_KNOWN = 3
"""Reports of agents from which the session's own figures are used."""


class Director:
    """Decides once per task, and again if a later plan has independent parts that the first one lacked."""

    def __init__(self, bus: Bus, task: CurrentTask, roles: Roles, setting: Setting) -> None:
        self._bus = bus
        self._task = task
        self._setting: Setting = setting if list(roles) else "never"
        self._prompt = director_prompt(roles)

    @property
    def directs(self) -> bool:
        """Whether the present agent leads a task and may delegate parts of it."""
        decided = self._decided
        return self._setting != "never" and decided is not None and decided.directs

    @property
    def prompt(self) -> str:
        """The part of the lead's prompt about directing; empty if it does not direct."""
        return self._prompt if self.directs else ""

    @property
    def _decided(self) -> e.DirectorChosen | None:
        if origin.delegate():
            return None
        return next(self._task.newest(e.DirectorChosen), None)

    async def begin(self, text: str) -> None:
        """Decide as a task begins, if that is possible without a plan."""
        if self._setting == "always":
            await self._choose("setting")
        elif asks_for_team(text):
            await self.ask()

    async def ask(self) -> None:
        """Record that the person asks for several agents."""
        if self._setting == "never":
            text = "One agent does this task: agents.director is never, or there is no role."
            await self._bus.emit(e.NoticeRaised(level="info", text=text))
        elif not self.directs:
            await self._choose("person")

    async def consider(self, plan: e.PlanProposed) -> None:
        """Decide by a plan: with two independent open steps the lead becomes a director."""
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
        open_steps = _open(plan) if plan else ()
        parts = len(apart) if because == "plan" else 0
        estimate = self._estimated(len(open_steps), parts) if plan else _Estimate()
        chosen = e.DirectorChosen(
            task_id=task_id,
            directs=because != "single",
            because=because,
            branches=apart,
            alone_tokens=estimate.alone,
            tokens=estimate.directed,
            usd=estimate.usd,
        )
        await self._bus.emit(chosen, span=task_id)

    def _estimated(self, steps: int, apart: int) -> _Estimate:
        """Estimate the cost of the remaining steps from the spend of the task and the session so far."""
        calls = usd = tokens = 0.0
        unknown = False
        agents: list[int] = []
        for envelope in self._bus.history.of(e.BudgetSpent, e.AgentEnded):
            match envelope.event:
                case e.AgentEnded(outcome="reported", tokens=used):
                    agents.append(used)
                case e.BudgetSpent(cost_usd=cost, tokens=used) if envelope.task_id == self._task.id and used:
                    calls, tokens, usd = calls + 1, tokens + used, usd + (cost or 0.0)
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
    """Return the open steps of a plan that are independent of each other."""
    return tuple(step for number, step in _open(plan) if number in plan.apart)


def _open(plan: e.PlanProposed) -> Sequence[tuple[int, str]]:
    status = plan.status or ("open",) * len(plan.steps)
    listed = zip(plan.ids, plan.steps, status, strict=False)
    return [(number, step) for number, step, tick in listed if tick in ("open", "doing")]
