"""What the judge in the sandbox says of a draft: its entries, one for each piece of work."""

from __future__ import annotations

from typing import Any

import msgspec

from alita_tui.events import Json, TestCase
from alita_tui.toolsmith.checks.places import Missed, Place, missed


class Call(msgspec.Struct, frozen=True):
    """A call of `run` that the tests made, as the judge saw it."""

    test: str
    given: list[Json]
    named: dict[str, Json]
    result: Json | msgspec.UnsetType = msgspec.UNSET
    """Unset where it raised."""
    error: str = ""
    text: str = ""
    unfit: str = ""
    """Why what it returned is no JSON value."""


class Tested(msgspec.Struct, frozen=True):
    """What became of the tests."""

    cases: list[TestCase] = []
    calls: list[Call] = []
    """Kept where the piece is watched."""
    passed: list[int] = []
    """Places of instrumented code that the tool came by, as its own process says."""
    seen: list[tuple[str, str]] = []
    """What it reached for, by kind, as its own process says."""
    late: bool = False
    """Whether the time was over before the last test ended."""
    error: str = ""
    """Why tool or tests could not be imported."""
    exception: str = ""
    unsupported: str = ""

    @property
    def good(self) -> bool:
        """True when there are tests and all of them passed."""
        return bool(self.cases) and all(one.passed for one in self.cases)


class Called(msgspec.Struct, frozen=True):
    """What became of calls, as far as there was time for them."""

    answers: list[dict[str, Any]] = []
    """Each with `ms` and either `result` or `error` (a class's name, `timeout`, `ended` or `flood`) and `text`;
    of an exception also `kinds`, its classes from itself upwards, and `trace`.
    """
    passed: list[int] = []
    seen: list[tuple[str, str]] = []
    error: str = ""
    exception: str = ""
    unsupported: str = ""


class Watched(msgspec.Struct, frozen=True):
    """What a run of the tests shows of the tool from inside its own process: evidence of honest mistakes only."""

    tested: Tested
    places: tuple[Place, ...] = ()
    """Of the code; none where it could not be instrumented."""
    problem: str = ""
    """Why it could not."""

    def missed(self, passed: list[int]) -> Missed:
        """What neither the tests nor runs that came by these places have run."""
        return missed(self.places, [*self.tested.passed, *passed])
