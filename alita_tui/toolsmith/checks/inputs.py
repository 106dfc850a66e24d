"""Many arguments that fit a draft's schema: from its tests, its constants and the schema. Pure and repeatable.

hypothesis-jsonschema would use the schema alone; its last release does not run with today's Hypothesis, it executes a
schema's regular expressions, and it knows neither tests nor constants, where rare faults are found.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

from alita_tui.events import Json, ToolDraft
from alita_tui.runtimes.file_parameters import local_files
from alita_tui.runtimes.languages import runtime_of
from alita_tui.toolsmith.checks.probes import Fit, calls_in
from alita_tui.toolsmith.checks.schema_values import Maker

MOST = 640
_RANDOM = 80
_EDGES = 120
_KNOWN = 160
"""Inputs that contain a constant of the code."""
_MUTATED = 160
_LONGEST_CONSTANT = 60
_LARGEST = 10**9
_DATES = 72
"""Variants with other dates."""
_SEED = 10
_DAY = re.compile(r"\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)")
_HOUR = re.compile(r"T(?:[01]\d|2[0-3]):")


def inputs(
    draft: ToolDraft, tests: Iterable[dict[str, Json]] = (), most: int = MOST
) -> list[dict[str, Json]]:
    """Return different arguments that fit the input schema, at most `most`.

    `tests`, the arguments that the draft's tests are known to use, come first, then those that the tests write out.
    """
    fit = Fit(draft.input_schema)
    tests = [arguments for arguments in (*tests, *calls_in(draft)) if fit(arguments)]
    words, numbers = constants(draft.code, draft.language)
    maker = Maker(random.Random(_SEED), scale(tests), tests, tuple(local_files(draft)))  # noqa: S311  # repeatable, nothing secret
    chosen: dict[str, dict[str, Json]] = {}

    def keep(candidates: Iterable[dict[str, Json]], room: int) -> None:
        end = min(most, len(chosen) + room)
        for tried, arguments in enumerate(candidates):
            if len(chosen) >= end or tried > 4 * room:
                return
            with suppress(TypeError, ValueError):  # not representable in JSON
                if fit(arguments):
                    chosen.setdefault(json.dumps(arguments, allow_nan=False), arguments)

    parameters = _properties(draft.input_schema)
    samples = [tests[n % len(tests)] if tests else maker.value(draft.input_schema) for n in range(8)]
    bases = [arguments for arguments in samples if isinstance(arguments, dict)] or [{}]
    keep(tests, 40)
    keep((maker.whole_arguments(draft.input_schema) for _ in range(4 * _RANDOM)), _RANDOM)
    keep(_varied(bases, parameters, lambda schema, _: maker.edges(schema)), _EDGES)
    keep(_varied(bases, parameters, lambda schema, old: maker.known(schema, old, words, numbers)), _KNOWN)
    keep(_mutated(maker, bases, parameters), _MUTATED)
    keep(_varied(bases[:1], parameters, lambda schema, _: maker.counted(schema, most)), most)
    return list(chosen.values())


def dated(tests: Iterable[dict[str, Json]], fit: Fit) -> list[dict[str, Json]]:
    """Return arguments of tests with other dates and hours over two years, if they contain ISO dates."""
    bases = [arguments for arguments in tests if _DAY.search(json.dumps(arguments))][:3]
    variants: list[dict[str, Json]] = []
    # Irregular steps, because regular ones could hit a weekly or monthly dependency always at the same phase.
    spread = random.Random(_SEED).sample(range(730), _DATES)  # noqa: S311  # repeatable, nothing secret
    for n in range(_DATES if bases else 0):
        day = date(2025, 1, 3) + timedelta(days=spread[n])
        hour = f"T{n * 5 % 24:02}:"
        text = _DAY.sub(day.isoformat(), json.dumps(bases[n % len(bases)]))
        variant = json.loads(_HOUR.sub(hour, text))
        if fit(variant):
            variants.append(variant)
    return variants


def scale(tests: Iterable[Json]) -> int:
    """Return the size up to which numbers are tried if the schema sets no bound: ten times what the tests use."""
    largest = max((abs(number) for test in tests for number in _numbers(test)), default=10)
    return int(min(max(100, 10 * largest), _LARGEST))


def constants(code: str, language: str = "python") -> tuple[list[str], list[float]]:
    """Return texts and numbers of the code without docstrings, with sums and differences of its numbers."""
    values = [constant.value for constant in runtime_of(language).constants(code)]
    words = [value for value in values if isinstance(value, str) and 0 < len(value) <= _LONGEST_CONSTANT]
    plain = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    near = [number for number in plain if abs(number) <= _LARGEST]
    numbers = [*near, *(number + step for number in near for step in (1, -1))]
    few = list(dict.fromkeys(near))[:10]
    numbers += [a + b for a in few for b in few] + [a - b for a in few for b in few if a > b]
    return list(dict.fromkeys(words)), list(dict.fromkeys(numbers))


def _properties(schema: Json) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _varied(
    bases: list[dict[str, Json]], parameters: dict[str, Any], values: Any
) -> Iterator[dict[str, Json]]:
    """Yield each base with one parameter at a time replaced, taking turns over the parameters."""
    turns = [
        (base, name, iter(values(parameters[name], base.get(name)))) for base in bases for name in parameters
    ]
    while turns:
        remaining = []
        for base, name, iterator in turns:
            for value in iterator:
                yield {**base, name: value}
                remaining.append((base, name, iterator))
                break
        turns = remaining


def _mutated(
    maker: Maker, bases: list[dict[str, Json]], parameters: dict[str, Any]
) -> Iterator[dict[str, Json]]:
    names = [name for name in parameters if any(name in base for base in bases)]
    for turn in range(4 * _MUTATED if names else 0):
        base = bases[turn % len(bases)]
        arguments = dict(base)
        for name in maker.some(names):
            if name in base:
                arguments[name] = maker.mutated(parameters[name], base[name])
        yield arguments


def _numbers(value: Json) -> Iterator[float]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value
