"""Generates values from a JSON schema and mutates them within it. No regular expression of a schema is executed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from importlib import import_module
from typing import Any

from alita_tui.events import Json
from alita_tui.toolsmith.checks.probes import kind_of

_DEEPEST = 5
_LONGEST = 24
"""Maximum characters of a text unless the schema asks for more."""
_ITEMS = 6
_TEXTS = ("", " ", "x", "alpha beta", "Straße 12", "a,b;c\n1,2;3", "0", "-1.5", "2024-02-29", "ada@example.org",
          "日本語", "\u202e", "x" * 60, "A\tB\r\n", "'\"<&>%{}\\", "😀")  # fmt: skip
_SIGNS = "abcxyzABZ0123459 .,;:-_/+*()[]{}\"'\n\téßñ日😀"
_ODD_SCHEMAS = ("pattern", "format", "contentEncoding", "contentMediaType")


class Maker:
    """Generates values; the same ones for the same seed."""

    def __init__(
        self,
        chance: random.Random,
        scale: int,
        tests: Sequence[dict[str, Json]] = (),
        files: Sequence[str] = (),
    ) -> None:
        """`scale` bounds numbers that the schema leaves open; `tests` are arguments known to be valid.

        `files` are the names of files that a call finds.
        """
        self._files = files
        self._chance = chance
        self._scale = scale
        self._tests = tests
        self._root: Json = {}

    def whole_arguments(self, schema: Json) -> dict[str, Json]:
        """Return arguments for a whole schema; some parameters as in a test, some optional ones left out."""
        generated = self.value(schema)
        arguments = generated if isinstance(generated, dict) else {}
        for name in arguments:
            in_tests = [candidate[name] for candidate in self._tests if name in candidate]
            if in_tests and self._chance.random() < 0.4:
                arguments[name] = self._chance.choice(in_tests)
        return arguments

    def value(self, schema: Json, depth: int = 0) -> Json:
        """Return one value; None if the schema is too vague or too complex."""
        if depth == 0:
            self._root = schema
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return self._chance.choice((None, 1, "x", [])) if schema is True or schema == {} else None
        if "const" in schema:
            return schema["const"]
        for keyword in ("enum", "examples"):
            choices = schema.get(keyword)
            if isinstance(choices, list) and choices and (keyword == "enum" or self._chance.random() < 0.3):
                return self._chance.choice(choices)
        composed = self._composed(schema, depth)
        return composed[0] if composed else self._of_kind(self._kind(schema), schema, depth)

    def _composed(self, schema: dict[str, Any], depth: int) -> tuple[Json] | None:
        """Return a value for a reference or for one of several schemas; None if there is neither."""
        if isinstance(schema.get("$ref"), str):
            return (self.value(self._referred(schema["$ref"]), depth + 1),)
        for several in ("anyOf", "oneOf"):
            choices = schema.get(several)
            if isinstance(choices, list) and choices:
                remaining = {key: value for key, value in schema.items() if key != several}
                chosen = self._chance.choice(choices)
                return (
                    self.value({**remaining, **chosen} if isinstance(chosen, dict) else chosen, depth + 1),
                )
        parts = schema.get("allOf")
        if isinstance(parts, list) and parts:
            merged: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
            for part in (piece for piece in parts if isinstance(piece, dict)):
                combined = {
                    "properties": {**_dict(merged, "properties"), **_dict(part, "properties")},
                    "required": [*_list(merged, "required"), *_list(part, "required")],
                }
                merged |= part | {key: item for key, item in combined.items() if item}
            return (self.value(merged, depth + 1),)
        return None

    def _referred(self, where: str) -> Json:
        target = self._root
        for step in where.removeprefix("#").split("/")[1:]:
            target = target.get(step) if isinstance(target, dict) else None
        return target

    def _kind(self, schema: dict[str, Any]) -> str:
        kinds = schema.get("type")
        if isinstance(kinds, list) and kinds:
            return str(self._chance.choice(kinds))
        return kind_of(schema) or ("object" if "properties" in schema else "")

    def _of_kind(self, kind: str, schema: dict[str, Any], depth: int) -> Json:
        match kind:
            case "string":
                return self._text(schema)
            case "integer" | "number":
                return self._number(schema, kind)
            case "boolean":
                return self._chance.random() < 0.5
            case "array":
                least, most = _bounds(schema, "Items", _ITEMS)
                front = schema.get("prefixItems")
                first = [self.value(item, depth + 1) for item in front] if isinstance(front, list) else []
                size = max(len(first), self._chance.randint(least, most))
                each = schema.get("items", True)
                more = 0 if each is False else size - len(first)
                return [*first, *(self.value(each, depth + 1) for _ in range(more))]
            case "object":
                return self._object(schema, depth)
            case "null":
                return None
            case _:
                return self._chance.choice((None, True, 1, -2.5, "x", [], {}))

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Json]:
        properties, required = _dict(schema, "properties"), _list(schema, "required")
        members = {
            name: self.value(subschema, depth + 1)
            for name, subschema in properties.items()
            if name in required or self._chance.random() < 0.6
        }
        least, most = _bounds(schema, "Properties", len(members) + 3)
        each = schema.get("additionalProperties", True)
        if depth and each is not False and (not properties or len(members) < least):
            for _ in range(self._chance.randint(max(0, least - len(members)), max(0, min(most, 4)))):
                members[self._text({})] = self.value(each if isinstance(each, dict) else {}, depth + 1)
        return members

    def _text(self, schema: dict[str, Any]) -> str:
        least, most = _bounds(schema, "Length", _LONGEST)
        if schema.get("format") == "file" and self._files:
            return self._chance.choice(self._files)
        if isinstance(schema.get("pattern"), str):
            return matching(schema["pattern"], self._chance)
        form = self._formatted(str(schema.get("format", "")))
        if form:
            return form
        fixed = [text for text in _TEXTS if least <= len(text) <= most]
        if fixed and self._chance.random() < 0.5:
            return self._chance.choice(fixed)
        size = self._chance.randint(least, most)
        return "".join(self._chance.choice(_SIGNS) for _ in range(size))

    def _formatted(self, form: str) -> str:
        day = date(2000, 1, 1) + timedelta(days=self._chance.randint(-9000, 18_000))
        clock = f"{self._chance.randint(0, 23):02}:{self._chance.randint(0, 59):02}:00"
        low = self._chance.randint(1, 254)
        examples = {
            "date": day.isoformat(), "time": f"{clock}Z", "date-time": f"{day.isoformat()}T{clock}Z",
            "email": f"user{low}@example.org", "uri": f"https://example.org/{low}?q=a#b",
            "hostname": f"h{low}.example.org", "ipv4": f"192.0.2.{low}", "ipv6": f"2001:db8::{low:x}",
            "uuid": f"{low:08x}-1111-4111-8111-111111111111",
        }  # fmt: skip
        return examples.get(form, "")

    def _number(self, schema: dict[str, Any], kind: str) -> float:
        low, high = self._range(schema)
        small = self._chance.random() < 0.6
        low, high = (max(low, -20), min(high, 60)) if small and low <= 60 and high >= -20 else (low, high)
        step = schema.get("multipleOf")
        if isinstance(step, int | float) and step > 0 and not isinstance(step, bool):
            number = self._chance.randint(
                math.ceil(low / step), max(math.ceil(low / step), int(high // step))
            )
            return number * step
        if kind == "integer":
            return self._chance.randint(math.ceil(low), max(math.ceil(low), math.floor(high)))
        return round(self._chance.uniform(low, high), self._chance.randint(0, 3))

    def _range(self, schema: dict[str, Any]) -> tuple[float, float]:
        """Return the bounds of a number; the scale of the tests if the schema sets none."""
        low = max((n for n in (_number(schema, "minimum"), _number(schema, "exclusiveMinimum")) if n is not None),
                  default=None)  # fmt: skip
        high = min((n for n in (_number(schema, "maximum"), _number(schema, "exclusiveMaximum")) if n is not None),
                   default=None)  # fmt: skip
        low = low if low is not None else min(-self._scale, high or 0)
        return low, max(low, high if high is not None else max(low + self._scale, self._scale))

    def edges(self, schema: Json) -> Iterator[Json]:
        """Yield values at the edges of a schema, the emptiest first."""
        if not isinstance(schema, dict):
            return
        listed = schema.get("enum")
        if isinstance(listed, list):
            yield from listed
            return
        match kind_of(schema):
            case "string":
                yield from () if fixed_form(schema) else _TEXTS
            case "integer" | "number" as kind:
                low, high = self._range(schema)
                yield from (0, 1, -1, math.ceil(low), math.floor(high), 2, 10, 99)
                yield from (0.5, -0.25, 1e-3) if kind == "number" else ()
            case "boolean":
                yield from (False, True)
            case "array":
                items = schema.get("items", {})
                item = self.value(items, 1)
                yield from ([], [item], [item, item], [self.value(items, 1) for _ in range(12)])
                yield from ([edge] for edge in self.edges(items))
            case "object":
                yield {}
            case _:
                yield from (None, "", 0)
        if isinstance(schema.get("type"), list) and "null" in schema["type"]:
            yield None

    def known(
        self, schema: Json, old: Json, words: Sequence[str], numbers: Sequence[float]
    ) -> Iterator[Json]:
        """Yield values that contain a constant of the code."""
        match kind_of(schema):
            case "string" if not fixed_form(schema):
                for constant in words:
                    yield from (
                        constant,
                        f"{old} {constant}" if isinstance(old, str) else f"x {constant}",
                        constant.upper(),
                    )
                yield from (str(int(number)) for number in numbers[:20])
                yield from ("x" * int(number) for number in numbers if 0 < number <= 300)
            case "integer":
                yield from (int(number) for number in numbers if number == int(number))
            case "number":
                yield from numbers
            case "array" if isinstance(schema, dict):
                for item in self.known(schema.get("items", {}), None, words, numbers):
                    yield from ([item], [*old, item] if isinstance(old, list) else [item, item])

    def counted(self, schema: Json, most: int) -> Iterator[Json]:
        """Yield values counted through one by one."""
        match kind_of(schema):
            case "integer" | "number" if isinstance(schema, dict):
                low, high = self._range(schema)
                bounded = "minimum" in schema or "exclusiveMinimum" in schema
                step = schema.get("multipleOf", 1)
                step = step if type(step) is int and step > 1 else 1
                start = math.ceil(low / step) * step if bounded else 0
                last = start + most * step
                ends = "maximum" in schema or "exclusiveMaximum" in schema
                yield from range(start, min(math.floor(high) + 1, last) if ends else last, step)
            case "string" if not fixed_form(schema):
                yield from ("ab"[n % 2] + str(n) for n in range(most))
            case "array" if isinstance(schema, dict):
                yield from ([item] for item in self.counted(schema.get("items", {}), most))

    def some(self, names: Sequence[str]) -> list[str]:
        """Return one of the names, sometimes two."""
        return self._chance.sample(list(names), min(len(names), self._chance.choice((1, 1, 2))))

    def mutated(self, schema: Json, value: Json) -> Json:
        """Return a similar value of the same kind."""
        if fixed_form(schema):
            return value
        pick = self._chance
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return pick.choice(
                (value + 1, value - 1, -value, 2 * value, value // 2, value * 10, value + pick.randint(-9, 9))
            )
        if isinstance(value, float):
            return pick.choice((-value, value / 2, value + 0.1, float(int(value)), value * 10))
        if isinstance(value, str):
            return self._cut_and_glued(value)
        if isinstance(value, list):
            items = list(value)
            if items and pick.random() < 0.5:
                n = pick.randrange(len(items))
                items[n] = self.mutated(schema.get("items", {}) if isinstance(schema, dict) else {}, items[n])
                return items
            return pick.choice((items[1:], items + items[:1], items[::-1], items * 2, items[:1]))
        if isinstance(value, dict) and value:
            name = pick.choice(list(value))
            inner = schema.get("properties", {}).get(name, {}) if isinstance(schema, dict) else {}
            return {**value, name: self.mutated(inner, value[name])}
        return value

    def _cut_and_glued(self, text: str) -> str:
        pick = self._chance
        at, to = sorted((pick.randint(0, len(text)), pick.randint(0, len(text))))
        return pick.choice((
            text[:at] + text[to:], text[:at] + pick.choice(_SIGNS) + text[at:], text[:to] + text[at:],
            text.swapcase(), text[:at] + pick.choice(_SIGNS) + text[at + 1 :], f" {text} ", text[::-1],
        ))  # fmt: skip


def fixed_form(schema: Json) -> bool:
    """Return True if a text has a form that changing it would break."""
    if isinstance(schema, list):
        return any(map(fixed_form, schema))
    return isinstance(schema, dict) and any(
        key in _ODD_SCHEMAS or fixed_form(item) for key, item in schema.items()
    )


def _dict(schema: dict[str, Any], key: str) -> dict[str, Any]:
    item = schema.get(key)
    return item if isinstance(item, dict) else {}


def _list(schema: dict[str, Any], key: str) -> list[Any]:
    item = schema.get(key)
    return item if isinstance(item, list) else []


def _number(schema: dict[str, Any], key: str) -> float | None:
    item = schema.get(key)
    if not isinstance(item, int | float) or isinstance(item, bool):
        return None
    return item + {"exclusiveMinimum": 1, "exclusiveMaximum": -1}.get(key, 0)


def _bounds(schema: dict[str, Any], suffix: str, usual: int) -> tuple[int, int]:
    """Return `minLength` and `maxLength` or the like, limited to what is quick to make."""
    least, most = schema.get(f"min{suffix}"), schema.get(f"max{suffix}")
    low = max(0, min(least, 2000)) if isinstance(least, int) else 0
    return low, max(low, min(most, usual) if isinstance(most, int) else max(usual, low))


_LONGEST_MATCH = 200
_DEEPEST_PATTERN = 30
_CLASSES = {"CATEGORY_DIGIT": "0123456789", "CATEGORY_WORD": "abcXYZ019_", "CATEGORY_SPACE": " \t"}
_ANY = "abz AZ09-"


def matching(pattern: str, chance: random.Random) -> str:
    """Return a text that most likely matches; lookarounds are ignored. Empty if the pattern cannot be parsed."""
    try:
        parts = import_module("re._parser").parse(pattern)
        return _sequence(parts, chance, 0)[:_LONGEST_MATCH]
    except (ValueError, OverflowError, RecursionError, MemoryError, import_module("re").error):
        return ""


def _sequence(parts: Any, chance: random.Random, depth: int) -> str:
    if depth > _DEEPEST_PATTERN:
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
            times = chance.randint(min(least, _LONGEST_MATCH), min(int(most), least + 4, _LONGEST_MATCH))
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
