"""Some of all sequences of input, others for each commit; and that the oracle sees what goes wrong."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from alita_tui.console.input import arming, timing
from alita_tui.console.input.arming import TimedInput
from alita_tui.console.review import steps as review
from tests.attack.inputs import simulated
from tests.attack.inputs.oracle import Decided, Made, Shown, accidents


def seed() -> int:
    """A number of the commit; 0 where there is none."""
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return int(done.stdout[:8] or "0", 16)


def test_random_input_decides_nothing_by_accident() -> None:
    tried, missed, verdicts = simulated.attack(
        0.02, seed()
    )  # `make attack` tries many more, CI a tenth of those
    assert missed == []
    assert verdicts.total() > 0.05 * tried > 0


def held_counts(heard: TimedInput, painted: float | None) -> arming.Objection:
    """Forgets what was pressed before."""
    return arming.objection(replace(heard, last=""), painted)


def hasty(heard: TimedInput, painted: float | None) -> arming.Objection:
    """Trusts the time at which a key was read."""
    return arming.objection(replace(heard, after=heard.at), painted)


def unseen(heard: TimedInput, painted: float | None) -> arming.Objection:
    """Waits neither until the terminal has painted nor until the screen is still, which covers much of it."""
    return arming.objection(replace(heard, since=0.0), 0.0)


def short(patch: pytest.MonkeyPatch) -> None:
    """Takes 300 ms for quiet."""
    patch.setattr(arming, "QUIET", 0.3)
    patch.setattr(timing, "QUIET", 0.3)


MISTAKES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "quiet is too short": short,
    "a key need not be alone": lambda patch: patch.setattr(arming, "ALONE", 0.0),
    "a held key counts": lambda patch: patch.setattr(review, "objection", held_counts),
    "a key counts when it was read": lambda patch: patch.setattr(review, "objection", hasty),
    "a key counts before it is painted, and on a moving screen": lambda patch: patch.setattr(
        review, "objection", unseen
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_oracle_finds_planted_mistakes(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MISTAKES[mistake](monkeypatch)
    missed: list[str] = []
    for seed in range(20):
        found, _ = simulated.run(400, seed)
        missed += found
        if missed:
            return
    pytest.fail("no sequence showed it")


def test_the_oracle_accepts_what_the_promise_allows() -> None:
    shown = [Shown(1.0, "p1"), Shown(3.0, "p2")]
    good = Made(2.0, b"a", "a", 1)
    assert accidents([good], shown, [Decided(2.1, "approved", "p1")]) == []
    for made, decided in (
        ([good], Decided(2.1, "approved", "p2")),
        ([good], Decided(2.1, "rejected", "p1")),
        ([], Decided(2.1, "approved", "p1")),
        ([Made(1.6, b"j", "j", 1), good], Decided(2.1, "approved", "p1")),
        ([good, Made(2.02, b"j", "j", 2)], Decided(2.1, "approved", "p1")),
        ([Made(0.5, b"a", "a", 1)], Decided(2.1, "approved", "p1")),
        ([Made(0.8, b"a", "a", 1), Made(2.0, b"a", "a", 1)], Decided(2.1, "approved", "p1")),
    ):
        assert len(accidents(made, shown, [decided])) == 1, (made, decided)
    twice = [good, Made(3.5, b"a", "a", 2)]
    verdicts = [Decided(2.1, "approved", "p1"), Decided(3.6, "approved", "p2")]
    assert len(accidents(twice, shown, verdicts)) == 1
    between = [good, Made(3.1, b"j", "j", 2), Made(3.6, b"a", "a", 3)]
    assert accidents(between, shown, [verdicts[0], Decided(3.7, "approved", "p2")]) == []
