"""The budget of a run, shared by the cases that run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from alita_tui.app.evaluation.costs import Key
from alita_tui.evaluation.results import CaseResult

LEAST_USD = 1e-6
"""No case or judge begins with less, in US dollars."""


class RunBudget:
    """The cap of a run, what its cases have cost, and what the running ones may still cost."""

    def __init__(self, cap_usd: float, done: Mapping[Key, CaseResult], freed: asyncio.Event) -> None:
        """`cap_usd`: 0 for none. `done`: the cases that ended. `freed` is set when a case stops running."""
        self.cap_usd, self._done, self._freed = cap_usd, done, freed
        self.held: dict[Key, float] = {}
        """The most that each running case may cost."""
        self.partial: dict[Key, float] = {}
        """What was paid for cases that have not ended: they wait, were killed, or the budget was too small."""

    async def cap_for(self, key: Key, own_usd: float) -> tuple[float, bool]:
        """Return the cap for a case, and whether it is `own_usd`, its cap without the run's budget (0 for none).

        If the run has less left than that, wait for running cases, which may give back part of theirs; then return
        what is left, or 0 if that is too little to begin with.
        """
        while True:
            left = self.left_for(key)
            if own_usd and left >= own_usd:
                return own_usd, True
            if not self.held:
                return (left if left > LEAST_USD else 0.0), False
            self._freed.clear()
            await self._freed.wait()

    def left_for(self, key: Key) -> float:
        """Return what the run's budget leaves for a case, its own cost so far included."""
        spent = sum(result.usd + result.judge_usd for result in self._done.values())
        spent += sum(usd for name, usd in self.partial.items() if name != key)
        return self.cap_usd - spent - sum(usd for name, usd in self.held.items() if name != key)
