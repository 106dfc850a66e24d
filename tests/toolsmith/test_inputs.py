"""Arguments made for a draft: they fit its schema by another judge, are many, and no pattern is ever run."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from alita_tui.events import ToolDraft, ToolName
from alita_tui.toolsmith.checks.fuzz import smaller
from alita_tui.toolsmith.checks.growth_inputs import ladders, power
from alita_tui.toolsmith.checks.inputs import constants, dated, inputs, scale
from alita_tui.toolsmith.checks.judge_report import refused
from alita_tui.toolsmith.checks.probes import Fit, calls_in
from alita_tui.toolsmith.checks.schema_gaps import holes
from alita_tui.toolsmith.checks.schema_values import Maker, matching
from tests.toolsmith.behaving import honest, odd
from tests.toolsmith.corpus import corpus

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def draft(
    schema: dict[str, Any],
    code: str = "def run(x: int) -> int:\n    return x\n",
    tests: str = "",
    **more: Any,
) -> ToolDraft:
    return ToolDraft(
        name=ToolName("t"),
        description="d",
        code=code,
        tests=tests,
        input_schema=schema,
        **{"output_schema": {}, **more},
    )


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


SCHEMAS = (
    of(x=WHOLE),
    of(x={"type": "integer", "minimum": 5, "maximum": 9_000}, y=TEXT),
    of(x={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100}),
    of(x={"type": "integer", "multipleOf": 7, "minimum": -50}),
    of(x={"type": "string", "minLength": 3, "maxLength": 40}),
    of(x={"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 40}),
    of(x={"type": "array", "items": {"type": "array", "items": TEXT}}),
    of(x={"type": ["string", "null"]}, y={"type": "array", "items": {"enum": ["a", "b", 3]}}),
    of(x={"anyOf": [TEXT, WHOLE, {"type": "array", "items": TEXT}]}),
    of(x={"$ref": "#/$defs/row"}) | {"$defs": {"row": of(name=TEXT, size={"type": "number", "minimum": 0})}},
    of(x={"allOf": [{"type": "object"}, of(a=TEXT), {"properties": {"b": WHOLE}}]}),
    of(x={"type": "object", "additionalProperties": {"type": "number"}}),
    of(x={"type": "string", "format": "date"}, y={"type": "array", "items": {"type": "string", "format": "email"}}),
    of(x={"type": "array", "prefixItems": [TEXT, WHOLE], "items": False, "minItems": 2}, y=TEXT),
    {"type": "object", "properties": {"a": TEXT, "b": WHOLE}, "required": ["a"], "additionalProperties": False},
)  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_generated_inputs_fit_the_schema_and_are_many(schema: dict[str, Any]) -> None:
    made = inputs(draft(schema))
    held = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert [one for one in made if not held.is_valid(one)] == []
    assert len(made) >= 50 and len({repr(one) for one in made}) == len(made)
    assert made == inputs(draft(schema))


@pytest.mark.parametrize(
    ("schema", "count"), [(of(), 1), (of(x={"type": "boolean"}), 2), (of(x={"enum": ["a", "b", "c"]}), 3)]
)
def test_small_input_spaces_are_generated_completely(schema: dict[str, Any], count: int) -> None:
    assert len(inputs(draft(schema))) == count


def test_inputs_for_every_draft_of_the_corpora_are_generated_quickly() -> None:
    for one in [
        *(sample.draft for sample in list(corpus())[::23]),
        *(one.draft for one in (*odd(), *honest())),
    ]:
        began = time.process_time()
        made = inputs(one)
        assert made and time.process_time() - began < 20  # without its limits it would be minutes
        held = Draft202012Validator(one.input_schema)
        assert all(map(held.is_valid, made))


def test_constants_of_the_code_are_tried_as_inputs() -> None:
    code = 'def run(n: int, who: str) -> int:\n    """Not 4321."""\n    return 1 if n % 500 == 137 or who == "ACME Ltd" else n\n'
    made = inputs(draft(of(n=WHOLE, who=TEXT), code))
    assert {"ACME Ltd"} <= {one["who"] for one in made}
    assert {137, 136, 500, 637} <= {one["n"] for one in made}
    assert any(one["n"] % 500 == 137 for one in made)
    words, numbers = constants(code)
    assert words == ["ACME Ltd"] and 4321 not in numbers


def test_inputs_of_the_tests_come_first_and_set_the_scale() -> None:
    code = "def run(n: int, s: str = '', rows: list[int] = []) -> int:\n    return n\n"
    schema = {"type": "object", "properties": {"n": WHOLE, "s": TEXT, "rows": {"type": "array", "items": WHOLE}}, "required": ["n"]}  # fmt: skip
    one = draft(schema, code, "def test_a():\n    run(40, 'x')\n    run(n=5, rows=[1, 2])\n")
    seen: list[dict[str, Any]] = [{"n": 2, "s": "ababab"}, {"n": "not in the schema"}]
    written = list(calls_in(one))
    assert written == [{"n": 40, "s": "x"}, {"n": 5, "rows": [1, 2]}]
    assert inputs(one, seen)[:3] == [seen[0], *written]
    assert scale(written) == 400 and all(abs(one["n"]) <= 4000 for one in inputs(one))


EVIL = "(a+)+$|^(x|x)*y"


@pytest.mark.parametrize(
    "pattern", [r"\d{4}-\d{2}", "[a-f0-9]{8}", "(alpha|beta)+", r"[^,;]+,\w*", "x?y{2,3}z", "a{2000}"]
)
def test_a_text_for_a_pattern_matches_it(pattern: str) -> None:
    for seed in range(20):
        assert re.search(pattern, matching(pattern, random.Random(seed))) or "2000" in pattern


def test_no_pattern_of_a_draft_is_ever_run(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def noted(plain: Callable[..., Any], pattern: Any, *rest: Any, **more: Any) -> Any:
        compiled.append(str(pattern))
        return plain(pattern, *rest, **more)

    for name in ("compile", "search", "match", "fullmatch", "findall", "sub"):
        monkeypatch.setattr(re, name, partial(noted, getattr(re, name)))
    schema = of(
        x={"type": "string", "pattern": EVIL}, y={"type": "object", "patternProperties": {EVIL: TEXT}}
    )
    assert inputs(draft(schema)) and ladders(draft(schema)) == []
    assert EVIL not in compiled
    assert matching("(unclosed", random.Random(1)) == ""


@pytest.mark.parametrize("schema", [
    of(x={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"$ref": "#/$defs/a"}}},
    of(x={"$ref": "#/nowhere"}), of(x={"type": "integer", "minimum": 5, "maximum": 1}), of(x=False), of(x={"enum": []}),
    of(x={"type": "array", "minItems": 10**9}), of(x={"type": "string", "minLength": 10**9}),
    of(x={"type": "integer", "multipleOf": 1e-300}), of(x={"type": "number", "minimum": 1e308}), of(x={"type": "what"}),
    of(x={"allOf": [{"anyOf": [{"allOf": [{"$ref": "#"}]}]}] * 50}), of(x={"type": []}), of(x={"not": {}}),
])  # fmt: skip
def test_a_hostile_schema_costs_little_time(schema: dict[str, Any]) -> None:
    began = time.process_time()
    inputs(draft(schema))
    ladders(draft(schema))
    assert time.process_time() - began < 100  # it would be for ever


def test_shrunk_inputs_fit_the_schema_and_are_smaller() -> None:
    schema = of(x={"type": "string", "minLength": 2}, y={"type": "array", "items": WHOLE})
    made = smaller({"x": "abcdef", "y": [5, 6, 7]}, draft(schema))
    assert {"x": "ab", "y": [5, 6, 7]} not in made and {"x": "abc", "y": [5, 6, 7]} in made
    assert {"x": "abcdef", "y": []} in made and all(len(one["x"]) >= 2 for one in made)


@pytest.mark.parametrize(
    ("answer", "is_one"),
    [({"error": "ValueError", "text": "from 1 to 9"}, True), ({"error": "KeyError", "text": "'x'"}, True),
     ({"error": "TypeError", "text": "a list, please"}, True), ({"error": "JSONDecodeError", "text": "?"}, True),
     ({"error": "BadInput", "text": "no"}, True), ({"error": "ParseError", "text": "no element found"}, True),
     ({"error": "IndexError", "text": "string index out of range"}, False),
     ({"error": "TypeError", "text": "'NoneType' object is not subscriptable"}, False),
     ({"error": "TypeError", "text": "unsupported operand type(s) for +: 'int' and 'str'"}, False),
     ({"error": "AttributeError", "text": "x"}, False), ({"error": "ZeroDivisionError", "text": "x"}, False),
     ({"error": "RecursionError", "text": "x"}, False), ({"error": "SystemExit", "text": "3"}, False),
     ({"error": "timeout"}, False), ({"error": "ended"}, False), ({"result": None}, False),
     ({"error": "TypeError", "text": "a list, please", "unfit": "it is no JSON value"}, False)],
)  # fmt: skip
def test_refusals_are_recognised(answer: dict[str, Any], is_one: bool) -> None:
    assert refused(answer, draft(of(x=WHOLE))) is is_one
    told = ToolDraft(
        name=ToolName("t"),
        description="Raises AttributeError for no x, IndexError for none.",
        code="",
        tests="",
    )
    assert refused(answer, told) is (is_one or answer.get("error") in ("AttributeError", "IndexError"))


USED: list[dict[str, Any]] = [{"x": 1}, {"x": 2}, {"x": -5}]


def test_schemas_that_leave_types_open_are_reported() -> None:
    said = [{"result": {"a": n, "b": [n]}} for n in range(5)]
    found = holes(draft(of(x={})), USED, said)
    assert [one.text for one in found] == [
        "input_schema says nothing of $.x, which is always a number",
        "output_schema says nothing of $, which is always an object",
    ]
    assert all(one.serious for one in found)
    (inside,) = holes(draft(of(x=WHOLE), output_schema={"type": "object"}), USED, said)
    assert inside.text == "output_schema names no part of $, which always has a, b" and not inside.serious
    mixed = [{"result": one} for one in (1, "a", None, [2])]
    assert holes(draft(of(x=WHOLE)), USED, mixed) == []
    (part,) = holes(draft(of(x=WHOLE), output_schema=of(a=WHOLE, b={})), USED, said)
    assert part.text == "output_schema says nothing of $.b, which is always a list"


def test_ladders_grow_parameters_that_can_grow() -> None:
    made = ladders(draft(of(x=TEXT, y={"type": "array", "items": WHOLE}, z=WHOLE), tests="def test_a():\n    run('a1@b', [3, 4], 5)\n", code="def run(x: str, y: list[int], z: int) -> int:\n    return z\n"))  # fmt: skip
    assert {one.parameter for one in made} == {"all", "x", "y"}
    for one in made:
        assert len(one.sizes) == len(one.calls) >= 2
        for size, call in zip(one.sizes, one.calls, strict=True):
            grown = call["y"] if one.parameter == "y" else call["x"]
            units: dict[str, Callable[[Any], list[Any]]] = {"words": str.split, "lines": str.splitlines}
            counted = units.get(one.unit, list)(grown)
            assert size <= len(counted) <= size + 10
    assert any(call["x"].startswith("a1@bbb") for one in made for call in one.calls)
    assert ladders(draft(of(z=WHOLE))) == []
    short = ladders(draft(of(x={"type": "string", "maxLength": 100})))
    assert short and all(len(call["x"]) <= 100 for one in short for call in one.calls)


def test_words_lines_keys_rows_and_networks_grow() -> None:
    rows = {"type": "array", "items": {"type": "array", "items": WHOLE}}
    links = {"type": "object", "additionalProperties": {"type": "array", "items": TEXT}}
    used = [{"x": "name\nann 1\nbob 2", "y": [[1, 2], [5, 9]], "z": {"a": ["b"], "b": []}}]
    made = ladders(draft(of(x=TEXT, y=rows, z=links)), used)
    at = {(one.parameter, one.shown): one.calls[2] for one in made}
    assert at["x", "different words"]["x"].split()[-1] == "w95"
    lines = at["x", "a test's lines, made different"]["x"].split("\n")
    assert lines[:3] == ["name", "ann 0", "bob 1"] and len(set(lines)) == 96
    assert len({tuple(one) for one in at["y", "a test's items, made different"]["y"]}) == 96
    assert set(at["z", "each to all"]["z"]) == {"a", "b", *(f"k{n}" for n in range(5))}
    assert len(at["z", "different keys"]["z"]) == 96


def test_dates_of_tests_are_tried_at_many_days_and_hours() -> None:
    schema = of(x={"type": "string", "pattern": "^[0-9-]+T[0-9:]+$"})
    made = dated([{"x": "2026-01-05T10:30"}, {"x": "soon"}], Fit(schema))
    assert len({one["x"][:10] for one in made}) == 72 and len({one["x"][10:13] for one in made}) == 24
    assert dated([{"x": "soon"}], Fit(schema)) == []


def test_the_exponent_of_growth_is_estimated() -> None:
    assert power((100, 1.0), (400, 16.0)) == pytest.approx(2.0)
    assert power((100, 1.0), (200, 8.0)) == pytest.approx(3.0)
    assert power((100, 1.0), (100, 8.0)) == 0.0


def test_numbers_keep_to_their_bounds() -> None:
    maker = Maker(random.Random(3), 100)
    schema = {"type": "number", "minimum": -2, "maximum": 7}
    assert all(-2 <= maker.value(schema) <= 7 for _ in range(500))
