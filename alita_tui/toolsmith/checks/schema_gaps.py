"""Finds parts of a schema that restrict nothing although the code takes or returns one kind of value only. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from alita_tui.events import Json, ToolDraft, Value
from alita_tui.runtimes.python.draft_ast import run_function
from alita_tui.spine.syntax import try_parse

_SAYING = "type enum const anyOf oneOf allOf $ref not properties items prefixItems".split()
"""Keywords with which a schema restricts a value."""
_FEW = 3
"""Values of one kind needed before all are assumed to be of it."""
_DEEPEST = 4
_ANYTHING = re.compile(r"['\"]?(typing\.)?(Any|object|Json\w*|JSON\w*)\b")


class Hole(Value, frozen=True):
    """A part of a schema that restricts nothing."""

    where: str
    text: str
    serious: bool
    """False if the schema gives the kind and only leaves its inside open."""


def holes(
    draft: ToolDraft, tests: Sequence[dict[str, Json]], answers: Sequence[dict[str, Any]]
) -> list[Hole]:
    """Return what the schemas leave open although the tests' arguments, or the answers, are all of one kind."""
    results = [answer["result"] for answer in answers if "result" in answer]
    gaps: list[Hole] = []
    free = _open(draft.code)
    properties = draft.input_schema.get("properties", {}) if isinstance(draft.input_schema, dict) else {}
    for name, schema in properties.items():
        if name in free:
            continue
        values = [arguments[name] for arguments in tests if name in arguments]
        gaps += _holes_in("input_schema", f"$.{name}", schema, values, 0)
    if "return" not in free:
        gaps += _holes_in("output_schema", "$", draft.output_schema, results, 0)
    return gaps


def _open(code: str) -> set[str]:
    """Return parameters of `run` that are annotated as anything; `return` if it may return anything."""
    run = run_function(try_parse(code))
    if run is None:
        return set()
    annotated = {argument.arg: argument.annotation for argument in (*run.args.args, *run.args.kwonlyargs)} | {
        "return": run.returns
    }
    return {
        name for name, kind in annotated.items() if kind is not None and _ANYTHING.match(ast.unparse(kind))
    }


def _holes_in(schema_name: str, path: str, schema: Json, values: list[Json], depth: int) -> Iterator[Hole]:
    if depth > _DEEPEST or isinstance(schema, bool) and not schema:
        return
    rules = schema if isinstance(schema, dict) else {}
    if not any(key in rules for key in _SAYING):
        kinds = {_kind(value) for value in values} - {"null"}
        if len(kinds) == 1 and (len(values) >= _FEW or schema_name == "input_schema"):
            text = f"{schema_name} says nothing of {path}, which is always {kinds.pop()}"
            yield Hole(where="schema", text=text, serious=True)
        return
    lists = [value for value in values if isinstance(value, list)]
    objects = [value for value in values if isinstance(value, dict)]
    if "items" in rules:
        yield from _holes_in(
            schema_name, f"{path}[]", rules["items"], [x for items in lists for x in items], depth + 1
        )
    properties = rules.get("properties")
    if isinstance(properties, dict):
        for name, subschema in properties.items():
            yield from _holes_in(
                schema_name, f"{path}.{name}", subschema, [o[name] for o in objects if name in o], depth + 1
            )
    elif (
        objects
        and len(objects) >= _FEW
        and "additionalProperties" not in rules
        and rules.get("type") == "object"
    ):
        keys = {tuple(sorted(item)) for item in objects}
        if len(keys) == 1 and (only := keys.pop()):
            text = f"{schema_name} names no part of {path}, which always has {', '.join(only[:5])}"
            yield Hole(where="schema", text=text, serious=False)


def _kind(value: Json) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
