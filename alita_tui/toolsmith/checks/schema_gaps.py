"""Parts of a schema that say nothing although the code expects, or always returns, one kind of value. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from alita_tui.events import Json, ToolDraft, Value
from alita_tui.spine.syntax import try_parse
from alita_tui.toolsmith.draft_ast import run_function

_SAYING = (
    "type",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "not",
    "properties",
    "items",
    "prefixItems",
)
_FEW = 3
"""Values of one kind needed before all are assumed to be of it."""
_DEEPEST = 4
_ANYTHING = re.compile(r"['\"]?(typing\.)?(Any|object|Json\w*|JSON\w*)\b")


class Hole(Value, frozen=True):
    """A part of a schema that says nothing."""

    where: str
    text: str
    serious: bool
    """False if the schema gives the kind and only leaves its inside open."""


def holes(
    draft: ToolDraft, tests: Sequence[dict[str, Json]], answers: Sequence[dict[str, Any]]
) -> list[Hole]:
    """Return what the schemas leave open although the tests' arguments, or the answers, are all of one kind."""
    results = [one["result"] for one in answers if "result" in one]
    found: list[Hole] = []
    free = _open(draft.code)
    properties = draft.input_schema.get("properties", {}) if isinstance(draft.input_schema, dict) else {}
    for name, schema in properties.items():
        if name in free:
            continue
        values = [one[name] for one in tests if name in one]
        found += _looked("input_schema", f"$.{name}", schema, values, 0)
    if "return" not in free:
        found += _looked("output_schema", "$", draft.output_schema, results, 0)
    return found


def _open(code: str) -> set[str]:
    """Return parameters of `run` that are annotated as anything; `return` if it may return anything."""
    run = run_function(try_parse(code))
    if run is None:
        return set()
    told = {one.arg: one.annotation for one in (*run.args.args, *run.args.kwonlyargs)} | {
        "return": run.returns
    }
    return {name for name, kind in told.items() if kind is not None and _ANYTHING.match(ast.unparse(kind))}


def _looked(which: str, path: str, schema: Json, values: list[Json], depth: int) -> Iterator[Hole]:
    if depth > _DEEPEST or isinstance(schema, bool) and not schema:
        return
    told = schema if isinstance(schema, dict) else {}
    if not any(key in told for key in _SAYING):
        kinds = {_kind(one) for one in values} - {"null"}
        if len(kinds) == 1 and (len(values) >= _FEW or which == "input_schema"):
            text = f"{which} says nothing of {path}, which is always {kinds.pop()}"
            yield Hole(where="schema", text=text, serious=True)
        return
    lists = [one for one in values if isinstance(one, list)]
    objects = [one for one in values if isinstance(one, dict)]
    if "items" in told:
        yield from _looked(which, f"{path}[]", told["items"], [x for one in lists for x in one], depth + 1)
    named = told.get("properties")
    if isinstance(named, dict):
        for name, inner in named.items():
            yield from _looked(
                which, f"{path}.{name}", inner, [o[name] for o in objects if name in o], depth + 1
            )
    elif (
        objects
        and len(objects) >= _FEW
        and "additionalProperties" not in told
        and told.get("type") == "object"
    ):
        keys = {tuple(sorted(one)) for one in objects}
        if len(keys) == 1 and (only := keys.pop()):
            text = f"{which} names no part of {path}, which always has {', '.join(only[:5])}"
            yield Hole(where="schema", text=text, serious=False)


def _kind(value: Json) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
