"""A form of a server."""

from __future__ import annotations

from typing import Any

NAME = {"type": "string", "description": "Who are you?"}


FORM: dict[str, Any] = {
    "message": "Tell me \u202eall\x1b[31m.",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": NAME, "age": {"type": "integer", "minimum": 18}, "note": {"type": "string"}},
        "required": ["name", "age"],
    },
}
