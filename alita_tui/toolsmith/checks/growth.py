"""How does processor time grow with input size?"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from alita_tui.events import GateName, GateResult, GateRow, Json, Value
from alita_tui.runtimes.python.truncation import announces_bound
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, evidence, failed, passed
from alita_tui.toolsmith.checks.growth_inputs import Ladder, finer, ladders, power
from alita_tui.toolsmith.checks.workbench import Workbench, piece_of_calls

_ENOUGH_MS = 40.0
"""Processor time of a call above which its ladder ends: larger sizes can be extrapolated."""
_LEAST_MS = 1.0
"""Processor time below which a measurement means nothing."""
_STEEP = 2.6
"""Exponent above which time grows too fast; quadratic growth is allowed."""
_ALLOWED = 2.2
"""Exponent that earlier sizes have to exceed as well, so that a single step does not count as growth."""
_CLIFF = 4.0
"""Factor between the exponents of the last step and of those before from which it is a cliff, not growth."""
_SECONDS = 2.0
"""Wall time of one call in the first pass; what takes longer is measured again."""
_SURE_SECONDS = 4.0
"""Wall time of one call in the second pass: generous, since the machine may be busy."""
_TOTAL = 6.0
_SURE_TOTAL = 16.0
_SPAN = 30
"""Largest ratio of the two times that are compared: further apart, other costs mix in."""
_LEAST_CUT = 100
"""Result length below which a bound is normal: a score, a short list of kinds."""
_SUSPECTS = 3
_REPEATS = 3
_WORDS = ((4.2, "with the cube"), (5.2, "with the fourth power"))


class Climbed(Value, frozen=True):
    """Measurements on one ladder: processor times (ms) by size, and the size that did not finish."""

    ladder: Ladder
    took: tuple[tuple[int, float], ...]
    stuck: int = 0
    tried: int = 0
    """Number of sizes that there was time for."""
    gave: tuple[tuple[int, int, int], ...] = ()
    """Sizes with the length of the result and a checksum of it."""

    @property
    def cut(self) -> int:
        """The size at which a growing result stops changing; 0 if there is none."""
        if "different" not in self.ladder.shown or len(self.gave) < 3:
            return 0
        last = self.gave[-1][1:]
        size = next(measured[0] for measured in self.gave if measured[1:] == last)
        before = [measured for measured in self.gave if measured[0] < size]
        grew = before and last[0] >= max(1.5 * before[-1][1], _LEAST_CUT)
        return size if grew and size < self.gave[-1][0] else 0

    @property
    def steep(self) -> bool:
        """True if time seems to grow faster than quadratically."""
        measurable = [measured for measured in self.took if measured[1] >= _LEAST_MS]
        if self.stuck:
            size, time = self.took[-1] if self.took else (1, 0.0)
            return power((size, time), (self.stuck, _SECONDS * 1000)) >= _STEEP
        return len(measurable) >= 2 and power(measurable[-2], measurable[-1]) >= _STEEP


class GrowthCheck:
    """Time over input size."""

    name: GateName = "growth"

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def check(self, case: Case) -> GateResult:
        """Measure calls of growing size. Raises CouldNotRun."""
        tests = await self._bench.used(case)
        rungs = await asyncio.to_thread(ladders, case.draft, tests)
        if not rungs:
            return passed(self.name, "no text or list in its arguments could grow")
        climbed = await self._climb(case, rungs)
        suspects = sorted((climb for climb in climbed if climb.steep), key=lambda climb: -climb.stuck)
        for suspect in suspects[:_SUSPECTS]:
            if row := await self._confirmed(case, suspect, tests):
                return failed(self.name, f"time grows too fast: {row.label}: {row.text}", [row])
        measured = [climb for climb in climbed if climb.took]
        if not measured or any(not climb.tried for climb in climbed):
            raise CouldNotRun("there was no time for inputs of growing size")
        cut = next((climb for climb in climbed if climb.cut), None)
        if cut and not await asyncio.to_thread(announces_bound, case.draft):
            size, last = cut.cut, cut.gave[-1][0]
            text = f"{_size(cut, size)} and {last:,} give the same result: is what is longer cut off?"
            return failed(
                self.name,
                f"{_label(cut.ladder)}: {text}",
                [evidence(_label(cut.ladder), text, "bad")],
            )
        largest = max(climb.took[-1][0] for climb in measured)
        slowest = max(measured, key=lambda climb: climb.took[-1][1])
        size, time = slowest.took[-1]
        summary = f"no faster than with the square, up to {largest:,} {_unit(slowest.ladder, largest)}"
        row = evidence(_label(slowest.ladder), f"the slowest: {size:,} in {_seconds(time)}", "good")
        return passed(self.name, summary, [row])

    async def _confirmed(self, case: Case, climb: Climbed, tests: list[dict[str, Json]]) -> GateRow | None:
        """Return the row for a suspicion that finer steps confirm; None if they do not."""
        low = climb.took[-2 if len(climb.took) > 1 and not climb.stuck else -1][0] if climb.took else 1
        high = climb.stuck or climb.took[-1][0]
        ladder = await asyncio.to_thread(finer, climb.ladder, case.draft, tests, low, high)
        if ladder is None:
            return None
        rounds = await self._climb(case, [ladder] * _REPEATS, sure=True)
        best: dict[int, float] = {}
        for climbed in rounds:
            for size, time in climbed.took:
                best[size] = min(time, best.get(size, time))
        stuck = [climbed.stuck for climbed in rounds if climbed.stuck]
        label = _label(climb.ladder)
        took = [(size, time) for size, time in sorted(best.items()) if time >= _LEAST_MS]
        if len(stuck) == len(rounds):
            before = max((size for size in best if size < min(stuck)), default=0)
            if before and power((before, best[before]), (min(stuck), _SURE_SECONDS * 1000)) < _STEEP:
                return None
            start = f"{_size(climb, before)} {_seconds(best[before])}, " if before else ""
            text = f"{start}{_size(climb, min(stuck))} no end after {_SURE_SECONDS:g} s: grows without bounds"
            return evidence(label, text, "bad")
        if len(took) < 2:
            return None
        large = took[-1]
        small = next(measured for measured in took if measured[1] >= large[1] / _SPAN)
        exponent = power(small, large)
        smaller = [pair for pair in climb.took if pair[0] < took[0][0] and pair[1] >= _LEAST_MS / 4]
        if exponent < _STEEP or _jumps([*smaller, *took]):
            return None
        how = next(
            (words for most, words in _WORDS if exponent < most), f"with power {exponent:.0f} of it, or worse"
        )
        text = (
            f"{_size(climb, small[0])} {_seconds(small[1])}, {large[0]:,} {_seconds(large[1])}: grows {how}"
        )
        return evidence(label, text, "bad")

    async def _climb(self, case: Case, rungs: list[Ladder], *, sure: bool = False) -> list[Climbed]:
        steps = [
            (number, step)
            for step in range(max(len(ladder.calls) for ladder in rungs))
            for number, ladder in enumerate(rungs)
            if step < len(ladder.calls)
        ]
        calls = [rungs[number].calls[step] for number, step in steps]
        piece = piece_of_calls(
            case,
            calls,
            seconds=_SURE_SECONDS if sure else _SECONDS,
            ladders=[number for number, _ in steps],
            enough_ms=2 * _ENOUGH_MS if sure else _ENOUGH_MS,
        )
        (judged,) = await self._bench.judge(case, [piece], total=_SURE_TOTAL if sure else _TOTAL)
        answers = self._bench.answers(judged, len(calls))
        climbs = [Climbed(ladder=ladder, took=()) for ladder in rungs]
        for (number, step), answer in zip(steps, answers, strict=False):
            climbs[number] = _with(climbs[number], rungs[number].sizes[step], answer)
        return climbs


def _with(climbed: Climbed, size: int, answer: dict[str, Any]) -> Climbed:
    climbed = msgspec.structs.replace(climbed, tried=climbed.tried + 1)
    if answer.get("skipped") or climbed.stuck:
        return climbed
    if answer.get("error") == "timeout":
        return msgspec.structs.replace(climbed, stuck=size)
    if "cpu_ms" not in answer:
        return climbed  # it ended or hit a limit, which other checks report
    gave = ((size, answer["length"], answer["sum"]),) if "length" in answer else ()
    took = (*climbed.took, (size, float(answer["cpu_ms"])))
    return msgspec.structs.replace(climbed, took=took, gave=(*climbed.gave, *gave))


def _jumps(took: list[tuple[int, float]]) -> bool:
    """Return True if only the last step is steep: another path through the code, not growth."""
    if len(took) < 3:
        return False
    before, last = power(took[0], took[-2]), power(took[-2], took[-1])
    return before < _ALLOWED or (before < _STEEP and last > _CLIFF * before)


def _label(ladder: Ladder) -> str:
    return ladder.shown if ladder.parameter == "all" else f"{ladder.parameter} = {ladder.shown}"


def _unit(ladder: Ladder, size: int) -> str:
    return ladder.unit if size != 1 else ladder.unit.rstrip("s")


def _size(climbed: Climbed, size: int) -> str:
    return f"{size:,} {_unit(climbed.ladder, size)}"


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.2g} s" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
