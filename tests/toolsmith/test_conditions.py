"""What the checks of behaviour make of what they saw: without a container."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from alita_tui.events import BuildId, GateName, GateResult, Lock, TestCase
from alita_tui.spine.judge_plan import Piece
from alita_tui.toolsmith.checks.case import Case, CouldNotRun
from alita_tui.toolsmith.checks.condition_settings import bundles, excused, moments, singles
from alita_tui.toolsmith.checks.conditions import ConditionsCheck, Plain
from alita_tui.toolsmith.checks.growth import Climbed, _jumps
from alita_tui.toolsmith.checks.growth_inputs import Ladder
from alita_tui.toolsmith.checks.judge_report import Called, Tested
from alita_tui.toolsmith.checks.registry import all_checks
from alita_tui.toolsmith.checks.workbench import Workbench
from tests.support.mcp_lab import ADD
from tests.toolsmith.trial import LIMITS, NOW, NoIndex, Reviewer

NEVER: Any = None


def test_the_list_of_checks_has_every_check_once() -> None:
    found = all_checks(NEVER, LIMITS, asker=Reviewer({}), index=NoIndex(), book=NoIndex(), shelf=NEVER, calls=lambda _: (), now=lambda: NOW)  # fmt: skip
    names = [one.name for one in (*found.before, *found.after)]
    assert sorted(names) == sorted(get_args(GateName))


@pytest.mark.parametrize("day", [datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 12, 31, 23, tzinfo=UTC), datetime(2028, 2, 29, tzinfo=UTC)])  # fmt: skip
def test_conditions_include_distant_years_and_odd_time_zones(day: datetime) -> None:
    single = singles(day)
    clocks = [
        day + timedelta(seconds=one.conditions.clock_shift_seconds)
        for one in single
        if one.causes == ("clock",)
    ]
    assert any(one.year > day.year and one - day < timedelta(days=400) for one in clocks)
    assert any(one - day >= timedelta(days=400) for one in clocks) and any(one.year >= 2038 for one in clocks)
    zones = {one.conditions.time_zone for one in single} - {""}
    assert len(zones) == 2 and any(
        "-9:30" in one and "," in one for one in zones
    )  # half an hour, summer time
    assert {one.conditions.locale for one in single} == {"", "C"}
    held = bundles(day)
    assert {cause for one in held for cause in one.causes} == {
        cause for one in single for cause in one.causes
    }
    for one in single:  # nothing that is looked for as a cause is left out of the first look
        for field in ("clock_shift_seconds", "time_zone", "locale"):
            value = getattr(one.conditions, field)
            assert not value or value in {getattr(bundle.conditions, field) for bundle in held}


def test_code_without_a_clock_is_not_tried_on_more_days() -> None:
    assert list(moments("def run(x):\n    return x\n", NOW)) == []
    days = [
        NOW + timedelta(seconds=one.conditions.clock_shift_seconds)
        for one in moments("import datetime\n", NOW)
    ]
    assert len({one.weekday() for one in days}) == 7 and {(12, 25), (2, 29), (4, 1)} <= {
        (d.month, d.day) for d in days
    }


@pytest.mark.parametrize(
    ("purpose", "cause", "is_one"),
    [("The age in years today.", "clock", True), ("Days until a date.", "clock", True), ("The net price.", "clock", False),
     ("The average of numbers.", "clock", False), ("A date as YYYY-MM-DD.", "clock", False), ("Time in the local zone.", "zone", True),
     ("The day of a stamp in UTC.", "zone", False), ("A random sample.", "chance", True), ("Unique words.", "chance", False),
     ("Sorts words by the current locale.", "locale", False), ("Random words.", "seed", False)],
)  # fmt: skip
def test_a_purpose_excuses_the_causes_that_it_names(purpose: str, cause: Any, is_one: bool) -> None:
    assert excused(cause, purpose) is is_one


def results(*values: Any) -> list[dict[str, Any]]:
    return [{"error": one} if isinstance(one, str) else {"result": one} for one in values]


def test_state_and_chance_are_distinguished() -> None:
    plain = Plain(results(1, 2, 3), results(1, 2, 3, 3, 2, 1), results(1, 2, 3))
    assert plain.stateful() == plain.chance() == []
    kept = Plain(results(1, 2, 3), results(1, 2, 3, 3, 9, 1), results(1, 2, 3))
    assert kept.stateful() == [1] and kept.chance() == []
    chance = Plain(results(1, 2, "ValueError"), results(1, 2, 3, 3, 2, 1), results(1, 5, "ValueError"))
    assert chance.stateful() == [2] and chance.chance() == [1]


def test_a_timeout_is_no_difference() -> None:
    plain = Plain(results(1, "timeout", 3), results(1, 2, "timeout", 3, 2, 1), results(1, 2, "timeout"))
    assert plain.stateful() == plain.chance() == []


class Answering(Workbench):
    """A sandbox that answers as it is told, once for each time it is asked."""

    def __init__(self, *rounds: dict[int, Any]) -> None:
        self._rounds = list(rounds)
        """The answers to all calls of a setting, by its place after the plain pieces; all others answer 1."""

    async def used(self, case: Case) -> list[dict[str, Any]]:
        return [{"x": 1}]

    async def judge(self, case: Case, pieces: Sequence[Piece], **_: Any) -> list[Tested | Called]:
        odd = self._rounds.pop(0) if self._rounds else {}
        plainly = 3 if len(pieces) > 2 and pieces[2] is pieces[0] else 2
        passed = Tested(cases=[TestCase(name="test_it", passed=True)])
        return [
            passed
            if piece.kind == "tests"
            else Called(answers=results(*[odd.get(number - plainly, 1)] * len(piece.calls)))
            for number, piece in enumerate(pieces)
        ]


async def conditions_of(*rounds: dict[int, Any]) -> GateResult:
    case = Case(build_id=BuildId("b1"), draft=ADD, lock=Lock())
    return await ConditionsCheck(Answering(*rounds), now=lambda: NOW).check(case)


async def test_a_difference_under_several_conditions_counts_only_if_it_repeats() -> None:
    assert (await conditions_of()).state == "passed"
    found = await conditions_of({1: 2}, {}, {0: 2})
    assert found.state == "failed" and "→ 2" in found.rows[0].text
    with pytest.raises(CouldNotRun, match="not again"):
        await conditions_of({1: 2}, {}, {})
    with pytest.raises(CouldNotRun, match="there was no time"):
        await conditions_of({1: "timeout"})


LADDER = Ladder(
    parameter="x", unit="items", shown="different numbers", sizes=(24, 96, 384, 1536), calls=({},) * 4
)


@pytest.mark.parametrize(
    ("took", "stuck", "steep"),
    [(((24, 0.1), (96, 0.4), (384, 1.6)), 0, False), (((96, 1.0), (384, 16.0), (1536, 256.0)), 0, False),
     (((96, 1.0), (384, 64.0)), 0, True), (((96, 0.01), (384, 0.9)), 0, False), ((), 24, True),
     (((24, 0.1),), 96, True), (((384, 39.0),), 1536, True), (((96, 30.0), (384, 90.0)), 768, True)],
)  # fmt: skip
def test_steep_growth_of_the_running_time_is_recognised(took: Any, stuck: int, steep: bool) -> None:
    assert Climbed(ladder=LADDER, took=took, stuck=stuck).steep is steep


@pytest.mark.parametrize(
    ("gave", "cut"),
    [(((24, 30, 1), (96, 110, 2), (384, 400, 3), (1536, 1600, 4)), 0),
     (((24, 30, 1), (96, 110, 2), (384, 400, 3), (1536, 400, 3)), 384),
     (((24, 2, 1), (96, 3, 2), (384, 3, 2), (1536, 3, 2)), 0),  # a score
     (((24, 300, 1), (96, 300, 1), (384, 300, 1)), 0),
     (((24, 30, 1), (96, 400, 3)), 0)],
)  # fmt: skip
def test_results_that_stop_growing(gave: Any, cut: int) -> None:
    assert Climbed(ladder=LADDER, took=(), gave=gave).cut == cut


@pytest.mark.parametrize(
    ("took", "is_one"),
    [([(96, 1.0), (240, 5.5), (480, 22.0), (576, 480.0)], True), ([(96, 0.7), (480, 29.0), (576, 720.0)], True),
     ([(100, 1.0), (200, 5.6), (400, 45.0)], False), ([(120, 4.0), (200, 18.5), (288, 55.0)], False),
     ([(18, 9.0), (20, 40.0), (22, 160.0)], False), ([(8, 14.0), (10, 240.0)], False)],
)  # fmt: skip
def test_one_step_is_no_growth(took: Any, is_one: bool) -> None:
    assert _jumps(took) is is_one
