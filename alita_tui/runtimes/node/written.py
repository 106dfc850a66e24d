"""The values that a module is written with. Pure."""

from __future__ import annotations

from alita_tui.confined.syntax import Node, syntax_tree
from alita_tui.runtimes.node.names import in_main, text_of
from alita_tui.runtimes.port import Constant

_TABLE = 5
"""From how many numbers or texts on an array is a table."""


def written(code: str, language: str, task: frozenset[str] | None = None) -> list[Constant]:
    """Return texts and numbers; with the texts of a task less the defaults of parameters and what is a table's own."""
    tree = syntax_tree(code, language)
    found: list[Constant] = []
    for node in tree.walk() if tree is not None else ():
        value = _value(node)
        if (
            value is None
            or in_main(node)
            or any(one.kind in ("import_statement", "type_annotation") for one in node.above())
        ):
            continue
        if task is not None and (_is_default(node) or (isinstance(value, int | float) and _in_table(node))):
            continue
        refuses = any(one.kind == "throw_statement" for one in node.above())
        found.append(Constant(node.line, value, refuses))
    return found


def _value(node: Node) -> str | int | float | None:
    if node.kind in ("string", "template_string"):
        text = text_of(node)
        return text if text is not None else node.text[1:-1]
    if node.kind == "regex_pattern":
        return node.text
    if node.kind != "number":
        return None
    try:
        number = float(node.text.replace("_", ""))
    except ValueError:
        return None
    return int(number) if number.is_integer() else number


def _is_default(node: Node) -> bool:
    above = node.parent
    return (
        above is not None
        and node.field == "right"
        and above.kind in ("assignment_pattern", "object_assignment_pattern")
    )


def _in_table(node: Node) -> bool:
    above = node.parent
    return above is not None and above.kind == "array" and len(above.parts()) >= _TABLE
