"""Finds what a module changes in node itself, for all code that runs with it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.runtimes.node.names import known

_PATTERNS = frozenset("array_pattern object_pattern pair_pattern rest_pattern assignment_pattern".split())
_SHARED = frozenset("JSON Math Intl Object console performance crypto Atomics".split())
"""Objects that all code of a process shares; the others are functions, which are passed on, as in `map(Number)`."""
_READ = frozenset(
    "member_expression subscript_expression call_expression new_expression binary_expression type_annotation".split()
)
_HANDING_ON = frozenset("array arguments return_statement pair spread_element ternary_expression".split())


def global_changes(tree: Node, own: set[str]) -> Iterator[tuple[str, int]]:
    """Yield what is changed, or passed on so that it can be changed, with its line."""
    imported = _imported(tree)
    shared = (known("plain") - own) | imported
    for node in tree.walk():
        if node.kind in ("member_expression", "subscript_expression"):
            if _is_target(node) and _root(node).text in shared:
                yield node.text, node.line
        elif node.kind == "identifier" and node.text == "run" and _is_target(node):
            yield node.text, node.line
        elif node.kind == "identifier" and node.text in _SHARED - own and _is_handed_on(node):
            yield node.text, node.line
        elif node.kind == "call_expression":
            function, arguments = node.child("function"), node.child("arguments")
            first = arguments.parts()[0] if arguments is not None and arguments.parts() else None
            if function is not None and function.text == "Object.assign" and first is not None:
                if first.kind != "object" and _root(first).text in shared:
                    yield first.text, node.line


def _imported(tree: Node) -> set[str]:
    imported_names: set[str] = set()
    for node in tree.walk():
        if node.kind == "identifier" and node.parent is not None:
            if node.parent.kind in ("import_clause", "import_specifier", "namespace_import"):
                imported_names.add(node.text)
    return imported_names


def _root(node: Node) -> Node:
    while True:
        inner = node.child("object")
        if inner is None and node.kind == "array" and node.parts():
            inner = node.parts()[0]
        if inner is None:
            return node
        node = inner


def _is_target(node: Node) -> bool:
    """Return whether an expression is assigned to or deleted."""
    parent = node.parent
    if parent is None:
        return False
    if parent.kind in ("assignment_expression", "augmented_assignment_expression", "for_in_statement"):
        return node.field == "left"
    if parent.kind == "unary_expression":
        return any(child.text == "delete" for child in parent.children)
    return parent.kind == "update_expression" or (
        parent.kind in _PATTERNS and node.field not in ("right", "key") and node.kind != "identifier"
    )


def _is_handed_on(node: Node) -> bool:
    """Return whether a name stands for its value, and not for a member of it."""
    parent = node.parent
    if parent is None or parent.kind in _READ:
        return False
    if parent.kind == "variable_declarator":
        name = parent.child("name")
        return node.field == "value" and name is not None and name.kind == "identifier"
    if parent.kind == "assignment_expression":
        return node.field == "right"
    return parent.kind in _HANDING_ON
