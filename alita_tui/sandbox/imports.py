"""Which modules a tool imports at its top, so that they can be imported before it runs. Pure."""

from __future__ import annotations

import ast
import sys

_MOST = 32
_NEVER = frozenset({"antigravity", "this", "__main__", "__future__"})


def imports_of(code: str, *, packages: bool) -> frozenset[str]:
    """Modules that this code would import first thing; of the standard library only without `packages`.

    Never more than the code asks for: an import that it forgot has to stay an error.
    """
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found: set[str] = set()
    for node in body:
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
