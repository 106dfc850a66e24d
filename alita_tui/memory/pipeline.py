"""A recipe as a tool: the calls that its successes have in common, written down as code and tests.

Nothing of it is a model's: the steps come from the record, the schemas from the tools that it calls. What it may do is
calling just these tools, which its approval pins to their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from alita_tui.events import Capabilities, Json, RecipeStep, ToolDraft, ToolName
from alita_tui.memory.recipes import MADE, PARAMETER, REFERENCE, in_words, parameters, single
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.memory import OFFERED, Remembered
from alita_tui.spine.text import one_line

_FEWEST, _MOST = 2, 8
"""Minimum and maximum number of calls in a pipeline: a single call is a tool already."""
_HINTS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}

_HEAD = '''"""{doc}"""

import json
import os
import urllib.error
import urllib.request


def _answer(request):
    """Return what a tool gives."""
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise ValueError(error.read().decode()) from error
'''
_AT = '''
def _at(value, *keys):
    """Return a part of a result."""
    for key in keys:
        value = value[int(key) if isinstance(value, list) else key]
    return value
'''
"""Only for a recipe that takes a result apart: a line that never runs is a finding in the review."""


def offerable(recipe: Remembered) -> bool:
    """Return whether a recipe has worked often enough, in one shape, to be a tool of its own."""
    return (
        recipe.sort == "recipe"
        and recipe.shape_worked >= OFFERED
        and _FEWEST <= len(recipe.steps) <= _MOST
        and not any(
            reference.endswith(MADE) for step in recipe.steps for reference in _references(step.arguments)
        )
    )


def drafted(recipe: Remembered, name: str, schemas: Mapping[str, tuple[Json, Json]]) -> ToolDraft:
    """Return the tool that makes a recipe's calls; `schemas` are those of its tools, in and out.

    Raise UsageError for a recipe that is not offered as one.
    """
    if not offerable(recipe):
        raise UsageError(
            f"{recipe.item.item_id} is not offered as a tool.",
            hint=f"A recipe is, once the same {_FEWEST} to {_MOST} calls have worked {OFFERED} times, "
            "and no file goes between them.",
        )
    schemas_by_name = _parameters(recipe.steps, schemas)
    last_tool = str(recipe.steps[-1].tool)
    calls = in_words(recipe.steps)
    description = one_line(f"Calls {calls}. It answered: {recipe.item.text.partition(': ')[0]}", 400)
    return ToolDraft(
        name=ToolName(name),
        description=description,
        code=_code(recipe.steps, schemas_by_name, schemas[last_tool][1], description),
        tests=_tests(name, recipe.steps, schemas_by_name, schemas),
        input_schema={
            "type": "object",
            "properties": dict(schemas_by_name),
            "required": list(schemas_by_name),
            "additionalProperties": False,
        },
        output_schema=schemas[last_tool][1],
        capabilities=Capabilities(tools=tuple(sorted({str(step.tool) for step in recipe.steps}))),
    )


def _parameters(steps: Sequence[RecipeStep], schemas: Mapping[str, tuple[Json, Json]]) -> dict[str, Json]:
    """Return each parameter with the schema of its first place."""
    schemas_by_name: dict[str, Json] = {}
    for step in steps:
        properties = schemas[str(step.tool)][0].get("properties", {})
        for key, value in step.arguments.items():
            for name in parameters(value):
                direct = single(value, PARAMETER) == name
                schemas_by_name.setdefault(name, properties.get(key, {}) if direct else {})
    return schemas_by_name


def _hint(schema: Json) -> str:
    return _HINTS.get(str(schema.get("type")), "object") if isinstance(schema, dict) else "object"


def _code(
    steps: Sequence[RecipeStep], schemas_by_name: Mapping[str, Json], output: Json, description: str
) -> str:
    signature = ", ".join(f"{name}: {_hint(schema)}" for name, schema in schemas_by_name.items())
    doc = description.replace("\\", "/").replace('"', "'")
    parts = any("#" in reference for step in steps for reference in _references(step.arguments))
    lines = [
        _HEAD.format(doc=doc),
        *([_AT] if parts else []),
        "",
        f"def run({signature}) -> {_hint(output)}:",
    ]
    lines.append(f'    """{doc}"""')
    for number, step in enumerate(steps, 1):
        lines.append(f"    arguments = {_expression(step.arguments)}")
        address = f'os.environ["ALITA_BROKER"] + "/tools/{step.tool}"'
        lines.append(
            f"    s{number} = _answer(urllib.request.Request({address}, data=json.dumps(arguments).encode()))"
        )
    lines.append(f"    return s{len(steps)}")
    return "\n".join(lines) + "\n"


def _expression(value: Json) -> str:
    """Return a value of a recipe as a Python expression."""
    if (name := single(value, PARAMETER)) is not None:
        return name
    if (reference := single(value, REFERENCE)) is not None:
        step, keys = _parsed_reference(reference)
        return f"_at({', '.join((step, *map(repr, keys)))})" if keys else step
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_expression(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_expression, value))}]"
    return repr(value)


def _parsed_reference(reference: str) -> tuple[str, list[str]]:
    step, _, pointer = reference.partition("#")
    return step, [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]


# --- tests: each call gets the right arguments, and a failed call raises -----------------------------


def _tests(
    name: str,
    steps: Sequence[RecipeStep],
    schemas_by_name: Mapping[str, Json],
    schemas: Mapping[str, tuple[Json, Json]],
) -> str:
    arguments = {parameter: _sample(schema, parameter) for parameter, schema in schemas_by_name.items()}
    results = [_result(number, steps, schemas) for number in range(1, len(steps) + 1)]
    bodies = [_filled(step.arguments, arguments, results) for step in steps]
    canned = "\n".join(
        f"    hosts.tool({str(step.tool)!r}, {result!r}, arguments={body!r})"
        for step, result, body in zip(steps, results, bodies, strict=True)
    )
    # Two calls with the same arguments share one canned answer: the newest.
    return f"""import json

import hosts
from {name} import run

GIVEN = {arguments!r}


def answers():
{canned}


def test_each_call_gets_its_arguments():
    answers()
    assert run(**GIVEN) == {results[-1]!r}
    asked = [json.loads(one["body"]) for one in hosts.requests()]
    assert asked == {bodies!r}


def test_it_does_the_same_again():
    answers()
    assert run(**GIVEN) == run(**GIVEN)


def test_a_call_that_fails_is_told():
    answers()
    hosts.tool({str(steps[0].tool)!r}, error="no such thing", arguments={bodies[0]!r})
    try:
        run(**GIVEN)
    except ValueError as error:
        assert "no such thing" in str(error)
    else:
        raise AssertionError("it went on")
"""


def _sample(schema: Json, name: str) -> Json:
    """Return a value that a schema allows; only its main keywords are considered."""
    if not isinstance(schema, dict):
        return name
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    match kind:
        case "integer" | "number":
            minimum: float = schema.get("minimum", schema.get("exclusiveMinimum", 6)) or 0
            return int(minimum) + 1
        case "boolean":
            return True
        case "array":
            return [_sample(schema.get("items", {}), name)]
        case "object":
            properties: dict[str, Json] = schema.get("properties") or {}
            required: list[str] = schema.get("required") or list(properties)
            return {key: _sample(properties.get(key, {}), key) for key in required}
        case _:
            return f"some {name}"


def _result(number: int, steps: Sequence[RecipeStep], schemas: Mapping[str, tuple[Json, Json]]) -> Json:
    """Return a sample result of a step that contains every part that other steps refer to."""
    result = _sample(schemas[str(steps[number - 1].tool)][1], f"result {number}")
    for reference in (inner for step in steps for inner in _references(step.arguments)):
        step, keys = _parsed_reference(reference)
        if step == f"s{number}" and keys:
            result = _with(result, keys, f"part {keys[-1]} of {number}")
    return result


def _with(value: Json, keys: Sequence[str], leaf: Json) -> Json:
    """Return the value with a leaf added at a path of keys; existing parts stay."""
    if not keys:
        return leaf if value is None else value
    key, deeper = keys[0], keys[1:]
    if key.isdigit() and not isinstance(value, dict):
        listed = list(value) if isinstance(value, list) else []
        while len(listed) <= int(key):
            listed.append(None)
        listed[int(key)] = _with(listed[int(key)], deeper, leaf)
        return listed
    fields = value if isinstance(value, dict) else {}
    return {**fields, key: _with(fields.get(key), deeper, leaf)}


def _filled(value: Json, arguments: Mapping[str, Json], results: Sequence[Json]) -> Json:
    """Return arguments with parameters and references replaced by the tests' values."""
    if (name := single(value, PARAMETER)) is not None:
        return arguments[name]
    if (reference := single(value, REFERENCE)) is not None:
        step, keys = _parsed_reference(reference)
        referred = results[int(step[1:]) - 1]
        for key in keys:
            referred = referred[int(key)] if isinstance(referred, list) else referred[key]
        return referred
    if isinstance(value, dict):
        return {key: _filled(inner, arguments, results) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, arguments, results) for inner in value]
    return value


def _references(value: Json) -> list[str]:
    if (reference := single(value, REFERENCE)) is not None:
        return [reference]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [reference for element in inner for reference in _references(element)]


def name_for(recipe: Remembered) -> str:
    """Return a name for a recipe's tool: `csv_read_then_bar_chart`."""
    tools = [str(step.tool) for step in recipe.steps]
    distinct = dict.fromkeys(tools)
    # The calls of a single tool need another name than that tool.
    return "_then_".join(distinct if len(distinct) > 1 else tools)[:60].rstrip("_")
