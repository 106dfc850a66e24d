"""Pins the tools that a draft wants to call: a name becomes the currently approved bytes and all that they may use.

The person grants the pin, so a later version of the called tool is not used until the caller is built again.
"""

from __future__ import annotations

import msgspec

from alita_tui.events import ToolDraft, ToolRecord
from alita_tui.runtimes.file_parameters import takes_files
from alita_tui.runtimes.port import ContractError
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.examples import signature
from alita_tui.spine.grants import DEEPEST_CALL, ToolGrant, named_tools, tool_grants
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.servers import uses_of


def pinned(draft: ToolDraft, shelf: ToolShelf) -> ToolDraft:
    """Return the draft with its tools pinned to what the library runs now. Raise ContractError."""
    problems: list[str] = []
    pins: list[str] = []
    for name in named_tools(draft.capabilities):
        try:
            record = shelf.get(name)
            if problem := _unfit(name, record, draft, shelf):
                problems.append(f"capabilities.tools: {problem}")
        except RegistryError as error:
            problems.append(f"capabilities.tools: {error.message}")
            continue
        grant = ToolGrant(
            name=record.draft.name,
            version=record.version,
            digest=record.digest,
            may=uses_of(record),
        )
        pins.append(grant.text)
    if problems:
        raise ContractError(tuple(problems))
    capabilities = msgspec.structs.replace(draft.capabilities, tools=tuple(sorted(pins)))
    return msgspec.structs.replace(draft, capabilities=capabilities)


def described(names: tuple[str, ...], shelf: ToolShelf) -> str:
    """Return how to call the tools of these names that the library has."""
    lines: list[str] = []
    for name in names:
        try:
            tool = shelf.get(name).draft
        except RegistryError:
            continue
        schemas = (f"{label} schema: {_json(schema)}" for label, schema in _schemas(tool))
        lines += [f"- {signature(tool.name, tool.input_schema, tool.output_schema)}: {tool.description}"]
        lines += [f"  {line}" for line in schemas]
    return "\n".join(lines)


def _unfit(name: str, record: ToolRecord, draft: ToolDraft, shelf: ToolShelf) -> str:
    """Return why a tool cannot be called by the draft; empty if it can. Raise RegistryError."""
    if record.draft.name != name:
        return (
            f"{name} is another name of {record.draft.name}; name {record.draft.name} itself, in the code too"
        )
    if name == draft.name:
        return f"{name} cannot call itself"
    if shelf.lends(record.digest):
        return f"{name} v{record.version} was approved for one task alone, so no other tool can call it"
    if takes_files(record.draft):
        return f"{name} takes a file, which one tool cannot hand to another"
    if _levels(record, shelf) > DEEPEST_CALL:
        return f"{name} calls tools that call tools: calls may be {DEEPEST_CALL} deep"
    return ""


def _levels(record: ToolRecord, shelf: ToolShelf) -> int:
    """Return the depth of nested calls that a call of this tool can cause, 1 without any. Raise RegistryError."""
    further = (shelf.get(grant.name, grant.version) for grant in tool_grants(record.granted))
    return 1 + max((_levels(called, shelf) for called in further), default=0)


def _schemas(tool: ToolDraft) -> tuple[tuple[str, object], ...]:
    return (("input", tool.input_schema), ("output", tool.output_schema))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")
