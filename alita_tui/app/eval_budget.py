"""What a run may still spend while several of its cases are under way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from alita_tui.app.eval_costs import Key
from alita_tui.evaluation.results import CaseResult

LEAST_USD = 1e-6
"""With less, nothing is begun."""


class RunBudget:
    """The cap of a run, what its cases have cost, and what those under way may still cost."""

    def __init__(self, cap_usd: float, done: Mapping[Key, CaseResult], freed: asyncio.Event) -> None:
        """`cap_usd`: 0 for none. `done`: the cases that ended. `freed` is set when a case is no longer under way."""
        self.cap_usd, self._done, self._freed = cap_usd, done, freed
        self.held: dict[Key, float] = {}
        """What the cases under way may cost at most."""
        self.partial: dict[Key, float] = {}
        """What was paid for cases that have not ended: they wait, were killed, or the budget was too small."""

    async def reserved(self, own: float, key: Key) -> tuple[float, bool]:
        """Return what a case may cost, and whether that is all that it may. `own`: its cap without the run's; 0: none.

        Waits for cases under way, where they may leave more.
        """
        while True:
            left = self.left_for(key)
            if own and left >= own:
                return own, True
            if not self.held:
                return (left if left > LEAST_USD else 0.0), False
            self._freed.clear()
            await self._freed.wait()

    def left_for(self, key: Key) -> float:
        """Return what the run's budget leaves for a case, with what it has cost so far."""
        spent = sum(result.usd + result.judge_usd for result in self._done.values())
        spent += sum(usd for name, usd in self.partial.items() if name != key)
        return self.cap_usd - spent - sum(usd for name, usd in self.held.items() if name != key)
