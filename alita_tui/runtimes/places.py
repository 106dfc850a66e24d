"""Places of a tool's code that a run may or may not reach, and what no run reached. Pure."""

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
    """What it means that no run reached it, if it is not a statement."""
    code: bool = True
    """False if nothing is skipped when it is not reached: only a branch that was never taken."""


class Instrumented(NamedTuple):
    """Code that reports which places it reaches."""

    code: str
    places: tuple[Place, ...]


class Missed(NamedTuple):
    """What no run reached."""

    lines: tuple[int, ...]
    """Lines of statements that never ran."""
    parts: tuple[tuple[int, str], ...]
    """Code on lines that ran otherwise: the line, and what never happened."""
    ways: tuple[tuple[int, str], ...]
    """Branches that were never taken and have no code."""


def missed(places: Sequence[Place], passed: Collection[int]) -> Missed:
    """Return what none of these runs reached."""
    known = set(passed)
    ran = {line for place in places if place.number in known and not place.missing for line in _lines(place)}
    left = [place for place in places if place.number not in known]
    lines = {line for place in left if not place.missing for line in _lines(place)} - ran
    on_run_lines = [place for place in left if place.line not in lines]
    hidden = [
        (place.line, place.missing or "a statement on it never ran") for place in on_run_lines if place.code
    ]
    ways = [(place.line, place.missing) for place in on_run_lines if not place.code]
    return Missed(tuple(sorted(lines)), tuple(sorted(set(hidden))), tuple(sorted(set(ways))))


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
