"""Arguments to try a tool with, validation against schemas, and equality of answers. Pure."""

from __future__ import annotations

import ast
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from alita_tui.events import Json, ToolDraft
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.syntax import try_parse
from alita_tui.spine.text import one_line

_TEXTS = ("alpha beta", "", "Straße 12", "a,b;c\n1,2;3", "2024-02-29", "ada@example.org", "x")
_NUMBERS = (3, 0, 1, -7, 12, 100, 2)
_FLOATS = (2.5, 0.0, -1.25, 100.0, 3.0, 0.1, 7.0)
_DEEPEST = 4
_STEPS_EACH = 60_000
_STEPS = 200_000
"""Schema keywords that are applied to one value, and to all values validated against one schema."""
_SECONDS = 3.0
"""Processor time for one value."""
_COMPARED = 400
"""Comparisons of names that take as long as a step."""


def probes(draft: ToolDraft, most: int) -> list[dict[str, Json]]:
    """Return arguments that fit a draft's schema: those its tests use, then some generated from the schema."""
    candidates = [*calls_in(draft), *made(draft.input_schema)]
    unique: list[dict[str, Json]] = []
    for arguments in candidates:
        if arguments not in unique and fits(arguments, draft.input_schema):
            unique.append(arguments)
    return unique[:most]


def calls_in(draft: ToolDraft) -> Iterator[dict[str, Json]]:
    """Yield the arguments that the draft's tests write out in calls of `run`."""
    if (tests := try_parse(draft.tests)) is None:
        return
    names = runtime_of(draft.language).parameters(draft)
    for node in ast.walk(tests):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "run":
            try:
                arguments = dict(
                    zip(names, (ast.literal_eval(argument) for argument in node.args), strict=False)
                )
                arguments |= {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
            yield arguments


def made(schema: Json, most: int = 7) -> Iterator[dict[str, Json]]:
    """Yield arguments generated from a schema, the same for the same schema."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return
    for turn in range(most):
        yield {name: _value(part, turn + n, 0) for n, (name, part) in enumerate(properties.items())}


def _value(schema: Json, turn: int, depth: int) -> Json:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return None
    for keyword in ("enum", "examples"):
        listed = schema.get(keyword)
        if isinstance(listed, list) and listed:
            return listed[turn % len(listed)]
    for choice in ("anyOf", "oneOf"):
        listed = schema.get(choice)
        if isinstance(listed, list) and listed:
            return _value(listed[turn % len(listed)], turn, depth + 1)
    match kind_of(schema):
        case "string":
            return _TEXTS[turn % len(_TEXTS)]
        case "integer":
            return int(_within(_NUMBERS[turn % len(_NUMBERS)], schema))
        case "number":
            return _within(_FLOATS[turn % len(_FLOATS)], schema)
        case "boolean":
            return turn % 2 == 0
        case "array":
            least = schema.get("minItems", 0)
            size = max(least if isinstance(least, int) else 0, (3, 0, 1, 5, 2)[turn % 5])
            return [_value(schema.get("items", {}), turn + n, depth + 1) for n in range(min(size, 8))]
        case "object":
            return next(iter(made(schema, 1)), {})
        case _:
            return None


def kind_of(schema: Json) -> str:
    """Return the JSON type that a schema asks for; the first of several that is not null; empty if none is given."""
    kind = schema.get("type", "") if isinstance(schema, dict) else ""
    kinds = kind if isinstance(kind, list) else [kind]
    return next((name for name in kinds if isinstance(name, str) and name != "null"), "")


def _within(number: float, schema: dict[str, Any]) -> float:
    low, high = schema.get("minimum"), schema.get("maximum")
    number = max(number, low) if isinstance(low, int | float) else number
    return min(number, high) if isinstance(high, int | float) else number


def fits(arguments: Json, schema: Json) -> bool:
    """Return True if arguments fit a schema."""
    return not misfit(arguments, schema)


def misfit(value: Json, schema: Json) -> str:
    """Return why a value does not fit a schema, in one line; empty if it does."""
    return Fit(schema).misfit(value)


class Fit:
    """Validates values against one schema within a bounded number of steps."""

    def __init__(self, schema: Json) -> None:
        self._validator = _bounded()(_without_patterns(schema))
        self._steps_left = _STEPS
        self._each = 0
        self._broken = ""
        self._until = 0.0

    def __call__(self, value: Json) -> bool:
        """Return True if a value fits the schema."""
        return not self.misfit(value)

    def misfit(self, value: Json) -> str:
        """Return why a value does not fit the schema, in one line; empty if it does."""
        from jsonschema.exceptions import SchemaError, UnknownType, best_match
        from referencing.exceptions import Unresolvable

        if self._broken:  # a schema that cannot be applied is tried once
            return self._broken
        self._each, self._until = _STEPS_EACH, time.thread_time() + _SECONDS
        _applied.fit = self
        try:
            error = best_match(self._validator.iter_errors(value))
        except (
            SchemaError,
            UnknownType,
            Unresolvable,
            RecursionError,
            TypeError,
            AttributeError,
            ValueError,
            ArithmeticError,
        ) as why:
            self._broken = f"the schema cannot be applied: {one_line(str(why), 200)}"
            return self._broken
        return f"{error.json_path}: {error.message}" if error else ""

    @property
    def spent(self) -> bool:
        """True if no steps are left for this schema, although no single value took too many."""
        return self._steps_left < 0 <= self._each

    def step(self, count: int = 1) -> None:
        """Count a keyword that is applied. Raise ValueError if none is left: references can multiply without end."""
        self._steps_left -= count
        self._each -= count
        if min(self._steps_left, self._each) < 0:
            raise ValueError("it takes too many steps")
        if time.thread_time() > self._until:  # an error is worded when it is found, with all of a large value
            raise ValueError("it takes too long")

    def identity(self, value: Json) -> Any:
        """Return what is equal for equal JSON values alone, and can be hashed; each part counts as a step."""
        self.step()
        if isinstance(value, dict):
            return frozenset((name, self.identity(part)) for name, part in value.items())
        if isinstance(value, list):
            return ("list", *map(self.identity, value))
        if isinstance(value, bool) or value is None:
            return ("constant", value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        # As text, because numbers can be made whose hashes are the same.
        return (
            value
            if isinstance(value, str)
            else ("number", f"{value:x}" if isinstance(value, int) else repr(value))
        )


_applied = threading.local()
"""`fit`: the `Fit` that this thread validates a value for."""


@cache
def _bounded() -> Callable[[Json], Any]:
    """Return a function from a schema to a validator that counts each keyword as a step. Cached, because extending
    the validator class takes longer than validating most values.
    """
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.validators import extend
    from jsonschema_specifications import REGISTRY

    # Only formats that are validated in linear time.
    formats = FormatChecker(("date", "time", "ipv4", "ipv6", "uuid", "email"))
    rules = {**Draft202012Validator.VALIDATORS, "uniqueItems": _unique_items}
    for keyword in ("unevaluatedItems", "unevaluatedProperties"):
        rules[keyword] = _counted(rules[keyword], squared=True)
    rules = {name: _counted(rule) for name, rule in rules.items()}
    validator_class = extend(Draft202012Validator, rules)  # type: ignore[no-untyped-call]
    # This registry fetches nothing; the default one reads any address or file that a schema refers to.
    return lambda schema: validator_class(schema, format_checker=formats, registry=REGISTRY)


def _counted(rule: Callable[..., Any], *, squared: bool = False) -> Callable[..., Any]:
    """Return a rule that counts as a step; with `squared` as many as the square of a large value's size demands."""

    def apply(validator: Any, wanted: Json, value: Json, schema: Json) -> Any:
        size = len(value) if squared and isinstance(value, dict | list) else 0
        _applied.fit.step(1 + size**2 // _COMPARED)
        return rule(validator, wanted, value, schema)

    return apply


def _unique_items(_: Any, wanted: Json, value: Json, __: Json) -> Iterator[Exception]:
    """Yield an error as jsonschema does, whose own rule compares each item of a large list with each other one."""
    from jsonschema.exceptions import ValidationError

    if wanted and isinstance(value, list) and len(set(map(_applied.fit.identity, value))) < len(value):
        yield ValidationError(f"{value!r} has non-unique elements")


def _without_patterns(schema: Json) -> Json:
    """Return the schema without regular expressions: one from a model could block this process forever."""
    if isinstance(schema, list):
        return [_without_patterns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    reduced: dict[str, Json] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            reduced[key] = {name: _without_patterns(part) for name, part in value.items()}
        elif key in ("const", "enum", "examples", "default"):
            reduced[key] = value
        elif key not in ("pattern", "patternProperties"):
            reduced[key] = _without_patterns(value)
    if "patternProperties" in schema:  # what it allows is unknown then
        reduced.pop("additionalProperties", None)
    return reduced


def same(expected: Json, actual: Json) -> bool:
    """Return True if a value is the expected one; of objects only the expected keys count."""
    common = agree(expected, actual)
    return common is not None and common[0] == expected


def equal(a: Sequence[Json], b: Sequence[Json]) -> bool:
    """Return True if two results are equal in every part, numbers up to rounding."""
    return agree(a, b) == (a,) and agree(b, a) == (b,)


def agree(a: Json, b: Json) -> tuple[Json] | None:
    """Return what two values have in common, as a tuple of one; None if they contradict each other.

    Objects agree on the keys that both have; without a common key they do not agree.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        if not a and not b:
            return ({},)
        parts = {key: agree(a[key], b[key]) for key in a if key in b}
        if not parts or None in parts.values():
            return None
        return ({key: part[0] for key, part in parts.items() if part is not None},)
    if isinstance(a, list) and isinstance(b, list):
        items = [agree(x, y) for x, y in zip(a, b, strict=False)]
        if len(a) != len(b) or None in items:
            return None
        return ([item[0] for item in items if item is not None],)
    if (
        isinstance(a, bool)
        or isinstance(b, bool)
        or not isinstance(a, int | float)
        or not isinstance(b, int | float)
    ):
        return (a,) if type(a) is type(b) and a == b else None
    return (a,) if math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) else None
