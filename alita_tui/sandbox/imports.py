"""What a file's top level says: which modules it imports first thing, and whether it is a tool. Pure."""

from __future__ import annotations

import ast
import sys

from alita_tui.spine.syntax import UNPARSABLE, parse

_MOST = 32
_NEVER = frozenset({"antigravity", "this", "__main__", "__future__"})


def imports_of(code: str, *, packages: bool) -> frozenset[str]:
    """Modules that this code would import first thing; of the standard library only without `packages`.

    Never more than the code asks for: an import that it forgot has to stay an error.
    """
    found: set[str] = set()
    for node in _body(code):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    good = {
        name
        for name in found - _NEVER
        if (packages or name.partition(".")[0] in sys.stdlib_module_names) and name.isascii()
    }
    return frozenset(sorted(good)[:_MOST])


def is_tool(code: str) -> bool:
    """True for a file with a `run` function; any other is a script."""
    return any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in _body(code))


def _body(code: str) -> list[ast.stmt]:
    try:
        return parse(code).body
    except UNPARSABLE:
        return []
