"""A tool as one can call it: its signature in a line, and an example out of its tests. Code is read, never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import msgspec

from alita_tui.events import Json, ToolDraft, Value, ready
from alita_tui.spine.syntax import UNPARSABLE, parse

_LONGEST = 600
"""Longest useful example, in characters."""
_TYPES = {
    "integer": "int",
    "number": "float",
    "string": "str",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}


class Example(Value, frozen=True):
    """One call of a tool and what it gave."""

    arguments: Json
    result: Json
    tested: bool = True
    """Whether it is from the tool's tests; otherwise the tool was run like this."""


def signature(name: str, takes: Json, gives: Json) -> str:
    """Return how a tool is called, such as `double_it(x: int, times: int = 2) -> int`."""
    properties = takes.get("properties") if isinstance(takes, dict) else None
    if not isinstance(properties, dict):
        return f"{name}(...) -> {_type(gives)}"
    required = takes.get("required")
    needed = {*map(str, required)} if isinstance(required, list) else set()
    ordered = sorted(properties.items(), key=lambda item: item[0] not in needed)
    return f"{name}({', '.join(_parameter(key, schema, key in needed) for key, schema in ordered)}) -> {_type(gives)}"


def _parameter(name: str, schema: Json, needed: bool) -> str:
    if needed:
        return f"{name}: {_type(schema)}"
    default = schema.get("default", ...) if isinstance(schema, dict) else ...
    return f"{name}: {_type(schema)} = {'...' if default is ... else _json(default)}"


def _type(schema: Json) -> str:
    if not isinstance(schema, dict):
        return "any"
    if isinstance(choices := schema.get("enum"), list):
        return " | ".join(map(_json, choices[:8])) or "any"
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " | ".join(_TYPES.get(kind, "None") for kind in map(str, kinds)) or "any"
    if kinds == "array":
        return f"list[{_type(schema.get('items'))}]"
    if isinstance(options := schema.get("anyOf") or schema.get("oneOf"), list):
        return " | ".join(dict.fromkeys(map(_type, options[:8])))
    return _TYPES.get(str(kinds), "any")


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")


def example_in_tests(draft: ToolDraft) -> Example | None:
    """Return a call with its result that the tool's tests hold; None if none is written out in full."""
    try:
        names = [
            argument.arg
            for node in parse(draft.code).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "run"
            for argument in (*node.args.posonlyargs, *node.args.args)
        ]
        for call, result in _compared(parse(draft.tests)):
            example = _example_of(call, result, names)
            if example is not None:
                return example
    except UNPARSABLE:
        pass
    return None


def _compared(tests: ast.Module) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Yield each `run(...)` that an assert compares for equality, with what it is compared to."""
    for node in ast.walk(tests):
        if not isinstance(node, ast.Assert) or not isinstance(compared := node.test, ast.Compare):
            continue
        if len(compared.ops) != 1 or not isinstance(compared.ops[0], ast.Eq):
            continue
        for side, opposite in (
            (compared.left, compared.comparators[0]),
            (compared.comparators[0], compared.left),
        ):
            if isinstance(side, ast.Call) and isinstance(side.func, ast.Name) and side.func.id == "run":
                yield side, opposite


def _example_of(call: ast.Call, result: ast.expr, names: list[str]) -> Example | None:
    if len(call.args) > len(names) or any(keyword.arg is None for keyword in call.keywords):
        return None
    try:
        arguments: dict[str, Any] = {
            name: ast.literal_eval(argument) for name, argument in zip(names, call.args, strict=False)
        }
        arguments |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        encoded = msgspec.json.encode({"arguments": arguments, "result": ast.literal_eval(result)})
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, OverflowError):
        return None
    if len(encoded) > _LONGEST:
        return None
    return msgspec.json.decode(encoded, type=ready(Example))
