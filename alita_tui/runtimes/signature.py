"""Compares the parameters of `run` with the schema of its arguments."""

from __future__ import annotations

from alita_tui.events import Json
from alita_tui.runtimes.notes import Notes


def match_schema(notes: Notes, names: set[str], required: set[str], schema: Json, line: int) -> None:
    """Report where the schema and the parameters of `run` differ: their names, and which are required."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or schema.get("type") != "object":
        notes.block("schema", "input_schema has to be of type object, with properties")
        return
    missing, unused = sorted(names - set(properties)), sorted(set(properties) - names)
    if missing:
        notes.block("schema", f"input_schema lacks these parameters of run: {', '.join(missing)}", line)
    if unused:
        notes.block("schema", f"input_schema has what run does not take: {', '.join(unused)}", line)
    required_names = schema.get("required", [])
    required_names = (
        {name for name in required_names if isinstance(name, str)}
        if isinstance(required_names, list)
        else set()
    )
    if unlisted := sorted((required & set(properties)) - required_names):
        text = f"input_schema has to require what has no default: {', '.join(unlisted)}"
        notes.block("schema", text, line)
    if unknown := sorted(required_names - set(properties)):
        notes.block("schema", f"input_schema requires what it does not describe: {', '.join(unknown)}", line)
    additional = schema.get("additionalProperties", False)
    if (
        additional is not False
        or schema.get("patternProperties")
        or schema.get("unevaluatedProperties", False)
    ):
        text = "input_schema is open for further arguments, with which run crashes, as it takes no others"
        notes.add("medium", "schema", text, line)
    if optional := sorted((required_names & names) - required):
        notes.add("low", "schema", f"input_schema requires what has a default: {', '.join(optional)}", line)
