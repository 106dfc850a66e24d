"""Tools that call tools, approved and in a library."""

from __future__ import annotations

from typing import Any

from alita_tui.events import BuildDigest, Capabilities, Lock, ToolDraft, ToolName, ToolRecord, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.spine.grants import ToolGrant, used_by

CALLS = '''"""Calls another tool."""

import json
import os
import urllib.error
import urllib.request


def run(name: str, arguments: dict[str, object]) -> object:
    """Return the other tool's result, or the status and the reason why there is none."""
    url = os.environ["ALITA_BROKER"] + "/tools/" + name
    try:
        with urllib.request.urlopen(url, data=json.dumps(arguments).encode()) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return [error.code, error.read().decode()]
'''
DOUBLES = '"""Double a number."""\n\n\ndef run(x: int) -> int:\n    """Twice x."""\n    return 2 * x\n'
TAKES_X = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
TAKES_ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}


def a_tool(name: str, code: str = DOUBLES, schema: dict[str, Any] | None = None, **asks: Any) -> ToolDraft:
    """Return a tool; `asks` are its capabilities."""
    return ToolDraft(
        name=ToolName(name),
        description=f"{name.replace('_', ' ').capitalize()}.",
        code=code,
        tests=f"from {name} import run\n\n\ndef test_a():\n    assert run\n",
        input_schema=TAKES_ANYTHING if schema is None else schema,
        output_schema={},
        capabilities=Capabilities(**asks),
    )


def approved(library: ToolLibrary, draft: ToolDraft) -> ToolRecord:
    """Register a tool as if a person had approved it with all that it asks for."""
    digest = build_digest(draft, Lock())
    return library.register(draft, Lock(), approval_id=f"a-{digest[:8]}", digest=digest, sources=())


def pin(record: ToolRecord, **changes: Any) -> str:
    """Return the grant to call a tool as it is, or with something of it changed."""
    facts: dict[str, Any] = {
        "name": record.draft.name, "version": record.version, "digest": record.digest, "may": used_by(record.granted),
    }  # fmt: skip
    return ToolGrant(**(facts | changes)).text


def pinned_to(name: str, version: int, digest: str) -> str:
    """Return the grant to call what there may not be."""
    return ToolGrant(name=name, version=version, digest=BuildDigest(digest)).text
