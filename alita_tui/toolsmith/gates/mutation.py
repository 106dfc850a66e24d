"""Would the draft's own tests notice if it were wrong? Mutants of its code run against them in the sandbox."""

from __future__ import annotations

import asyncio

import msgspec

from alita_tui.spine.text import one_line
from alita_tui.spine.values import GateName, GateResult, GateRow
from alita_tui.toolsmith.gates.case import Case, CouldNotRun, Workbench, failed, passed, tests_of
from alita_tui.toolsmith.gates.judged import Tested
from alita_tui.toolsmith.gates.mutants import disguised, mutants

_MOST = 24
_ENOUGH = 0.6
"""Share of the mutants that tests have to notice."""
_SURVIVORS_SHOWN = 8
_SECONDS = 2.0
_TOTAL = 15.0
_ELSEWHERE = "/tmp/elsewhere"  # noqa: S108  # the sandbox's own
_HELD_TO_THE_TEXT = "the tests hold to how the code is written: under another name, path and lines they fail"


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
        other = await asyncio.to_thread(disguised, case.draft.code)
        pieces = [
            tests_of(case, seconds=_SECONDS),
            msgspec.structs.replace(
                tests_of(case, code=other, seconds=_SECONDS),
                module=f"{case.draft.name}_again",
                folder=_ELSEWHERE,
            ),
            *(tests_of(case, code=one.code, seconds=_SECONDS, stop=True) for one in made),
        ]
        found = [
            one for one in await self._bench.judge(case, pieces, total=_TOTAL) if isinstance(one, Tested)
        ]
        if not found[0].good:
            raise CouldNotRun("the unchanged code does not pass its tests here")
        idle = [
            GateRow(label=one.name, text="it never calls run, so it proves nothing", tone="warn")
            for one in found[0].cases
            if not one.calls
        ]
        if len(idle) == len(found[0].cases):
            return failed(self.name, "no test calls run", idle)
        if len(found) > 1 and not found[1].good:
            return failed(self.name, _HELD_TO_THE_TEXT, [*_failures(found[1]), *idle])
        ran = list(zip(made, found[2:], strict=False))
        if not ran:
            raise CouldNotRun("one run of the tests takes too long to try mutants")
        alive = [mutant for mutant, tested in ran if tested.good]
        caught = len(ran) - len(alive)
        share = caught / len(ran)
        said = f"the tests catch {caught} of {len(ran)} mutants ({share:.0%}; {_ENOUGH:.0%} is asked)"
        if idle:
            said += f"; {len(idle)} of {len(found[0].cases)} tests never call run"
        rows = [
            *idle,
            *(
                GateRow(label=f"line {one.line}", text=f"{one.change}: no test noticed", tone="warn")
                for one in alive[:_SURVIVORS_SHOWN]
            ),
        ]
        if len(alive) > _SURVIVORS_SHOWN:
            rows.append(GateRow(label="", text=f"and {len(alive) - _SURVIVORS_SHOWN} more", tone="muted"))
        if len(ran) < len(made):
            rows.append(
                GateRow(label="not tried", text=f"{len(made) - len(ran)}, for lack of time", tone="muted")
            )
        return passed(self.name, said, rows) if share >= _ENOUGH else failed(self.name, said, rows)


def _failures(tested: Tested) -> list[GateRow]:
    wrong = [one for one in tested.cases if not one.passed]
    if not wrong:
        return [GateRow(label="", text=one_line(tested.error.strip()[-300:], 300), tone="bad")]
    return [
        GateRow(label=one.name, text=one_line(one.message.strip().splitlines()[-1], 300), tone="bad")
        for one in wrong[:_SURVIVORS_SHOWN]
    ]
