"""Arguments of growing size, chosen to be hard, and how time follows size. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from alita_tui.events import Json, ToolDraft, Value
from alita_tui.toolsmith.checks.inputs import constants, inputs
from alita_tui.toolsmith.checks.probes import Fit, kind_of
from alita_tui.toolsmith.checks.schema_values import fixed_form

SIZES = (24, 96, 384, 1536, 6144)
"""Lengths in characters."""
COUNTS = (6, 24, 96, 300, 1200, 2400, 4800)
"""Numbers of words, lines, items and keys: a truncation between two of them shows as equal results."""
LINKS = (16, 36, 49, 64, 81, 100, 400, 1600, 4900)
"""Sizes of networks, where one more link per node can multiply the number of paths."""
_SIZES = {"links": LINKS, "characters": SIZES, "characters or items": SIZES}
MOST = 30
"""Maximum number of ladders of one draft."""
_END = "!\n!"
"""An ending that no regular expression for words, numbers or lines matches."""
_RUN = re.compile(r"[A-Za-z]+|\d+|\s+|(.)\1*", re.DOTALL)
_TAIL = re.compile(r"\d+$")
_LARGEST = 200_000
"""Maximum characters of one call's arguments."""

Grow = Callable[[int], Json]


class Ladder(Value, frozen=True):
    """The same arguments at growing sizes."""

    parameter: str
    unit: str
    """`characters` or `items`."""
    shown: str
    """What grows, in short."""
    sizes: tuple[int, ...]
    calls: tuple[dict[str, Json], ...]


def ladders(
    draft: ToolDraft, tests: Sequence[dict[str, Json]] = (), sizes: Sequence[int] = ()
) -> list[Ladder]:
    """Return at most MOST ladders worth measuring, taking turns over the parameters; `tests` are known arguments.

    Without `sizes` each ladder uses those of its unit.
    """
    bases = inputs(draft, tests, 12)
    if not bases:
        return []
    fit = Fit(draft.input_schema)
    properties: dict[str, Any] = draft.input_schema["properties"]
    words, _ = constants(draft.code, draft.language)
    ways = {
        name: list(_ways(schema, [arguments[name] for arguments in bases if name in arguments], words))
        for name, schema in properties.items()
    }
    built: list[Ladder] = []
    every = {name: growths[0] for name, growths in ways.items() if growths}
    if len(every) > 1:
        built += _ladder("all", "characters or items", "everything at once", sizes, max(bases, key=len),
                         {name: grow for name, (_, _, grow) in every.items()}, fit)  # fmt: skip
    for turn in range(max(map(len, ways.values()), default=0)):
        for name, growths in ways.items():
            if turn < len(growths):
                label, unit, grow = growths[turn]
                base = next((arguments for arguments in bases if name in arguments), bases[0])
                built += _ladder(name, unit, label, sizes, base, {name: grow}, fit)
    return built[:MOST]


def finer(
    ladder: Ladder, draft: ToolDraft, tests: Sequence[dict[str, Json]], low: int, high: int
) -> Ladder | None:
    """Return the same ladder in twelfths between two sizes; None if it cannot be built again."""
    steps = sorted({low + (high - low) * part // 12 for part in range(13)})
    key = (ladder.parameter, ladder.shown)
    return next((rung for rung in ladders(draft, tests, steps) if (rung.parameter, rung.shown) == key), None)


def power(small: tuple[int, float], large: tuple[int, float]) -> float:
    """Return the exponent of growth between two measurements, each a size and a time."""
    (n, before), (m, after) = small, large
    return math.log(max(after, 1e-9) / max(before, 1e-9)) / math.log(m / n) if m > n > 0 else 0.0


def _ladder(
    name: str,
    unit: str,
    label: str,
    sizes: Sequence[int],
    base: dict[str, Json],
    grows: dict[str, Grow],
    fit: Fit,
) -> list[Ladder]:
    calls: list[dict[str, Json]] = []
    sizes = sizes or _SIZES.get(unit, COUNTS)
    for size in sizes:
        arguments = {**base, **{name: grow(size) for name, grow in grows.items()}}
        if len(msgspec.json.encode(arguments)) > _LARGEST:
            break
        calls.append(arguments)
    while calls and not fit(calls[-1]):  # arguments that fit when large also fit when small
        calls.pop()
    if calls and not fit(calls[0]):
        return []
    if len(calls) < 2:
        return []
    return [
        Ladder(parameter=name, unit=unit, shown=label, sizes=tuple(sizes[: len(calls)]), calls=tuple(calls))
    ]


def _ways(schema: Json, values: Sequence[Json], words: Sequence[str]) -> Iterator[tuple[str, str, Grow]]:
    """Yield the ways in which a parameter can grow: what grows, the unit, and a function from size to value."""
    kind = kind_of(schema)
    if kind == "string" and not fixed_form(schema):
        texts = [value for value in values if isinstance(value, str)]
        yield from _texts(texts, words)
    elif kind == "array":
        items = [value for value in values if isinstance(value, list) and value]
        yield from ((label, "items", grow) for label, grow in _lists(items, schema))
    elif (
        kind == "object" and isinstance(schema, dict) and not {"properties", "patternProperties"} & {*schema}
    ):
        yield from _networks(schema, [value for value in values if isinstance(value, dict) and value])
        members = [x for value in values if isinstance(value, dict) for x in value.values()]
        if members:
            yield "different keys", "keys", lambda n: {f"k{i}": members[i % len(members)] for i in range(n)}


def _networks(schema: Json, values: Sequence[dict[str, Json]]) -> Iterator[tuple[str, str, Grow]]:
    """Yield networks in which each key links to others, up to all of them. Names from a test come first."""
    if not values:
        return
    inner = next((value for mapping in values for value in mapping.values() if value), None)
    first_names = [*values[0], *(inner if isinstance(inner, dict | list) else ())]
    start = list(dict.fromkeys(name for name in first_names if isinstance(name, str)))

    def names(size: int) -> list[str]:
        side = max(2, math.isqrt(size))
        return [*start, *(f"k{i}" for i in range(side))][:side]

    if isinstance(inner, dict) and all(type(weight) in (int, float) for weight in inner.values()):
        yield "each to all", "links", lambda n: {a: dict.fromkeys(names(n), 1) for a in names(n)}
    elif isinstance(inner, list) and all(isinstance(name, str) for name in inner):
        yield "each to all", "links", lambda n: {a: list(names(n)) for a in names(n)}
        yield (
            "each to all after it",
            "links",
            lambda n: {a: names(n)[i + 1 :] for i, a in enumerate(names(n))},
        )


def _texts(texts: Sequence[str], words: Sequence[str]) -> Iterator[tuple[str, str, Grow]]:
    samples = [phrase for phrase in dict.fromkeys(texts) if phrase][:3]
    if samples:
        yield "a test's text, repeated", "characters", _repeated(samples[0])
    yield "different words", "words", lambda n: " ".join(f"w{i}" for i in range(n))
    yield "equal words", "words", lambda n: " ".join(["word"] * n)
    yield "different lines", "lines", lambda n: "\n".join(f"w{i} x" for i in range(n))
    if lines := next((phrase.split("\n") for phrase in samples if phrase.count("\n") > 1), None):
        yield "a test's lines, made different", "lines", _lines(lines)
    labels: set[str] = set()
    for text in samples:  # each part of a text that the tests use, repeated
        for part in list(_RUN.finditer(text))[:8]:
            sign, before, after = part[0][0], text[: part.start()], text[part.end() :]
            label = f"{before[-12:]}{sign * 3}…"
            if label not in labels:
                labels.add(label)
                yield f"“{label}”", "characters", _repeated(sign, before, _END)
                yield f"“{label}” and on", "characters", _repeated(sign, before, after)
    all_words = "".join(words)
    signs = dict.fromkeys(
        [*"a0 ", *(mark for mark in all_words if not mark.isalnum() and mark.isprintable())]
    )
    for sign in [*list(signs)[:10], "a ", "a,", "0.", "ab"]:
        yield f"“{sign * 3}…”", "characters", _repeated(sign, end=_END)


def _lines(lines: Sequence[str]) -> Grow:
    """Return a function that repeats the lines after the first one with other numbers and words."""
    first, following = lines[0], [line for line in lines[1:] if line.strip()] or list(lines)
    return lambda n: "\n".join(
        [first, *(f"{_TAIL.sub('', following[i % len(following)])}{i}" for i in range(n - 1))]
    )


def _repeated(sign: str, before: str = "", end: str = "") -> Grow:
    return lambda n: before + (sign * (n // len(sign) + 1))[:n] + end


def _lists(values: Sequence[list[Json]], schema: Json) -> Iterator[tuple[str, Grow]]:
    items = schema.get("items", {}) if isinstance(schema, dict) else {}
    first = max(values, key=len) if values else []
    kind = kind_of(items)
    if kind in ("integer", "number"):
        low = items.get("minimum", 0)
        start = low if isinstance(low, int) else 0
        yield "different numbers", lambda n: [start + i * 7 % n for i in range(n)]
        yield "equal numbers", lambda n: [start + 1] * n
        yield "falling numbers", lambda n: [start + n - i for i in range(n)]
    if kind == "string" and not fixed_form(items):
        yield "different texts", lambda n: [f"w{i}" for i in range(n)]
        yield "equal texts", lambda n: ["w"] * n
    if first:
        yield "a test's items, repeated", lambda n: (first * (n // len(first) + 1))[:n]
    if first and isinstance(first[0], dict | list):
        yield (
            "a test's items, made different",
            lambda n: [_varied(first[i % len(first)], i) for i in range(n)],
        )
    if kind == "array":
        rows = [row for row in first if isinstance(row, list) and row]
        for label, _, grow in list(_ways(items, rows, ()))[:2]:
            yield f"a square of {label}", _square(grow)


def _square(grow: Grow) -> Grow:
    def square(size: int) -> Json:
        side = max(1, math.isqrt(size))
        return [grow(side) for _ in range(side)]

    return square


def _varied(item: Json, number: int) -> Json:
    """Return the item with other texts and numbers, far from those of its neighbours."""
    match item:
        case dict():
            return {key: _varied(value, number) for key, value in item.items()}
        case list():
            return [_varied(value, number) for value in item]
        case str():
            return f"{item}{number}"
        case bool() | None:
            return item
        case _:
            return item + 1000 * number
