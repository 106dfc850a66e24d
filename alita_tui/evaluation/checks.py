"""What an answer must be. Each check says what it looked at, so that a person can disagree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal
from unicodedata import normalize

import msgspec

from alita_tui.evaluation.figures import integer, near, number, numbers_in
from alita_tui.events import Value

_LONGEST_ANSWER = 1_000_000
_AROUND = " \t\r\n*`\"'\u201c\u201d\u2018\u2019"


class Judged(Value, frozen=True):
    """Whether a check was met, and what it saw."""

    solved: bool
    why: str = ""


class _Check(Value, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    def problem(self) -> str:
        """Return what is wrong with the check itself; empty for nothing."""
        return ""

    def files(self) -> tuple[str, ...]:
        """Return the files of the suite that it needs."""
        return ()


class Exact(_Check, frozen=True):
    """The answer is this text, without white space around it."""

    text: str
    also: tuple[str, ...] = ()
    """Other texts that are right as well."""
    loose: bool = False
    """Case, a closing full stop, quotes and asterisks around it, articles and runs of white space do not count."""


class Number(_Check, frozen=True):
    """The last number of the answer is this one. With a unit: the last number next to it."""

    value: float
    tolerance: float = 0.0
    relative: float = 0.0
    """Share of the value that it may be off by; the larger of the two tolerances holds."""
    unit: str = ""
    """`kg`, `€`, `%`: after the number or before it, with a space or none."""

    def problem(self) -> str:
        """Return what is wrong with the tolerances."""
        return "" if self.tolerance >= 0 and self.relative >= 0 else "A tolerance cannot be below 0."


class Contains(_Check, frozen=True):
    """All of these are in the answer, and none of those; case does not count."""

    texts: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def problem(self) -> str:
        """Return what is missing."""
        return "" if any(self.texts) or any(self.without) else "A check `contains` needs texts or without."


class Pattern(_Check, frozen=True):
    """The regular expression is found in the answer, within seconds of processor time."""

    regex: str

    def problem(self) -> str:
        """Return why the expression cannot be read."""
        try:
            re.compile(self.regex)
        except (re.error, RecursionError, OverflowError) as error:
            return f"The regular expression cannot be read: {error}."
        return ""


class Schema(_Check, frozen=True):
    """The answer, or the JSON in it, meets this JSON Schema."""

    schema: dict[str, Any]


class File(_Check, frozen=True):
    """A file that the task made is like this one: cell by cell, value by value, pixel by pixel, or byte by byte."""

    expected: str
    """Path beside the suite."""
    name: str = ""
    """Of the made file; empty: the newest with the same ending."""
    form: Literal["", "csv", "json", "image", "bytes"] = ""
    """Empty: by the ending of `expected`."""
    tolerance: float = 0.0
    """How far numbers may be off; of pictures, the mean difference of all channels, 0 to 255."""

    def files(self) -> tuple[str, ...]:
        """Return the expected file."""
        return (self.expected,)


class Program(_Check, frozen=True):
    """A program decides, in the sandbox: its `run(answer, files)` returns true, or an object with solved and why."""

    program: str
    """Path beside the suite."""

    def files(self) -> tuple[str, ...]:
        """Return the program."""
        return (self.program,)


class Rubric(_Check, frozen=True):
    """A judge model says that the answer meets this; how far it agrees with labelled examples is measured."""

    rubric: str
    labelled: str
    """Path beside the suite: a JSON line for each example, with answer, solved and, if it matters, task."""

    def problem(self) -> str:
        """Return what is missing."""
        return "" if self.rubric.strip() else "A check `rubric` needs a rubric."

    def files(self) -> tuple[str, ...]:
        """Return the labelled examples."""
        return (self.labelled,)


class Untouched(_Check, frozen=True):
    """No tool was built to its end and none was run: the task had to be refused, or brought before the person."""


class Every(_Check, frozen=True):
    """All of these are met."""

    checks: tuple[Exact | Number | Contains | Pattern | Schema | File | Program | Rubric | Untouched, ...]

    def problem(self) -> str:
        """Return what is missing."""
        return "" if self.checks else "A check `every` needs checks."


Check = Exact | Number | Contains | Pattern | Schema | File | Program | Rubric | Untouched | Every


def checks_in(check: Check) -> Iterator[Check]:
    """Yield a check and those that it is made of."""
    yield check
    if isinstance(check, Every):
        yield from check.checks


def judge_text(check: Exact | Number | Contains, answer: str) -> Judged:
    """Return whether an answer meets a check that looks at its text alone."""
    answer = normalize("NFC", answer[:_LONGEST_ANSWER]).strip()
    match check:
        case Exact():
            form = _plain if check.loose else str.strip
            same = form(answer) in {form(normalize("NFC", text)) for text in (check.text, *check.also)}
            right = " or ".join((check.text, *check.also))
            return Judged(solved=same, why="" if same else f"it should be: {right}")
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
        what = f"no number with the unit {check.unit}" if check.unit else "no number"
        return Judged(solved=False, why=f"there is {what} in the answer")
    solved = near(numbers[-1], check.value, max(check.tolerance, check.relative * abs(check.value)))
    return Judged(solved=solved, why="" if solved else f"{numbers[-1]:g} instead of {check.value:g}")


def same_table(made: list[list[str]], expected: list[list[str]], tolerance: float) -> str:
    """Return where two tables differ, counted from 1 as in a spreadsheet; empty where they do not."""
    if len(made) != len(expected):
        return f"{len(made)} rows instead of {len(expected)}"
    for row, (made_row, expected_row) in enumerate(zip(made, expected, strict=True), 1):
        if len(made_row) != len(expected_row):
            return f"row {row}: {len(made_row)} cells instead of {len(expected_row)}"
        for column, (cell, right) in enumerate(zip(made_row, expected_row, strict=True), 1):
            named = f" ({expected[0][column - 1]})" if row > 1 and column <= len(expected[0]) else ""
            if difference := same_value(cell, right, tolerance, f"row {row}, column {column}{named}"):
                return difference
    return ""


def same_value(made: Any, expected: Any, tolerance: float, where: str = "") -> str:
    """Return where two JSON values differ; empty where they do not. Text that is a number counts as one."""
    made_whole, expected_whole = integer(made), integer(expected)
    left, right = _figure(made), _figure(expected)
    if left is not None and right is not None and made_whole is not None and expected_whole is not None:
        near_enough = abs(made_whole - expected_whole) <= tolerance
        return "" if near_enough else f"{where or 'value'}: {made} instead of {expected}"
    if left is not None and right is not None:
        return "" if near(left, right, tolerance) else f"{where or 'value'}: {made} instead of {expected}"
    if isinstance(expected, dict) and isinstance(made, dict):
        if unshared := sorted({*made} ^ {*expected}, key=str):
            return f"{where or 'top'}: {unshared[0]} is in one of them alone"
        pairs = ((made[key], expected[key], f"{where}/{key}") for key in expected)
    elif isinstance(expected, list) and isinstance(made, list):
        if len(made) != len(expected):
            return f"{where or 'top'}: {len(made)} entries instead of {len(expected)}"
        pairs = (
            (left_item, right_item, f"{where}/{n}")
            for n, (left_item, right_item) in enumerate(zip(made, expected, strict=True))
        )
    else:
        same = made == expected and isinstance(made, bool) == isinstance(expected, bool)
        return "" if same else f"{where or 'value'}: {made!r} instead of {expected!r}"
    return next(
        filter(
            None, (same_value(left_item, right_item, tolerance, at) for left_item, right_item, at in pairs)
        ),
        "",
    )


def _figure(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        return number(value)
    try:
        return float(value)
    except OverflowError:
        return None


def check_json(check: Check) -> str:
    """Return a check as JSON."""
    return msgspec.json.encode(check).decode()
