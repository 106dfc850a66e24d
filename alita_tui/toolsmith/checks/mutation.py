"""Would the draft's own tests notice a fault? They run against mutants of its code in the sandbox."""

from __future__ import annotations

import asyncio
from math import comb
from random import SystemRandom
from typing import Any

import msgspec

from alita_tui.events import GateName, GateResult, GateRow, Json
from alita_tui.runtimes.languages import runtime_of
from alita_tui.runtimes.port import Mutant
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, evidence, failed, passed
from alita_tui.toolsmith.checks.judge_report import Tested
from alita_tui.toolsmith.checks.probes import probes
from alita_tui.toolsmith.checks.workbench import Workbench, piece_of_calls, piece_of_tests

_MOST = 24
_ENOUGH = 0.6
"""Share of the mutants that the tests have to notice."""
_CHANCE = 0.1
"""Probability above which a low share is put down to chance: that of tests which meet the share catching so few."""
_SURVIVORS_SHOWN = 8
_SECONDS = 2.0
_TOTAL = 15.0
_PROBES = 24
"""Arguments with which a surviving mutant is compared with the original."""
_ELSEWHERE = "/tmp/elsewhere"  # noqa: S108  # the sandbox's own
_BETWEEN = 5
"""So many mutants have one run against the unchanged code among them, at a random place; one more comes last."""
_TELLS_THEM_APART = "the tests fail for the unchanged code too once it runs among the planted bugs"
_HELD_TO_THE_TEXT = "the tests hold to how the code is written: under another name, path and lines they fail"


class MutationCheck:
    """Share of the mutants that the tests catch."""

    name: GateName = "mutation"

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def check(self, case: Case) -> GateResult:
        """Run the tests against mutants. Raises CouldNotRun."""
        runtime = runtime_of(case.draft.language)
        candidates = await asyncio.to_thread(runtime.mutants, case.draft.code, _MOST)
        if not candidates:
            raise CouldNotRun("there is no operator or constant to flip")
        tries = _among_controls(candidates)
        versions = [version.code if version else case.draft.code for version in tries]
        disguises = await asyncio.to_thread(lambda: [*map(runtime.disguised, (case.draft.code, *versions))])
        pieces = [
            piece_of_tests(case, seconds=_SECONDS),
            # Every further run is disguised alike, or a tool could recognise those with the unchanged code.
            *(
                msgspec.structs.replace(
                    piece_of_tests(case, code=code, seconds=_SECONDS, stop=number > 0),
                    module=f"{case.draft.name}_again",
                    folder=_ELSEWHERE,
                )
                for number, code in enumerate(disguises)
            ),
        ]
        entries = [
            entry
            for entry in await self._bench.judge(case, pieces, total=_TOTAL)
            if isinstance(entry, Tested)
        ]
        if any(entry.late for entry in entries[:2]):
            raise CouldNotRun("one run of the tests takes too long to try mutants")
        if not entries[0].good:
            raise CouldNotRun("the unchanged code does not pass its tests here")
        idle = [
            evidence(entry.name, "it never calls run, so it proves nothing", "warn")
            for entry in entries[0].cases
            if not entry.calls
        ]
        if len(idle) == len(entries[0].cases):
            return failed(self.name, "no test calls run", idle)
        if len(entries) > 1 and not entries[1].good:
            return failed(self.name, _HELD_TO_THE_TEXT, [*_failures(entries[1]), *idle])
        controls = [tested for version, tested in zip(tries, entries[2:], strict=False) if version is None]
        if not controls or any(tested.late for tested in controls):
            raise CouldNotRun("one run of the tests takes too long to try mutants")
        if bad := [tested for tested in controls if not tested.good]:
            return failed(self.name, _TELLS_THEM_APART, [*_failures(bad[0]), *idle])
        results = [(version, tested) for version, tested in zip(tries, entries[2:], strict=False) if version]
        if not results:
            raise CouldNotRun("one run of the tests takes too long to try mutants")
        alive = [mutant for mutant, tested in results if tested.good]
        counted = len(results)
        if counted - len(alive) < _ENOUGH * counted:  # some of them may behave like the original
            alive, same = await self._behaving_differently(case, alive)
            counted -= same
        caught = counted - len(alive)
        share = caught / counted if counted else 1.0
        summary = f"the tests caught {caught} of {counted} planted bugs ({share:.0%}; {_ENOUGH:.0%} needed)"
        if counted < len(results):
            summary += f"; {len(results) - counted} more answer as the original does"
        good = share >= _ENOUGH
        if not good and by_chance(caught, counted):
            good, summary = True, f"{summary}; of so few that can be chance: look at those below"
        if idle:
            summary += f"; {len(idle)} of {len(entries[0].cases)} tests never call run"
        rows = [
            *idle,
            *(
                evidence(f"line {version.line}", f"{version.change}: no test noticed", "warn")
                for version in alive[:_SURVIVORS_SHOWN]
            ),
        ]
        if len(alive) > _SURVIVORS_SHOWN:
            rows.append(evidence("", f"and {len(alive) - _SURVIVORS_SHOWN} more", "muted"))
        if len(results) < len(candidates):
            rows.append(evidence("not tried", f"{len(candidates) - len(results)}, for lack of time", "muted"))
        return (passed if good else failed)(self.name, summary, rows, (caught, counted))

    async def _behaving_differently(self, case: Case, alive: list[Mutant]) -> tuple[list[Mutant], int]:
        """Return surviving mutants that behave differently from the original, and how many do not."""
        calls = await asyncio.to_thread(probes, case.draft, _PROBES)
        if not calls:
            return alive, 0
        codes = [case.draft.code, *(version.code for version in alive)]
        pieces = [piece_of_calls(case, calls, code=code, seconds=1.0) for code in codes]
        entries = await self._bench.judge(case, pieces, total=_TOTAL)
        answers = [_outcomes(self._bench.answers(piece, len(calls))) for piece in entries]
        if not any(kind == "result" for kind, _ in answers[0]):
            return alive, 0
        different = [
            mutant for n, mutant in enumerate(alive, 1) if n >= len(answers) or answers[n] != answers[0]
        ]
        return different, len(alive) - len(different)


def _among_controls(candidates: list[Mutant]) -> list[Mutant | None]:
    """Return the mutants and, as None, the unchanged code between them and at the end.

    Tests can count processes or read a clock: without these, ones that fail from the third run on would seem strong.
    """
    tries: list[Mutant | None] = []
    for begin in range(0, len(candidates), _BETWEEN):
        block: list[Mutant | None] = [*candidates[begin : begin + _BETWEEN]]
        block.insert(SystemRandom().randrange(len(block) + 1), None)
        tries += block
    return [*tries, None]


def by_chance(caught: int, counted: int) -> bool:
    """Return True if tests that meet the required share could have caught so few of so few mutants by chance."""
    least = sum(comb(counted, n) * _ENOUGH**n * (1 - _ENOUGH) ** (counted - n) for n in range(caught + 1))
    return caught > 0 and least > _CHANCE


def _outcomes(answers: list[dict[str, Any]]) -> list[tuple[str, Json]]:
    return [
        ("result", answer["result"]) if "result" in answer else ("error", answer.get("error"))
        for answer in answers
    ]


def _failures(tested: Tested) -> list[GateRow]:
    wrong = [case for case in tested.cases if not case.passed]
    if not wrong:
        return [evidence("", one_line(tested.error.strip()[-300:], 300), "bad")]
    return [
        evidence(name.name, one_line(name.message.strip().splitlines()[-1], 300), "bad")
        for name in wrong[:_SURVIVORS_SHOWN]
    ]
