"""What a library learns from its own history: which needs a tool has met, and how far its chances hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from alita_tui.events import Grade, RunOutcome, Showing, Track
from alita_tui.registry.served import calibration, served
from alita_tui.registry.trust import OUTCOMES, QUERIES, Use

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def showing(
    number: int, *, accepted: bool = True, days: int = 0, prior: float = 0.0, used: bool = True
) -> Showing:
    at = (NOW - timedelta(days=days)).isoformat()
    return Showing(
        need=f"s/{number}",
        query=f"need {number}",
        at=at,
        used=used,
        accepted=accepted,
        met=accepted,
        prior=prior,
    )


def outcome(grade: Grade, asked: str = "") -> RunOutcome:
    return RunOutcome(run=f"s/{grade}{asked}", at=NOW.isoformat(), grade=grade, asked=asked)


def track(*showings: Showing, outcomes: tuple[RunOutcome, ...] = ()) -> Track:
    return Track(name="t", version=1, showings=showings, outcomes=outcomes)


def test_only_needs_that_were_met_are_learned() -> None:
    known = track(
        showing(1), showing(2, accepted=False), outcomes=(outcome("accepted", "a clause"), outcome("ran", "")),
    )  # fmt: skip
    assert {one.query for one in served(((None, known),), NOW)} == {"need 1", "a clause"}


def test_older_needs_count_less_and_praised_ones_more() -> None:
    known = track(
        *(showing(days, days=days) for days in (400, 200, 100, 40, 0)), outcomes=(outcome("up", "praised"),)
    )
    weights = {one.query: one.weight for one in served(((None, known),), NOW)}
    by_age = [weights[f"need {days}"] for days in (400, 200, 100, 40, 0)]
    assert (
        by_age == sorted(by_age) and len(set(by_age)) == 5 and weights["praised"] > weights["need 0"] == 1.0
    )
    odd = track(Showing(need="s/x", query="undated", at="?", accepted=True))
    assert 0 < served(((None, odd),), NOW)[0].weight < 1


def test_the_newest_needs_of_all_versions_count() -> None:
    old = track(*(showing(n, days=60) for n in range(QUERIES)))
    new = track(*(showing(100 + n) for n in range(3)))
    queries = [one.query for one in served(((None, old), (None, new)), NOW)]
    assert len(queries) == QUERIES and queries[-3:] == ["need 100", "need 101", "need 102"]


@pytest.mark.parametrize(("runs", "outcomes", "kept"), [(2, 0, 2), (3, 1, 2), (3, 3, 0), (90, OUTCOMES, 0)])
def test_needs_learned_before_outcomes_were_recorded_still_count(runs: int, outcomes: int, kept: int) -> None:
    use = Use(name="t", version=1, runs=runs, queries=("first", "second"))
    known = track(outcomes=tuple(RunOutcome(run=str(n), at="", grade="ran") for n in range(outcomes)))
    assert len(served(((use, known),), NOW)) == kept


def test_chances_are_measured_by_searches_that_say_something() -> None:
    met = [showing(n, prior=0.3) for n in range(40)]
    missed = [showing(100 + n, prior=0.3, accepted=False, used=False) for n in range(5)]
    unclear = [showing(200 + n, prior=0.3, accepted=False) for n in range(200)]
    found = calibration([track(*met[:20], *unclear), track(*met[20:], *missed)])
    assert found.outcomes == 45 and found.chance(0.3) > 0.7
    assert calibration([track(*met[:20])]).outcomes == 0
    assert calibration([]).chance(0.3) == pytest.approx(0.3)
