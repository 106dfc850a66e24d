"""The literal values in a module. Pure."""

from __future__ import annotations

from alita_tui.confined.syntax import Node, syntax_tree
from alita_tui.runtimes.node.names import in_main, text_of
from alita_tui.runtimes.port import Constant

_TABLE = 5
"""Smallest number of elements from which an array counts as a table."""


def constants_of(code: str, language: str, task: frozenset[str] | None = None) -> list[Constant]:
    """Return texts and numbers; with the texts of a task without defaults of parameters and numbers of tables."""
    tree = syntax_tree(code, language)
    constants: list[Constant] = []
    for node in tree.walk() if tree is not None else ():
        value = _value(node)
        if (
            value is None
            or in_main(node)
            or any(ancestor.kind in ("import_statement", "type_annotation") for ancestor in node.above())
        ):
            continue
        if task is not None and (_is_default(node) or (isinstance(value, int | float) and _in_table(node))):
            continue
        refuses = any(ancestor.kind == "throw_statement" for ancestor in node.above())
        constants.append(Constant(node.line, value, refuses))
    return constants


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
    parent = node.parent
    return (
        parent is not None
        and node.field == "right"
        and parent.kind in ("assignment_pattern", "object_assignment_pattern")
    )


def _in_table(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.kind == "array" and len(parent.parts()) >= _TABLE
