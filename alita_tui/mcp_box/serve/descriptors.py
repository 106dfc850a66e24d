"""MCP descriptors of tools, as JSON. Pure: works without the SDK."""

from __future__ import annotations

from typing import Any

from alita_tui.events import Capabilities, Json, ToolRecord
from alita_tui.spine.grants import ON_HOST, served_phrases, used_by
from alita_tui.spine.servers import pinned
from alita_tui.spine.text import reveal

WRAPPED = "result"
"""The field that holds a result that is not an object; before 2026 the protocol allows only objects."""
_UNKNOWN = {
    "readOnlyHint": False, "destructiveHint": True, "openWorldHint": True, "idempotentHint": False,
}  # fmt: skip
"""Hints for a tool of another server: no grant limits it, and its description is only a claim."""
_READS = {"GET", "HEAD"}
_FILE = "A file: its content as a data: URI, or the alita:// URI of a file that an earlier call left."
SEARCH, CALL, BUILD, STATUS = "search_tools", "call_tool", "build_tool", "build_status"
OWN = (SEARCH, CALL, BUILD, STATUS)
"""Names of alita's own tools. A library tool with such a name is not listed; `call_tool` calls it."""


def described(record: ToolRecord) -> dict[str, Any]:
    """Return a tool's descriptor."""
    draft = record.draft
    on_host = record.origin == "remote" and pinned(draft).server.place == "host"
    may = ("this machine with all rights of its owner",) if on_host else served_phrases(record.granted)
    description = draft.description + (f"\n\nIt may use {'; '.join(may)}." if may else "")
    descriptor: dict[str, Any] = {
        "name": draft.name,
        "title": str(draft.name).replace("_", " ").capitalize(),
        "description": str(reveal(description)),
        "inputSchema": _as_object(_for_clients(draft.input_schema)),
        "annotations": _UNKNOWN if record.origin == "remote" else hints(record.granted),
        "_meta": {
            "alita/version": record.version,
            "alita/digest": record.digest,
            "alita/state": record.state,
        },
    }
    if isinstance(draft.output_schema, dict) and draft.output_schema:
        descriptor["outputSchema"] = _gives(draft.output_schema)
    return descriptor


def hints(granted: Capabilities) -> dict[str, bool]:
    """Return the hints that follow from a tool's grants; the grants are enforced."""
    items = used_by(granted)
    reads = not {"workspace:write", ON_HOST} & {*items} and all(
        _only_reads(item) for item in items if item.startswith("network:")
    )
    outside = any(item.startswith(("network:", "secret:", "model:", ON_HOST)) for item in items)
    flags = {"readOnlyHint": reads, "openWorldHint": outside, "idempotentHint": reads}
    return flags if reads else {**flags, "destructiveHint": True}


def _only_reads(item: str) -> bool:
    methods, _, host = item.removeprefix("network:").rpartition(" ")
    return bool(methods and host) and set(methods.split(",")) <= _READS


def gives_object(schema: Json) -> bool:
    """Return True if a tool's result is an object and needs no wrapper."""
    return isinstance(schema, dict) and schema.get("type") == "object"


def _gives(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the output schema as one of an object; any other schema is wrapped."""
    if schema.get("type") == "object":
        return schema
    shared: dict[str, Any] = {
        name: schema[name] for name in ("$schema", "$defs", "definitions") if name in schema
    }
    inner = {name: value for name, value in schema.items() if name not in shared}
    return {"type": "object", "properties": {WRAPPED: inner}, "required": [WRAPPED], **shared}


def structured(record: ToolRecord, result: Json) -> dict[str, Any] | None:
    """Return a result in the form of the descriptor's output schema; None if there is no such form."""
    schema = record.draft.output_schema
    if not isinstance(schema, dict) or not schema:
        return result if isinstance(result, dict) else None
    return result if schema.get("type") == "object" else {WRAPPED: result}


def _as_object(schema: Json) -> dict[str, Any]:
    base = schema if isinstance(schema, dict) else {}
    return base if base.get("type") == "object" else {**base, "type": "object"}


def _for_clients(schema: Json) -> Any:
    """Return an input schema for clients: where the tool gets a path, a client sends a URI."""
    if isinstance(schema, list):
        return [_for_clients(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    translated = {name: _for_clients(value) for name, value in schema.items()}
    if schema.get("format") == "file" and schema.get("type", "string") == "string":
        description = schema.get("description")
        translated["format"] = "uri"
        translated["description"] = (
            f"{description.rstrip('. ')}. {_FILE}" if isinstance(description, str) and description else _FILE
        )
    return translated


def own_tools(*, searches: bool, builds: bool) -> list[dict[str, Any]]:
    """Return the descriptors of alita's own tools that are offered."""
    tools = []
    if searches:
        tools += [_SEARCH_TOOLS, _CALL_TOOL]
    if builds:
        tools += [_BUILD_TOOL, _BUILD_STATUS]
    return tools


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_ANY = {"type": "object", "additionalProperties": True}
_SEARCH_TOOLS = {
    "name": SEARCH,
    "title": "Search tools",
    "description": "Find approved tools for a need. There are more than are listed: each hit comes with the input "
    f"schema that {CALL} needs.",
    "inputSchema": _object(
        ("need",),
        need={**_TEXT, "minLength": 1, "maxLength": 2000, "description": "What is needed, in words."},
        limit={"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
    ),
    "outputSchema": _object(
        ("tools",),
        tools={
            "type": "array",
            "items": {"type": "object", "required": ["name", "description", "inputSchema"]},
        },
    ),
    "annotations": {"readOnlyHint": True, "openWorldHint": False, "idempotentHint": True},
}
_CALL_TOOL = {
    "name": CALL,
    "title": "Call a tool",
    "description": f"Run an approved tool by its name, listed or not, in alita's sandbox. {SEARCH} finds names and "
    "input schemas.",
    "inputSchema": _object(
        ("name",),
        name={**_TEXT, "description": "The tool's name."},
        arguments={**_ANY, "description": "As its input schema says."},
    ),
    "annotations": {
        "readOnlyHint": False, "destructiveHint": True, "openWorldHint": True, "idempotentHint": False,
    },
}  # fmt: skip
_BUILDS = _object(
    ("build_id", "name", "state"),
    build_id=_TEXT,
    name=_TEXT,
    state={"enum": ["building", "waiting", "approved", "rejected", "failed"]},
    text=_TEXT,
    poll_after_seconds={"type": "integer"},
)
_BUILD_TOOL = {
    "name": BUILD,
    "title": "Ask for a tool",
    "description": "Have a new tool written, tested in the sandbox and put before the person who owns this library. "
    "Only that person can approve it, in alita; nobody can over this connection. Returns a build_id for "
    f"{STATUS}; an approved tool joins the list of tools.",
    "inputSchema": _object(
        ("name", "need"),
        name={**_TEXT, "pattern": "^[a-z][a-z0-9_]{2,47}$", "description": "Snake case."},
        need={**_TEXT, "minLength": 1, "maxLength": 2000, "description": "What it does, for any input of its kind."},
        details={**_TEXT, "maxLength": 8000, "description": "Inputs, outputs, edge cases, packages worth using."},
        examples={
            "type": "array", "maxItems": 5, "items": _ANY,
            "description": 'Each {"input": {ARGUMENTS}, "output": RESULT}.',
        },
        hosts={
            "type": "array", "maxItems": 5, "items": _TEXT,
            "description": "Hosts it has to reach, each as `name:port`. Leave out for a mere computation.",
        },
    ),
    "outputSchema": _BUILDS,
    "annotations": {
        "readOnlyHint": False, "destructiveHint": False, "openWorldHint": True, "idempotentHint": False,
    },
}  # fmt: skip
_BUILD_STATUS = {
    "name": STATUS,
    "title": "How far a build is",
    "description": f"Tell how far a build is that {BUILD} began, and whether the person has decided on it.",
    "inputSchema": _object(("build_id",), build_id={**_TEXT, "maxLength": 64}),
    "outputSchema": _BUILDS,
    "annotations": {"readOnlyHint": True, "openWorldHint": False, "idempotentHint": True},
}
