"""Generates texts that match a regular expression from its parsed form; the expression is never run."""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any

_LONGEST = 200
_DEEPEST = 30
_CLASSES = {"CATEGORY_DIGIT": "0123456789", "CATEGORY_WORD": "abcXYZ019_", "CATEGORY_SPACE": " \t"}
_ANY = "abz AZ09-"


def matching(pattern: str, chance: random.Random) -> str:
    """Return a text that most likely matches; lookarounds are ignored. Empty if the pattern cannot be parsed."""
    try:
        parts = import_module("re._parser").parse(pattern)
        return _sequence(parts, chance, 0)[:_LONGEST]
    except (ValueError, OverflowError, RecursionError, MemoryError, import_module("re").error):
        return ""


def _sequence(parts: Any, chance: random.Random, depth: int) -> str:
    if depth > _DEEPEST:
        return ""
    return "".join(_part(str(kind), argument, chance, depth + 1) for kind, argument in parts)


def _part(kind: str, argument: Any, chance: random.Random, depth: int) -> str:
    match kind:
        case "LITERAL":
            return chr(argument)
        case "NOT_LITERAL":
            return "a" if argument != ord("a") else "b"
        case "ANY":
            return chance.choice(_ANY)
        case "IN":
            return _one_of(argument, chance)
        case "BRANCH":
            return _sequence(chance.choice(argument[1]), chance, depth)
        case "SUBPATTERN":
            return _sequence(argument[3], chance, depth)
        case "ATOMIC_GROUP":
            return _sequence(argument, chance, depth)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = argument
            times = chance.randint(min(least, _LONGEST), min(int(most), least + 4, _LONGEST))
            return "".join(_sequence(inner, chance, depth) for _ in range(times))
        case _:
            return ""  # an assertion, or something that only running it could produce


def _one_of(alternatives: Any, chance: random.Random) -> str:
    kinds = [(str(kind), value) for kind, value in alternatives]
    if kinds and kinds[0][0] == "NEGATE":
        out = {chr(value) for kind, value in kinds if kind == "LITERAL"}
        ranges = [value for kind, value in kinds if kind == "RANGE"]
        allowed = [c for c in _ANY + "._/" if c not in out and not any(a <= ord(c) <= b for a, b in ranges)]
        return chance.choice(allowed) if allowed else ""
    kind, item = chance.choice(kinds)
    if kind == "RANGE":
        return chr(chance.randint(*item))
    return chr(item) if kind == "LITERAL" else chance.choice(_CLASSES.get(str(item), "-"))
