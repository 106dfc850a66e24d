"""Recipes: what a task's calls have in common with the next task of its kind.

A value from the task itself is a parameter, a value from an earlier call's result is a reference to that call,
and what differs between two successes becomes a parameter as well (anti-unification).
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from alita_tui.events import Json, RecipeStep, Value, as_json
from alita_tui.memory.course import Call, Course
from alita_tui.spine.text import one_line

PARAMETER, REFERENCE = "$param", "$ref"
_MOST_STEPS = 12
_MOST_VALUES = 2_000
"""Maximum number of parts of a result that are examined."""
_LONGEST = 400
"""Characters of JSON above which a constant is not stored."""
_PLAIN = 3
"""Length below which a text may match an earlier result by chance."""
_EVENT = re.compile(r"e?(\d+)")
MADE = "#file"
"""Suffix of a step: the file that it made."""


def steps_of(course: Course) -> tuple[RecipeStep, ...]:
    """Return the calls of a task with its own data removed; empty if they are too many or too deeply nested."""
    if len(course.calls) > _MOST_STEPS:
        return ()
    try:
        return _lifted(course)
    except RecursionError:
        return ()


def _lifted(course: Course) -> tuple[RecipeStep, ...]:
    work = _Lifting(course)
    steps = []
    for call in course.calls:
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        lifted = {key: work.lifted(value, key) for key, value in arguments.items()}
        steps.append(RecipeStep(tool=call.name, arguments=lifted))
        work.returned(call)
    return tuple(steps)


class _Lifting:
    """The arguments of a task's calls, one call after the other."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._task = course.task.casefold()
        self._earlier_calls: list[Call] = []
        self._places: dict[str, str] = {}
        """Canonical JSON of a value -> the newest call result that contains it."""
        self._names: dict[str, str] = {}
        """Canonical JSON of a value -> the parameter that replaces it in the whole recipe."""
        self._numbers: Counter[str] = Counter()
        """Parameter name -> the highest number in use for it."""

    def returned(self, call: Call) -> None:
        """Register a call's result for later calls."""
        self._earlier_calls.append(call)
        step = f"s{len(self._earlier_calls)}"
        references: dict[str, str] = {}
        for pointer, inner in islice(_parts(call.result), _MOST_VALUES):
            references.setdefault(_canonical(inner), f"{step}#{pointer}" if pointer else step)
        self._places |= references

    def lifted(self, value: Json, key: str) -> Json:
        """Return a value as a parameter, a reference, or as it is."""
        if (referred := single(value, REFERENCE)) is not None:
            return self._reference(referred, key)
        if isinstance(value, str) and value in self._course.given:
            return self._parameter(value, key)
        if self._in_task(value):
            return self._parameter(value, key)
        if (reference := self._earlier_place(value)) is not None:
            return {REFERENCE: reference}
        if isinstance(value, list) and value:
            inner = [self.lifted(element, key) for element in value]
            return inner
        if isinstance(value, dict):
            return {name: self.lifted(element, name) for name, element in value.items()}
        if len(_canonical(value)) > _LONGEST:  # too much to be part of a recipe
            return self._parameter(value, key)
        return value

    def _parameter(self, value: Json, key: str) -> Json:
        canonical = _canonical(value)
        if canonical not in self._names:
            name, used = _parameter_name(key), self._names.values()
            self._numbers[name] += 1
            while (free := _numbered(name, self._numbers[name])) in used:
                self._numbers[name] += 1
            self._names[canonical] = free
        return {PARAMETER: self._names[canonical]}

    def _reference(self, referred: str, key: str) -> Json:
        """Return a reference to an event, a tool, a label or a file as one to a step, or as a parameter."""
        handle, _, pointer = referred.partition("#")
        event = _EVENT.fullmatch(handle)
        for number in range(len(self._earlier_calls), 0, -1):
            call = self._earlier_calls[number - 1]
            if (event and int(event[1]) == call.seq) or handle in call.names:
                return {REFERENCE: f"s{number}#{pointer}" if pointer else f"s{number}"}
            if handle in call.made:
                return {REFERENCE: f"s{number}{MADE}"}
        return self._parameter(referred, key)

    def _in_task(self, value: Json) -> bool:
        """Return whether the task's own text contains this value, or every value of a list."""
        if isinstance(value, list):
            return bool(value) and all(self._in_task(element) for element in value)
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            return False
        text = (
            str(value) if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
        )
        text = text.casefold()
        at = self._task.find(text)
        while at >= 0:
            end = at + len(text)
            if not re.search(r"\w", self._task[max(at - 1, 0) : at] + self._task[end : end + 1]):
                return True
            at = self._task.find(text, at + 1)
        return False

    def _earlier_place(self, value: Json) -> str | None:
        """Return the reference to this exact value in an earlier result; None if the match may be chance."""
        if isinstance(value, bool) or value is None or (isinstance(value, str) and len(value) < _PLAIN):
            return None
        if isinstance(value, int | float) and abs(value) <= 12:
            return None
        if isinstance(value, list | dict) and not value:
            return None
        return self._places.get(_canonical(value))


def _parts(value: Json, pointer: str = "") -> Iterator[tuple[str, Json]]:
    """Yield a value and all its parts with their JSON pointers."""
    yield pointer, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _parts(inner, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _parts(inner, f"{pointer}/{number}")


def manner(steps: Sequence[RecipeStep]) -> tuple[str, ...]:
    """Return how tools are called, each way once: a tool with the names of its arguments.

    Recipes of the same tools in another manner are other recipes, as totals and a search are for a tool that reads
    tables.
    """
    calls = (f"{step.tool}({', '.join(sorted(key for key, _ in _items(step.arguments)))})" for step in steps)
    return tuple(dict.fromkeys(calls))


def merged(earlier: tuple[RecipeStep, ...], later: tuple[RecipeStep, ...]) -> tuple[RecipeStep, ...] | None:
    """Return what two successes have in common, with differences as parameters; None if their shapes differ."""
    if not earlier or [step.tool for step in earlier] != [step.tool for step in later]:
        return None
    names = {name for step in earlier for name in parameters(step.arguments)}
    try:
        return tuple(
            RecipeStep(tool=before.tool, arguments=_common(before.arguments, after.arguments, "value", names))
            for before, after in zip(earlier, later, strict=True)
        )
    except _Unlike:
        return None


class _Unlike(Exception):
    """Two values with different parts."""


def _common(earlier: Json, later: Json, key: str, names: set[str]) -> Json:
    if earlier == later:
        return earlier
    for side in (earlier, later):
        if single(side, PARAMETER) is not None:
            return side
    if single(earlier, REFERENCE) is None and single(later, REFERENCE) is None:
        if isinstance(earlier, dict) and isinstance(later, dict):
            if earlier.keys() != later.keys():
                raise _Unlike
            return {name: _common(earlier[name], later[name], name, names) for name in earlier}
        if isinstance(earlier, dict) or isinstance(later, dict):
            raise _Unlike
    stem = _parameter_name(key)
    name = next(free for n in range(1, len(names) + 2) if (free := _numbered(stem, n)) not in names)
    names.add(name)
    return {PARAMETER: name}


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}_{number}"


def _parameter_name(key: str) -> str:
    """Return a name for this argument's parameter that is also valid in code."""
    name = re.sub(r"[^a-z0-9_]+", "_", key.casefold()).strip("_")[:40] or "value"
    unusable = (
        keyword.iskeyword(name)
        or not name.isidentifier()
        or re.fullmatch(r"s\d+|run|json|os|urllib|arguments", name)
    )
    return f"the_{name}" if unusable else name


def parameters(value: Json) -> tuple[str, ...]:
    """Return the names of the parameters in arguments, in order, each once."""
    if (name := single(value, PARAMETER)) is not None:
        return (name,)
    inner: Sequence[Any] = ()
    if isinstance(value, dict):
        inner = tuple(value.values())
    elif isinstance(value, list):
        inner = value
    return tuple(dict.fromkeys(name for element in inner for name in parameters(element)))


def in_words(steps: Sequence[RecipeStep]) -> str:
    """Return a recipe in one line: `csv_read(path=PATH) → chart(rows=s1/rows, by="region")`."""
    return one_line(
        " → ".join(
            f"{step.tool}({', '.join(f'{key}={_in_words(value)}' for key, value in _items(step.arguments))})"
            if step.arguments
            else step.tool
            for step in steps
        ),
        600,
    )


def _items(arguments: Json) -> list[tuple[str, Json]]:
    return list(arguments.items()) if isinstance(arguments, dict) else []


def _in_words(value: Json) -> str:
    if (name := single(value, PARAMETER)) is not None:
        return name.upper()
    if (reference := single(value, REFERENCE)) is not None:
        return reference.replace("#/", "/").replace(MADE, "'s file")
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_in_words(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_in_words, value))}]"
    return one_line(_canonical(value), 80)


def single(value: Json, key: str) -> str | None:
    """Return the NAME of `{key: NAME}`; None for anything else."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get(key), str):
        return str(value[key])
    return None


def _canonical(value: Json) -> str:
    return as_json(value, ordered=True)


class Graph(Value, frozen=True):
    """The calls that a recipe's successes have in common."""

    steps: tuple[RecipeStep, ...] = ()
    worked: int = 0
    """Number of successes with exactly this shape."""

    def after(self, steps: tuple[RecipeStep, ...]) -> Graph:
        """Return the graph after one more success."""
        common = merged(self.steps, steps)
        if common is None:
            return Graph(steps=steps, worked=1 if steps else 0)
        return Graph(steps=common, worked=self.worked + 1)
