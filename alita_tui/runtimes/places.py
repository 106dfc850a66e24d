"""Places of a tool's code that a run may or may not reach, and those that no run reached. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Place(NamedTuple):
    """A place that a run may or may not reach."""

    number: int
    line: int
    end: int
    """Its last line, without nested blocks."""
    missing: str = ""
    """The finding if no run reaches it; empty for a statement."""
    code: bool = True
    """False if nothing is skipped when it is not reached: only a branch that was never taken."""


class Instrumented(NamedTuple):
    """Code that reports which places it reaches."""

    code: str
    places: tuple[Place, ...]


class Missed(NamedTuple):
    """The code that no run reached."""

    lines: tuple[int, ...]
    """Lines of statements that never ran."""
    parts: tuple[tuple[int, str], ...]
    """Unreached code on lines that did run: the line and the finding."""
    ways: tuple[tuple[int, str], ...]
    """Branches that were never taken and have no code."""


def missed(places: Sequence[Place], passed: Collection[int]) -> Missed:
    """Return the code of which no place was passed."""
    reached = set(passed)
    ran = {
        line for place in places if place.number in reached and not place.missing for line in _lines(place)
    }
    unreached = [place for place in places if place.number not in reached]
    lines = {line for place in unreached if not place.missing for line in _lines(place)} - ran
    on_run_lines = [place for place in unreached if place.line not in lines]
    hidden = [
        (place.line, place.missing or "a statement on it never ran") for place in on_run_lines if place.code
    ]
    branches = [(place.line, place.missing) for place in on_run_lines if not place.code]
    return Missed(tuple(sorted(lines)), tuple(sorted(set(hidden))), tuple(sorted(set(branches))))


def _lines(place: Place) -> range:
    return range(place.line, place.end + 1)


def spans(lines: Collection[int]) -> list[tuple[int, int]]:
    """Return first and last line of each run of consecutive lines."""
    runs: list[tuple[int, int]] = []
    for line in sorted(lines):
        if runs and line == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], line)
        else:
            runs.append((line, line))
    return runs


def ranges(lines: Collection[int]) -> str:
    """Return line numbers as people write them: `3, 29-30`."""
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans(lines))
