"""What the top level of a file shows: the modules it imports, and whether it is a tool. Pure."""

from __future__ import annotations

import ast
import sys

from alita_tui.spine.syntax import UNPARSABLE, parse

_MOST = 32
_NEVER = frozenset({"antigravity", "this", "__main__", "__future__"})


def imports_of(code: str, *, packages: bool) -> frozenset[str]:
    """Return the modules that this code imports at its top level; only standard ones without `packages`.

    Never more than the code imports: a forgotten import has to stay an error.
    """
    names: set[str] = set()
    for node in _body(code):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
    good = {
        name
        for name in names - _NEVER
        if (packages or name.partition(".")[0] in sys.stdlib_module_names) and name.isascii()
    }
    return frozenset(sorted(good)[:_MOST])


def is_tool(code: str) -> bool:
    """Return whether a file has a `run` function; any other file is a script."""
    return any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in _body(code))


def _body(code: str) -> list[ast.stmt]:
    try:
        return parse(code).body
    except UNPARSABLE:
        return []
