"""What a draft does, in one sentence computed from its schemas and its checks: nothing of it is its author's claim."""

from __future__ import annotations

from collections.abc import Mapping

from alita_tui.state.build import Attempt

_KINDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "null": "nothing",
    "object": "an object",
    "array": "a list",
}
_MANY = {
    "string": "texts",
    "integer": "whole numbers",
    "number": "numbers",
    "object": "objects",
    "array": "lists",
}
_HELD = {
    "passed": "its tests' calls fit that",
    "failed": "but its tests' calls do not fit that",
    "skipped": "so it declares, no call was held to it",
}
_MOST = 3
"""Arguments that are named."""
_NAME = 30
"""Characters of a name that are shown."""


def does(attempt: Attempt) -> str:
    """Return what a draft takes and gives back, and how far that was checked. Raw text: reveal it before showing."""
    draft = attempt.draft
    taken = _named(draft.input_schema)
    takes = f"Takes {taken}" if taken else "Takes no arguments"
    given = _named(draft.output_schema) or kind_of(draft.output_schema)
    signature = f"{takes}; returns {given}"
    states = {gate.gate: gate.state for gate in attempt.gates}
    notes = [_HELD.get(states.get("contract", "skipped"), _HELD["skipped"])]
    runs = [report for report in attempt.reports if report.status == "ok"]
    if attempt.passed and len(runs) > 1:
        notes.append(f"the same in {len(runs)} runs")
    return "; ".join((signature, *notes)) + "."


def kind_of(schema: object) -> str:
    """Return what a JSON schema describes, in words."""
    if not isinstance(schema, Mapping):
        return "a value"
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        inner = items.get("type") if isinstance(items, Mapping) else None
        many = _MANY.get(inner) if isinstance(inner, str) else None
        return f"a list of {many}" if many else "a list"
    if isinstance(kind, list):
        words = [_KINDS.get(name, "a value") for name in kind if isinstance(name, str)]
        return " or ".join(words) or "a value"
    return _KINDS.get(kind, "a value") if isinstance(kind, str) else "a value"


def _named(schema: object) -> str:
    """Return the properties of an object's schema with their kinds; empty if it names none."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not properties:
        return ""
    shown = [
        f"{_short(str(name))} ({kind_of(property_schema)})"
        for name, property_schema in list(properties.items())[:_MOST]
    ]
    if len(properties) > _MOST:
        shown.append(f"{len(properties) - _MOST} more")
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]


def _short(name: str) -> str:
    """Return a name that cannot pass for a part of the sentence."""
    if not name.isidentifier():
        return "one with an odd name"
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"
