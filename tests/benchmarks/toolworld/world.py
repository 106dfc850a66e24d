"""The stream of tasks: needs come up, come back and grow; and what the right answers are."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from tests.attack.drafts.honest import Recipe
from tests.benchmarks.toolworld.craft import same_purpose
from tests.benchmarks.toolworld.draws import BEYOND, DRAWS, LATER
from tests.benchmarks.toolworld.language import RESULT, THEN, Concept, concepts

Kind = Literal["plain", "grown", "combined", "beyond", "unknowable"]

_ZIPF = 0.9
"""How often a need comes up goes as its rank to the power of minus this (Zipf's law), in no order of time."""
_COMBINED, _BEYOND, _UNKNOWABLE, _GROWN = 0.09, 0.02, 0.03, 0.6
"""Shares of tasks; and of those whose need has grown, once it has been met."""
_UNKNOWABLE_TASKS = (
    "Which number am I thinking of right now?",
    "What will a share of Acme Anvils cost next spring?",
    "Which team will win the cup in nine years?",
    "What did my neighbour dream last night?",
    "By how much will the rent in our street rise until 2041?",
    "What did my grandmother eat on her tenth birthday?",
    "How many people were at the party that nobody wrote down?",
)
_INTO: dict[str, tuple[str, str]] = {
    "spell_number": ("number", "int"), "prime_factors": ("number", "int"), "is_prime": ("number", "int"),
    "fibonacci_number": ("n", "int"), "format_duration": ("seconds", "int"), "bytes_human": ("count", "int"),
    "next_palindrome": ("number", "int"), "collatz_steps": ("start", "int"), "morse_encode": ("text", "str"),
    "run_length_encode": ("text", "str"), "nato_spelling": ("text", "str"), "pig_latin": ("text", "str"),
    "reverse_words": ("text", "str"), "weekday_name": ("day", "date"), "iso_week": ("day", "date"),
    "quarter_of": ("day", "date"), "roman_date": ("day", "date"),
}  # fmt: skip
"""Needs that take what another one brings: the parameter, and of what kind it is."""
_OUT: dict[str, str] = {
    "greatest_common_divisor": "int", "from_base": "int", "collatz_steps": "int", "days_between": "int",
    "parse_duration": "int", "minutes_of_shift": "int", "next_palindrome": "int", "age_in_years": "int",
    "caesar_shift": "str", "acronym_of": "str", "reverse_words": "str", "dna_complement": "str",
    "add_months": "date", "easter_sunday": "date", "nth_weekday": "date",
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One task as a person gives it, and what the world knows of it."""

    text: str
    kind: Kind
    needs: tuple[str, ...] = ()
    """What it takes to answer it; a need that has grown is another one."""
    answer: Any = None


def stream(tasks: int, needs: int, seed: int) -> tuple[Task, ...]:
    """Return a stream; the same for the same seed."""
    world = _World(needs, Random(seed))
    return tuple(world.task() for _ in range(tasks))


class _World:
    def __init__(self, needs: int, chance: Random) -> None:
        self._random = chance
        self._needs = chance.sample(sorted(DRAWS), min(needs, len(DRAWS)))
        self._often = [(rank + 1) ** -_ZIPF for rank in range(len(self._needs))]
        self._met: list[str] = []
        """Needs as they came up."""

    def task(self) -> Task:
        """Return the next task of the stream."""
        luck = self._random.random()
        if luck < _UNKNOWABLE:
            return Task(self._random.choice(_UNKNOWABLE_TASKS), "unknowable")
        if luck < _UNKNOWABLE + _BEYOND and (there := [*{*self._met} & {*BEYOND}]):
            name = self._random.choice(sorted(there))
            return Task(self._said(concepts()[name], BEYOND[name](self._random)), "beyond", (name,))
        if luck < _UNKNOWABLE + _BEYOND + _COMBINED and (task := self._combined()):
            return task
        return self._plain(*self._random.choices(self._needs, self._often))

    def _plain(self, name: str) -> Task:
        concept, known = concepts()[name], self._met.count(name)
        self._met.append(name)
        if known >= 1 and self._random.random() < _GROWN and (concept.more or name in LATER):
            draw = LATER.get(name, DRAWS[name])(self._random)
            way = self._random.choice(concept.more or concept.ways)
            given = {key: value for key, value in draw.items() if key in way.slots}
            return Task(way.said(given), "grown", (f"{name}+",), _answer(concept.recipe, given))
        given = DRAWS[name](self._random)
        given = {key: value for key, value in given.items() if key not in concept.defaults}
        return Task(self._said(concept, given), "plain", (name,), _answer(concept.recipe, given))

    def _combined(self) -> Task | None:
        """Return a task for two needs that were met before, the one after the other."""
        pairs = sorted(
            {
                (a, b)
                for a in self._met
                for b in self._met
                if a != b and b in _INTO and _OUT.get(a) == _INTO[b][1]
            }
        )
        if not pairs:
            return None
        first, second = (concepts()[name] for name in self._random.choice(pairs))
        slot = _INTO[second.name][0]
        for _ in range(8):
            given = DRAWS[first.name](self._random)
            between = _answer(first.recipe, given)
            try:
                answer = _answer(second.recipe, {slot: between})
            except (ValueError, TypeError):
                continue
            text = f"{self._said(first, given)}{THEN}{self._said(second, {slot: RESULT})}"
            return Task(text, "combined", (first.name, second.name), answer)
        return None

    def _said(self, concept: Concept, given: dict[str, Any]) -> str:
        return self._random.choice(concept.ways).said(given)


def _answer(recipe: Recipe, given: dict[str, Any]) -> Any:
    return json.loads(json.dumps(recipe.run(given)))


def right(task: Task, answer: str) -> bool:
    """Return whether an answer is right: the result, or that there is none."""
    if task.kind in ("beyond", "unknowable"):
        return answer.startswith("There is no answer" if task.kind == "beyond" else "I cannot know that")
    said = re.fullmatch(r"The result is (.*)\.", answer, re.DOTALL)
    return bool(said) and equal(json.loads(said[1]), task.answer) if said else False


def trials(description: str, takes: dict[str, Any], most: int = 8) -> list[tuple[dict[str, Any], Any]]:
    """Return values that nobody has asked a tool about, with the right answers; nothing where it cannot take them."""
    name = next(
        one for one, concept in concepts().items() if same_purpose(description, concept.recipe.purpose)
    )
    concept, chance, found = concepts()[name], Random(f"trials of {name}"), []
    for _ in range(most):
        given = DRAWS[name](chance)
        given = {key: value for key, value in given.items() if key in takes or key not in concept.defaults}
        if not given.keys() <= takes.keys():
            return []
        found.append((given, _answer(concept.recipe, given)))
    return found


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) or isinstance(right, float):
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (left, right))
        return numbers and math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return bool(left == right) and type(left) is type(right)
