"""Checks of answers. Each reports what it found, so that a person can disagree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal
from unicodedata import normalize

from alita_tui.evaluation.figures import integer, near, number, numbers_in
from alita_tui.events import Value

_LONGEST_ANSWER = 1_000_000
_AROUND = " \t\r\n*`\"'\u201c\u201d\u2018\u2019"


class Judged(Value, frozen=True):
    """The result of a check."""

    solved: bool
    why: str = ""
    """Why it is not solved; empty if it is."""


class _Check(Value, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    def problem(self) -> str:
        """Return what is invalid in the check itself; empty if it is valid."""
        return ""

    def files(self) -> tuple[str, ...]:
        """Return the suite's files that the check needs."""
        return ()


class Exact(_Check, frozen=True):
    """The answer is this text, ignoring surrounding white space."""

    text: str
    also: tuple[str, ...] = ()
    """Other texts that are also right."""
    loose: bool = False
    """Also ignore case, articles, a final full stop, surrounding quotes and asterisks, and runs of white space."""


class Number(_Check, frozen=True):
    """The last number of the answer is this one; with a unit, the last number next to the unit."""

    value: float
    tolerance: float = 0.0
    relative: float = 0.0
    """Tolerance as a share of the value; the larger of the two tolerances counts."""
    unit: str = ""
    """`kg`, `€`, `%`: after or before the number, with or without a space."""

    def problem(self) -> str:
        """Return what is invalid in the tolerances."""
        return "" if self.tolerance >= 0 and self.relative >= 0 else "A tolerance cannot be below 0."


class Contains(_Check, frozen=True):
    """All of `texts` are in the answer and none of `without`, ignoring case."""

    texts: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def problem(self) -> str:
        """Return what is missing."""
        return "" if any(self.texts) or any(self.without) else "A check `contains` needs texts or without."


class Pattern(_Check, frozen=True):
    """The regular expression matches within the answer; the search is limited in processor time."""

    regex: str

    def problem(self) -> str:
        """Return why the expression cannot be read."""
        try:
            re.compile(self.regex)
        except (re.error, RecursionError, OverflowError) as error:
            return f"The regular expression cannot be read: {error}."
        return ""


class Schema(_Check, frozen=True):
    """The answer, or the JSON in it, matches this JSON Schema."""

    schema: dict[str, Any]


class File(_Check, frozen=True):
    """A file that the task made equals this one by cells, by values, by pixels or by bytes."""

    expected: str
    """Path relative to the suite."""
    name: str = ""
    """Name of the made file; empty for the newest with the same suffix."""
    form: Literal["", "csv", "json", "image", "bytes"] = ""
    """Empty to follow the suffix of `expected`."""
    tolerance: float = 0.0
    """Largest difference of numbers; for pictures, largest mean difference over all channels, 0 to 255."""

    def files(self) -> tuple[str, ...]:
        """Return the expected file."""
        return (self.expected,)


class Program(_Check, frozen=True):
    """A program decides, in the sandbox: its `run(answer, files)` returns true, or an object with solved and why."""

    program: str
    """Path relative to the suite."""

    def files(self) -> tuple[str, ...]:
        """Return the program."""
        return (self.program,)


class Rubric(_Check, frozen=True):
    """A judge model decides whether the answer meets a rubric; its agreement with labelled examples is measured."""

    rubric: str
    labelled: str
    """Path relative to the suite: JSON Lines of examples, with answer, solved and, if it matters, task."""

    def problem(self) -> str:
        """Return what is missing."""
        return "" if self.rubric.strip() else "A check `rubric` needs a rubric."

    def files(self) -> tuple[str, ...]:
        """Return the labelled examples."""
        return (self.labelled,)


class Untouched(_Check, frozen=True):
    """No build was finished and no tool was run: the task had to be refused, or put to the person."""


class Every(_Check, frozen=True):
    """All of these checks are met."""

    checks: tuple[Exact | Number | Contains | Pattern | Schema | File | Program | Rubric | Untouched, ...]

    def problem(self) -> str:
        """Return what is missing."""
        return "" if self.checks else "A check `every` needs checks."


Check = Exact | Number | Contains | Pattern | Schema | File | Program | Rubric | Untouched | Every


def checks_in(check: Check) -> Iterator[Check]:
    """Yield a check and the checks that it consists of."""
    yield check
    if isinstance(check, Every):
        yield from check.checks


def judge_text(check: Exact | Number | Contains, answer: str) -> Judged:
    """Return whether an answer meets a check that depends on its text alone."""
    answer = normalize("NFC", answer[:_LONGEST_ANSWER]).strip()
    match check:
        case Exact():
            form = _plain if check.loose else str.strip
            matches = form(answer) in {form(normalize("NFC", text)) for text in (check.text, *check.also)}
            right = " or ".join((check.text, *check.also))
            return Judged(solved=matches, why="" if matches else f"it should be: {right}")
        case Number():
            return _number(check, answer)
        case Contains():
            folded = _folded(answer)
            missing = [text for text in check.texts if _folded(text) not in folded]
            wrong = [text for text in check.without if text and _folded(text) in folded]
            problems = [f"missing: {', '.join(missing)}"] if missing else []
            problems += [f"must not be there: {', '.join(wrong)}"] if wrong else []
            return Judged(solved=not problems, why="; ".join(problems))


def _plain(text: str) -> str:
    words = re.sub(r"\s+", " ", text.casefold().strip(_AROUND).rstrip("." + _AROUND)).strip()
    return re.sub(r"\b(?:a|an|the) ", "", words)


def _folded(text: str) -> str:
    return normalize("NFC", text).casefold()


def _number(check: Number, answer: str) -> Judged:
    numbers = numbers_in(answer, check.unit)
    if not numbers:
        missing = f"no number with the unit {check.unit}" if check.unit else "no number"
        return Judged(solved=False, why=f"there is {missing} in the answer")
    solved = near(numbers[-1], check.value, max(check.tolerance, check.relative * abs(check.value)))
    return Judged(solved=solved, why="" if solved else f"{numbers[-1]:g} instead of {check.value:g}")


def same_table(made: list[list[str]], expected: list[list[str]], tolerance: float) -> str:
    """Return where two tables differ, counted from 1 as in a spreadsheet; empty if they do not."""
    if len(made) != len(expected):
        return f"{len(made)} rows instead of {len(expected)}"
    for row, (made_row, expected_row) in enumerate(zip(made, expected, strict=True), 1):
        if len(made_row) != len(expected_row):
            return f"row {row}: {len(made_row)} cells instead of {len(expected_row)}"
        for column, (cell, right) in enumerate(zip(made_row, expected_row, strict=True), 1):
            heading = f" ({expected[0][column - 1]})" if row > 1 and column <= len(expected[0]) else ""
            if difference := same_value(cell, right, tolerance, f"row {row}, column {column}{heading}"):
                return difference
    return ""


def same_value(made: Any, expected: Any, tolerance: float, location: str = "") -> str:
    """Return where two JSON values differ; empty if they do not. Text that is a number counts as a number."""
    whole, expected_whole = integer(made), integer(expected)
    made_number, expected_number = _figure(made), _figure(expected)
    if made_number is not None and expected_number is not None:
        if whole is not None and expected_whole is not None:
            near_enough = abs(whole - expected_whole) <= tolerance
        else:
            near_enough = near(made_number, expected_number, tolerance)
        return "" if near_enough else f"{location or 'value'}: {made} instead of {expected}"
    if isinstance(expected, dict) and isinstance(made, dict):
        if unshared := sorted({*made} ^ {*expected}, key=str):
            return f"{location or 'top'}: {unshared[0]} is in one of them alone"
        pairs = ((made[key], expected[key], f"{location}/{key}") for key in expected)
    elif isinstance(expected, list) and isinstance(made, list):
        if len(made) != len(expected):
            return f"{location or 'top'}: {len(made)} entries instead of {len(expected)}"
        pairs = (
            (item, expected_item, f"{location}/{index}")
            for index, (item, expected_item) in enumerate(zip(made, expected, strict=True))
        )
    else:
        equal = made == expected and isinstance(made, bool) == isinstance(expected, bool)
        return "" if equal else f"{location or 'value'}: {made!r} instead of {expected!r}"
    differences = (same_value(item, expected_item, tolerance, place) for item, expected_item, place in pairs)
    return next(filter(None, differences), "")


def _figure(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        return number(value)
    try:
        return float(value)
    except OverflowError:
        return None
