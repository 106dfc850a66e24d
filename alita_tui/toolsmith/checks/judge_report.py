"""What the judge in the sandbox reports about a draft: one entry per piece of work."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from alita_tui.events import Json, TestCase, ToolDraft
from alita_tui.runtimes.places import Missed, Place, missed
from alita_tui.runtimes.rules import rule


class Call(msgspec.Struct, frozen=True):
    """A call of `run` that the tests made, as the judge saw it."""

    test: str
    given: list[Json]
    named: dict[str, Json]
    result: Json | msgspec.UnsetType = msgspec.UNSET
    """Unset if it raised."""
    error: str = ""
    text: str = ""
    unfit: str = ""
    """Why the returned value is not JSON."""


class Tested(msgspec.Struct, frozen=True):
    """Result of a run of tests."""

    cases: list[TestCase] = []
    calls: list[Call] = []
    """Recorded if the piece is watched."""
    passed: list[int] = []
    """Places of instrumented code that were reached, as reported by the tool's own process."""
    seen: list[tuple[str, str]] = []
    """What the tool reached for, by kind, as reported by its own process."""
    late: bool = False
    """True if time ran out before the last test ended."""
    error: str = ""
    """Why tool or tests could not be imported."""
    exception: str = ""
    unsupported: str = ""

    @property
    def good(self) -> bool:
        """True if there are tests and all of them passed."""
        return bool(self.cases) and all(case.passed for case in self.cases)


class Called(msgspec.Struct, frozen=True):
    """Results of the calls for which there was time."""

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
    """A run of the tests as seen from inside the tool's own process: evidence of honest mistakes only."""

    tested: Tested
    places: tuple[Place, ...] = ()
    """Places of the code; none if it could not be instrumented."""
    problem: str = ""
    """Why it could not be instrumented."""

    def missed(self, passed: list[int]) -> Missed:
        """Return the places that neither the tests nor these runs have reached."""
        return missed(self.places, [*self.tested.passed, *passed])


_CRASHES = frozenset({
    "ArithmeticError", "AssertionError", "AttributeError", "BaseExceptionGroup", "GeneratorExit", "ImportError",
    "KeyboardInterrupt", "MemoryError", "ModuleNotFoundError", "NameError", "NotImplementedError", "RecursionError",
    "StopAsyncIteration", "StopIteration", "SystemError", "SystemExit", "UnboundLocalError", "ZeroDivisionError",
    "FloatingPointError", "error", "ExitStatus", "Signal", "ReferenceError", "Thrown",
})  # fmt: skip
"""Exceptions that are not raised on purpose to refuse an argument; `error` is that of `struct`."""
_SUSPECT = frozenset({"TypeError", "IndexError", "RuntimeError"})
"""Exceptions that may refuse an argument or be a fault in the code: their text decides."""


def refused(answer: dict[str, Any], draft: ToolDraft) -> bool:
    """Return True if a tool refused its arguments: by an exception meant for that, or one its description names.

    `answer` comes from `Workbench.outputs`. A timeout, an ended process and a result that is not JSON are not
    refusals.
    """
    error = str(answer.get("error") or "")
    if not error or "result" in answer or answer.get("unfit") or error in ("timeout", "ended", "flood"):
        return False
    if named_in_description(error, draft):
        return True
    if error in _CRASHES:
        return False
    return not (error in _SUSPECT and rule("errors", "interpreter").search(str(answer.get("text", ""))))


def named_in_description(error: str, draft: ToolDraft) -> bool:
    """Return True if the description mentions this exception."""
    return re.search(rf"\b{re.escape(error)}\b", draft.description) is not None
