"""What a draft does, in one sentence computed from its schemas and checks alone, without any claim of its author."""

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
_PLURALS = {
    "string": "texts",
    "integer": "whole numbers",
    "number": "numbers",
    "object": "objects",
    "array": "lists",
}
_CONTRACT = {
    "passed": "its tests' calls fit that",
    "failed": "but its tests' calls do not fit that",
    "skipped": "so it declares, no call was held to it",
}
_MOST = 3
"""Most arguments that are named."""
_NAME = 30
"""Most characters of a name that are shown."""


def purpose(attempt: Attempt) -> str:
    """Return what a draft takes and returns, and how far that was checked. Raw text: reveal it before showing."""
    draft = attempt.draft
    parameters = _named(draft.input_schema)
    first_part = f"Takes {parameters}" if parameters else "Takes no arguments"
    result = _named(draft.output_schema) or type_words(draft.output_schema)
    signature = f"{first_part}; returns {result}"
    states = {gate.gate: gate.state for gate in attempt.gates}
    notes = [_CONTRACT.get(states.get("contract", "skipped"), _CONTRACT["skipped"])]
    runs = [report for report in attempt.reports if report.status == "ok"]
    if attempt.passed and len(runs) > 1:
        notes.append(f"the same in {len(runs)} runs")
    return "; ".join((signature, *notes)) + "."


def type_words(schema: object) -> str:
    """Return the type of a JSON schema in words."""
    if not isinstance(schema, Mapping):
        return "a value"
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        inner = items.get("type") if isinstance(items, Mapping) else None
        plural = _PLURALS.get(inner) if isinstance(inner, str) else None
        return f"a list of {plural}" if plural else "a list"
    if isinstance(kind, list):
        words = [_KINDS.get(name, "a value") for name in kind if isinstance(name, str)]
        return " or ".join(words) or "a value"
    return _KINDS.get(kind, "a value") if isinstance(kind, str) else "a value"


def _named(schema: object) -> str:
    """Return the properties of an object's schema with their types, in words; empty if it names none."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not properties:
        return ""
    named = [
        f"{_short(str(name))} ({type_words(property_schema)})"
        for name, property_schema in list(properties.items())[:_MOST]
    ]
    if len(properties) > _MOST:
        named.append(f"{len(properties) - _MOST} more")
    return ", ".join(named[:-1]) + (" and " if len(named) > 1 else "") + named[-1]


def _short(name: str) -> str:
    """Return a name, shortened; a name that could be mistaken for a part of the sentence is replaced."""
    if not name.isidentifier():
        return "one with an odd name"
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"
