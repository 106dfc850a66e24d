"""Files of a scratch workspace: what a draft's own tests write out, and what cases by a model carry. Pure."""

from __future__ import annotations

import ast
import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from alita_tui.events import Json, ToolDraft
from alita_tui.spine.syntax import try_parse
from alita_tui.spine.trials import stands_in

MOST_FILES = 5
LARGEST_FILE = 100_000
"""Bytes of one file that a case carries."""
_NAME = re.compile(r"[\w][\w. -]{0,79}(?:/[\w][\w. -]{0,79}){0,3}", re.ASCII)


def granted(draft: ToolDraft, files: Mapping[str, bytes] | None = None) -> dict[str, Any]:
    """Return the fields of a job in which all that a draft asks for is stood in for; none if it asks for nothing.

    Without `files` there are those that the tests write out; tests without stand-ins bring their own servers.
    """
    if draft.capabilities.none or (files is None and not stands_in(draft.tests)):
        return {}
    return {"capabilities": draft.capabilities, "scratch": files_in(draft) if files is None else dict(files)}


def files_in(draft: ToolDraft) -> dict[str, bytes]:
    """Return the files that the draft's tests write out in calls of `workspace.write`, the first of each name."""
    if not stands_in(draft.tests) or (tree := try_parse(draft.tests)) is None:
        return {}
    known: dict[str, Any] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            known |= {
                name.id: _value(statement.value, {})
                for name in statement.targets
                if isinstance(name, ast.Name)
            }
    files: dict[str, bytes] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("workspace.write", "write"):
            given = [_value(part, known) for part in (*node.args, *(word.value for word in node.keywords))]
            if len(given) == 2 and isinstance(given[0], str) and isinstance(given[1], str | bytes):
                data = given[1].encode("utf-8", "replace") if isinstance(given[1], str) else given[1]
                if _NAME.fullmatch(given[0]) and len(data) <= LARGEST_FILE:
                    files.setdefault(given[0], data)
    return files


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def carried(files: Json) -> dict[str, bytes] | None:
    """Return the files of a case, each a text or `{"base64": TEXT}`; None if they cannot be."""
    if files is None:
        return {}
    if not isinstance(files, dict) or len(files) > MOST_FILES:
        return None
    read: dict[str, bytes] = {}
    for name, content in files.items():
        try:
            if isinstance(content, str):
                data = content.encode("utf-8")
            elif isinstance(content, dict) and isinstance(content.get("base64"), str):
                data = base64.b64decode(str(content["base64"]), validate=True)
            else:
                return None
        except (UnicodeEncodeError, binascii.Error, ValueError):
            return None
        if not _NAME.fullmatch(name) or len(data) > LARGEST_FILE:
            return None
        read[name] = data
    return read
