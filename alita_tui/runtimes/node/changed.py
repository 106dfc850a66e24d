"""What a module changes of node itself, for all that runs with it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.runtimes.node.names import known

_PATTERNS = frozenset("array_pattern object_pattern pair_pattern rest_pattern assignment_pattern".split())
_SHARED = frozenset("JSON Math Intl Object console performance crypto Atomics".split())
"""Objects that all of a process share; the others are functions, which one hands on, as in `map(Number)`."""
_READ = frozenset(
    "member_expression subscript_expression call_expression new_expression binary_expression type_annotation".split()
)


def changed(tree: Node, own: set[str]) -> Iterator[tuple[str, int]]:
    """Yield what is changed, or handed on so that it can be changed, with its line."""
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
            called, given = node.child("function"), node.child("arguments")
            first = given.parts()[0] if given is not None and given.parts() else None
            if called is not None and called.text == "Object.assign" and first is not None:
                if first.kind != "object" and _root(first).text in shared:
                    yield first.text, node.line


def _imported(tree: Node) -> set[str]:
    found: set[str] = set()
    for node in tree.walk():
        if node.kind == "identifier" and node.parent is not None:
            if node.parent.kind in ("import_clause", "import_specifier", "namespace_import"):
                found.add(node.text)
    return found


def _root(node: Node) -> Node:
    while True:
        inner = node.child("object")
        if inner is None and node.kind == "array" and node.parts():
            inner = node.parts()[0]
        if inner is None:
            return node
        node = inner


def _is_target(node: Node) -> bool:
    """Return whether an expression is given a value, or taken away."""
    above = node.parent
    if above is None:
        return False
    if above.kind in ("assignment_expression", "augmented_assignment_expression", "for_in_statement"):
        return node.field == "left"
    if above.kind == "unary_expression":
        return any(child.text == "delete" for child in above.children)
    return above.kind == "update_expression" or (
        above.kind in _PATTERNS and node.field not in ("right", "key") and node.kind != "identifier"
    )


def _is_handed_on(node: Node) -> bool:
    """Return whether a name stands for its value, and not for a member of it."""
    above = node.parent
    if above is None or above.kind in _READ:
        return False
    if above.kind == "variable_declarator":
        name = above.child("name")
        return node.field == "value" and name is not None and name.kind == "identifier"
    if above.kind == "assignment_expression":
        return node.field == "right"
    return above.kind in (
        "array",
        "arguments",
        "return_statement",
        "pair",
        "spread_element",
        "ternary_expression",
    )
