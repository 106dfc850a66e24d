"""Would the draft's own tests notice if it were wrong? Mutants of its code run against them in the sandbox."""

from __future__ import annotations

import asyncio

from alita_tui.spine.values import GateName, GateResult, GateRow
from alita_tui.toolsmith.gates.case import Case, CouldNotRun, Workbench, failed, passed
from alita_tui.toolsmith.gates.mutants import mutants

_MOST = 24
_ENOUGH = 0.6
"""Share of the mutants that tests have to notice."""
_SURVIVORS_SHOWN = 8


class Mutation:
    """Share of the mutants that the tests catch."""

    name: GateName = "mutation"

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def check(self, case: Case) -> GateResult:
        """See `Gate.check`."""
        made = await asyncio.to_thread(mutants, case.draft.code, _MOST)
        if not made:
            raise CouldNotRun("there is no operator or constant to flip")
        whole = case.draft.code
        answers = await self._bench.work(
            "mutants", case, pieces=[whole, *(one.code for one in made)], seconds=2.0, total=15.0
        )
        if not answers or not answers[0].get("survived"):
            raise CouldNotRun("the unchanged code does not pass its tests when it is loaded like a mutant")
        ran = list(zip(made, answers[1:], strict=False))
        if not ran:
            raise CouldNotRun("one run of the tests takes too long to try mutants")
        alive = [mutant for mutant, answer in ran if answer.get("survived")]
        caught = len(ran) - len(alive)
        share = caught / len(ran)
        said = f"the tests catch {caught} of {len(ran)} mutants ({share:.0%}; {_ENOUGH:.0%} is asked)"
        rows = [
            GateRow(label=f"line {one.line}", text=f"{one.change}: no test noticed", tone="warn")
            for one in alive[:_SURVIVORS_SHOWN]
        ]
        if len(alive) > _SURVIVORS_SHOWN:
            rows.append(GateRow(label="", text=f"and {len(alive) - _SURVIVORS_SHOWN} more", tone="muted"))
        if len(ran) < len(made):
            rows.append(
                GateRow(label="not tried", text=f"{len(made) - len(ran)}, for lack of time", tone="muted")
            )
        return passed(self.name, said, rows) if share >= _ENOUGH else failed(self.name, said, rows)
