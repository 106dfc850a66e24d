"""Tools that read or leave files: parameters and results whose schema says `"format": "file"`. Pure.

Such a parameter is the path of a file that the tool may read. A result of that format names a file that the tool left
in its current folder. Neither needs a grant: a tool can only read the files that its task was given.
"""

from __future__ import annotations

import ast
import base64
from collections.abc import Iterator, Mapping

from alita_tui.events import Json, ToolDraft
from alita_tui.runtimes.python.constant_folding import Folding
from alita_tui.runtimes.python.draft_ast import dotted
from alita_tui.runtimes.scratch_files import LARGEST_FILE, safe_name, value_of
from alita_tui.spine.syntax import try_parse

_MOST_FILES = 20
_DEEPEST = 12


def takes_files(draft: ToolDraft) -> bool:
    """Return whether a parameter is a file."""
    return _has_file(draft.input_schema, 0)


def leaves_files(draft: ToolDraft) -> bool:
    """Return whether the result names files that the tool leaves."""
    return _has_file(draft.output_schema, 0)


def local_files(draft: ToolDraft, carried: Mapping[str, bytes] | None = None) -> dict[str, str]:
    """Return the files (in Base64) that calls of a draft find in their folder; none if it takes no files.

    They are the files of a case, otherwise those that the draft's tests write out.
    """
    if not takes_files(draft):
        return {}
    files = written_by_tests(draft) if carried is None else carried
    return {name: base64.b64encode(data).decode() for name, data in files.items()}


def written_by_tests(draft: ToolDraft) -> dict[str, bytes]:
    """Return the files that the tests write out literally: `Path(NAME).write_text(TEXT)`, `write_bytes`, `open`."""
    tree = try_parse(draft.tests)
    files: dict[str, bytes] = {}
    if tree is None:
        return files
    for name, content in _writes(tree, Folding(tree)):
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        if (
            isinstance(name, str)
            and isinstance(data, bytes)
            and safe_name(name)
            and len(data) <= LARGEST_FILE
        ):
            files.setdefault(name, data)
        if len(files) == _MOST_FILES:
            break
    return files


def _writes(tree: ast.Module, folding: Folding) -> Iterator[tuple[Json, Json]]:
    """Yield name and content of each write; None for one that is not constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in ("write_text", "write_bytes") and isinstance(node.func.value, ast.Call):
                receiver = node.func.value
                if dotted(receiver.func).split(".")[-1] == "Path" and len(receiver.args) == 1:
                    yield value_of(receiver.args[0], folding), value_of(node.args[0], folding)
        elif isinstance(node, ast.With) and len(node.items) == 1:
            opening, name = node.items[0].context_expr, node.items[0].optional_vars
            if (
                isinstance(opening, ast.Call)
                and dotted(opening.func) == "open"
                and isinstance(name, ast.Name)
            ):
                for call in (inner for inner in ast.walk(node) if isinstance(inner, ast.Call)):
                    if dotted(call.func) == f"{name.id}.write" and opening.args and call.args:
                        yield value_of(opening.args[0], folding), value_of(call.args[0], folding)


def _has_file(schema: Json, depth: int) -> bool:
    if depth > _DEEPEST:
        return False
    if isinstance(schema, dict):
        return schema.get("format") == "file" or any(_has_file(part, depth + 1) for part in schema.values())
    return isinstance(schema, list) and any(_has_file(part, depth + 1) for part in schema)
