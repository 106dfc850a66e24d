"""The texts in a module, for the search for private data. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.runtimes.node.reach import texts
from alita_tui.runtimes.private_data import CodeTexts

_LONGEST = 4096
_VALUES = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "augmented_assignment_expression": ("left", "right"),
    "assignment_pattern": ("left", "right"),
    "object_assignment_pattern": ("left", "right"),
    "required_parameter": ("pattern", "value"),
    "optional_parameter": ("pattern", "value"),
    "public_field_definition": ("name", "value"),
    "field_definition": ("property", "value"),
    "pair": ("key", "value"),
}
"""Kinds of nodes that assign a value to a name, with the fields for name and value."""
_TRANSPARENT = ("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression")


def code_texts(tree: Node) -> CodeTexts:
    """Return the texts of a module, and those that belong to names."""
    pieces = [
        (node.line, text)
        for node in tree.walk()
        if node.kind in ("binary_expression", "call_expression")
        and not (node.parent is not None and node.parent.kind == node.kind)
        and (text := constant(node)) is not None
    ]
    return CodeTexts(list(texts(tree)), pieces, list(_named_texts(tree)))


def constant(node: Node | None) -> str | None:
    """Return the text that a constant expression evaluates to; None for any other expression."""
    if node is None or node.end - node.start > _LONGEST:
        return None
    if node.kind in ("string", "template_string"):
        return (
            None if any(child.kind == "template_substitution" for child in node.children) else node.text[1:-1]
        )
    parts = node.parts()
    if node.kind in _TRANSPARENT:
        return constant(parts[0]) if parts else None
    if node.kind == "binary_expression" and any(child.kind == "+" for child in node.children):
        sides = [constant(side) for side in (node.child("left"), node.child("right"))]
        return None if None in sides else "".join(side for side in sides if side is not None)
    return _call_result(node) if node.kind == "call_expression" else None


def _call_result(node: Node) -> str | None:
    """Return the constant result of `[…].join(…)`, `atob(…)` or `Buffer.from(…, "base64")`; None for other calls."""
    function, arguments_node = node.child("function"), node.child("arguments")
    arguments = [constant(part) for part in arguments_node.parts()] if arguments_node is not None else []
    if function is None or None in arguments:
        return None
    member, owner = function.child("property"), function.child("object")
    if function.text == "atob" and arguments:
        return _decoded(arguments[0] or "", "base64")
    if function.text == "Buffer.from" and len(arguments) == 2:
        return _decoded(arguments[0] or "", arguments[1] or "")
    if member is None or owner is None:
        return None
    if member.text == "join" and owner.kind == "array":
        items = [constant(part) for part in owner.parts()]
        return None if None in items else (arguments[0] if arguments else ",").join(filter(None, items))  # type: ignore[union-attr]
    return constant(owner) if member.text in ("toString", "trim") else None


def _decoded(text: str, encoding: str) -> str | None:
    try:
        if encoding in ("base64", "base64url"):
            return base64.b64decode(text.replace("-", "+").replace("_", "/") + "==").decode()
        return bytes.fromhex(text).decode() if encoding == "hex" else None
    except ValueError:
        return None


def _named_texts(tree: Node) -> Iterator[tuple[str, str, int]]:
    for node in tree.walk():
        pairs: list[tuple[str, Node | None]] = []
        if node.kind in _VALUES:
            name, value = (node.child(field) for field in _VALUES[node.kind])
            pairs = [(_last_word(name), value)]
        elif node.kind in ("arguments", "array"):  # get("password", "…"), ["password", "…"]
            items = node.parts()
            pairs = [(constant(a) or "", b) for a, b in zip(items, items[1:], strict=False)]
        elif node.kind == "binary_expression":
            sides = node.child("left"), node.child("right")
            pairs = [(_last_word(a), b) for a, b in (sides, sides[::-1])]
        elif node.kind == "switch_statement" and (body := node.child("body")) is not None:
            pairs = [(_last_word(node.child("value")), part.child("value")) for part in body.parts()]
        for name_text, value in pairs:
            if name_text and (text := constant(value)) is not None and value is not None:
                yield name_text.lstrip("#"), text, value.line


def _last_word(node: Node | None) -> str:
    """Return the last word of a target: `a.b["c"]` is `c`."""
    while node is not None and node.kind in _TRANSPARENT:
        node = node.parts()[0] if node.parts() else None
    if node is None:
        return ""
    if node.kind == "subscript_expression":
        return constant(node.child("index")) or ""
    if node.kind == "member_expression":
        member = node.child("property")
        return member.text if member is not None else ""
    if node.kind == "string":
        return constant(node) or ""
    return node.text if node.kind.endswith("identifier") or node.kind.endswith("identifier_pattern") else ""
