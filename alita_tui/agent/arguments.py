"""Checks a tool's name and arguments on the host, before a container is started."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from alita_tui.events import Json, ToolRecord
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.examples import signature
from alita_tui.spine.near_names import nearest_names
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.text import one_line

Misfit = Callable[[Json, Json], str]
"""Returns why a value does not fit a schema, in one line; empty if it does. Its work is bounded for any schema."""


def record_of(shelf: ToolShelf, name: str, version: int | None) -> ToolRecord:
    """Return a tool. Raises RegistryError, which suggests the nearest names for an unknown one."""
    try:
        return shelf.get(name, version)
    except RegistryError as error:
        cards = {str(card.name): card.version for card in shelf.cards()}
        if name in cards and version not in (None, cards[name]):
            raise RegistryError(error.message, hint=f"{name} is there as v{cards[name]}.") from error
        if name in cards:
            raise
        near = nearest_names(name, cards, alike=0.5)
        listed = (
            f"Nearest in the library: {', '.join(near)}." if near else "`find_tool` searches the library."
        )
        raise RegistryError(error.message, hint=listed) from error


def check_arguments(record: ToolRecord, arguments: Json, misfit: Misfit) -> None:
    """Raise RegistryError, with what is wrong and how the tool is called, unless the arguments fit the tool."""
    draft = record.draft
    schema = draft.input_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    problems: list[str] = []
    if isinstance(properties, dict):
        required = schema.get("required")
        missing = [name for name in required if name not in arguments] if isinstance(required, list) else []
        open_for_more = any(schema.get(key) for key in ("additionalProperties", "patternProperties"))
        unknown = [] if open_for_more else [name for name in arguments if name not in properties]
        problems += [f"{one_line(str(name), 60)} is missing" for name in missing]
        problems += [f"{one_line(name, 60)} is none of its parameters" for name in unknown]
    if not problems and (why := misfit(arguments, schema)) and not why.startswith("the schema cannot"):
        problems.append(one_line(why, 400))
    if problems:
        call = signature(draft.name, schema, draft.output_schema)
        shape = msgspec.json.encode(schema).decode("utf-8", "replace")
        raise RegistryError(
            f"{draft.name} was not run: {'; '.join(problems[:6])}.",
            hint=f"It is called as {one_line(call, 400)}; input schema: {one_line(shape, 2_000)}",
        )
