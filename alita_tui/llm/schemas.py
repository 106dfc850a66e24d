"""JSON Schema reduced to what a vendor accepts; an unknown keyword makes it refuse the whole request.

Nothing is lost: every call is checked against the whole schema when it comes back.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import msgspec

from alita_tui.spine.levels import shallow_json

_PLAIN = frozenset({
    "type", "description", "enum", "properties", "required", "items", "anyOf", "default", "minimum", "maximum",
    "minItems", "maxItems",
})  # fmt: skip
"""Known everywhere. Left out: `pattern`, which llama.cpp turns into a grammar and refuses unless it is
anchored at both ends (`json-schema-to-grammar`), `additionalProperties`, `$ref`, `format` and the like."""
_GOOGLE = _PLAIN - {"default"} | {"nullable"}
"""Of Google's Schema object (https://ai.google.dev/api/caching#Schema)."""


def fitting(schema: Any, rules: Literal["full", "plain", "google"]) -> Any:
    """Return a schema with only the keywords that a vendor knows; `full` leaves it unchanged.

    Google accepts no list of types and no `null` type, only texts in `enum`, and no object without properties: such an
    object is requested as a text that holds JSON.
    """
    if rules == "full" or not isinstance(schema, dict):
        return schema
    if rules == "google":
        schema = _googled(schema)
    keywords = _GOOGLE if rules == "google" else _PLAIN
    fitted: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            fitted[key] = {name: fitting(inner, rules) for name, inner in value.items()}
        elif key == "items":
            fitted[key] = fitting(value, rules)
        elif key == "anyOf" and isinstance(value, list):
            fitted[key] = [fitting(inner, rules) for inner in value]
        elif key == "const":
            fitted["enum"] = [value]
        elif key in keywords:
            fitted[key] = value
    return fitted


def _googled(schema: dict[str, Any]) -> dict[str, Any]:
    schema = dict(schema)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        schema["type"] = next((kind for kind in kinds if kind != "null"), "string")
        schema["nullable"] = "null" in kinds
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        real = [
            choice for choice in choices if not (isinstance(choice, dict) and choice.get("type") == "null")
        ]
        if len(real) < len(choices):
            schema["nullable"] = True
        if len(real) == 1 and isinstance(real[0], dict):
            schema = {**{key: value for key, value in schema.items() if key != "anyOf"}, **real[0]}
        else:
            schema["anyOf"] = real
    if schema.get("type") == "object" and not schema.get("properties"):
        description = f"{schema.get('description', '')} A JSON object, written as text.".strip()
        schema = {**schema, "type": "string", "description": description}
    if any(not isinstance(choice, str) for choice in schema.get("enum", ())):
        del schema["enum"]
    if "type" not in schema and "anyOf" not in schema:
        schema["type"] = "string"
    return schema


def unfolded(arguments: str, schema: Any) -> str:
    """Return arguments as JSON text; a text that contains an object is parsed if the schema asks for an object."""
    try:
        parsed = shallow_json(arguments)
    except ValueError:
        return arguments
    if not isinstance(parsed, dict) or not isinstance(schema, dict):
        return arguments
    for name, part in (schema.get("properties") or {}).items():
        if part.get("type") == "object" and isinstance(value := parsed.get(name), str):
            with suppress(ValueError):
                read = shallow_json(value)
                parsed[name] = read if isinstance(read, dict) else value
    return msgspec.json.encode(parsed).decode()
