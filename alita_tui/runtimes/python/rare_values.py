"""Literals that probably mean one case rather than a kind of case: `"j.miller"`, 48812. Pure."""

from __future__ import annotations

import ast
from collections import Counter

from alita_tui.spine.text import one_line

_RARE_LENGTH = 3
_RARE_MAGNITUDE = 100
"""Length of a text and magnitude of a number from which a literal counts as rare."""
_MOST_CASES = 3
"""Maximum size of a collection that lists single cases."""


def rare_names(tree: ast.Module) -> dict[str, str]:
    """Return names that are assigned once, to a rare value or a small collection of them, with these values."""
    assignment_counts = Counter(
        child.id
        for child in ast.walk(tree)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    )
    assignment_counts.update(child.arg for child in ast.walk(tree) if isinstance(child, ast.arg))
    values: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and assignment_counts[target.id] == 1:
                    values[target.id] = rare_value(node.value) or rare_values(node.value, {})
    return {name: value for name, value in values.items() if value}


def rare_value(node: ast.expr) -> str:
    """Return a rare literal in the notation of Python; an empty string for others."""
    if not isinstance(node, ast.Constant):
        return ""
    value = node.value
    rare = (
        len(value) >= _RARE_LENGTH
        if isinstance(value, str)
        else isinstance(value, int | float) and abs(value) >= _RARE_MAGNITUDE
    )
    return one_line(repr(value), 40) if rare else ""


def rare_values(node: ast.expr, names: dict[str, str]) -> str:
    """Return the rare values of a literal or of a small literal collection; an empty string for others."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        builds = node.func.id in ("frozenset", "set", "tuple", "list", "dict")
        return rare_values(node.args[0], {}) if builds else ""
    if not isinstance(node, ast.Dict | ast.Set | ast.Tuple | ast.List):
        return rare_value(node)
    items = node.keys if isinstance(node, ast.Dict) else node.elts
    shown = [rare_value(item) if item is not None else "" for item in items]
    return one_line(" or ".join(shown), 60) if 1 <= len(shown) <= _MOST_CASES and all(shown) else ""
