"""What a module is written with, for the search for private data. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.runtimes.node.reach import texts
from alita_tui.runtimes.private_data import Said

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
"""What gives a value to a name, and the fields that are name and value."""
_THROUGH = ("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression")


def said(tree: Node) -> Said:
    """Return texts, pieces and what is given to names."""
    pieces = [
        (node.line, text)
        for node in tree.walk()
        if node.kind in ("binary_expression", "call_expression")
        and not (node.parent is not None and node.parent.kind == node.kind)
        and (text := constant(node)) is not None
    ]
    return Said(list(texts(tree)), pieces, list(_given(tree)))


def constant(node: Node | None) -> str | None:
    """Return the text that an expression of constants stands for; None for any other."""
    if node is None or node.end - node.start > _LONGEST:
        return None
    if node.kind in ("string", "template_string"):
        return (
            None if any(child.kind == "template_substitution" for child in node.children) else node.text[1:-1]
        )
    parts = node.parts()
    if node.kind in _THROUGH:
        return constant(parts[0]) if parts else None
    if node.kind == "binary_expression" and any(child.kind == "+" for child in node.children):
        sides = [constant(one) for one in (node.child("left"), node.child("right"))]
        return None if None in sides else "".join(side for side in sides if side is not None)
    return _called(node) if node.kind == "call_expression" else None


def _called(node: Node) -> str | None:
    """Return what `[…].join(…)`, `atob(…)` and `Buffer.from(…, "base64")` stand for, where it is written out."""
    called, given = node.child("function"), node.child("arguments")
    taken = [constant(part) for part in given.parts()] if given is not None else []
    if called is None or None in taken:
        return None
    member, owner = called.child("property"), called.child("object")
    if called.text == "atob" and taken:
        return _decoded(taken[0] or "", "base64")
    if called.text == "Buffer.from" and len(taken) == 2:
        return _decoded(taken[0] or "", taken[1] or "")
    if member is None or owner is None:
        return None
    if member.text == "join" and owner.kind == "array":
        items = [constant(part) for part in owner.parts()]
        return None if None in items else (taken[0] if taken else ",").join(filter(None, items))  # type: ignore[union-attr]
    return constant(owner) if member.text in ("toString", "trim") else None


def _decoded(text: str, how: str) -> str | None:
    try:
        if how in ("base64", "base64url"):
            return base64.b64decode(text.replace("-", "+").replace("_", "/") + "==").decode()
        return bytes.fromhex(text).decode() if how == "hex" else None
    except ValueError:
        return None


def _given(tree: Node) -> Iterator[tuple[str, str, int]]:
    for node in tree.walk():
        pairs: list[tuple[str, Node | None]] = []
        if node.kind in _VALUES:
            name, value = (node.child(field) for field in _VALUES[node.kind])
            pairs = [(_last(name), value)]
        elif node.kind in ("arguments", "array"):  # get("password", "…"), ["password", "…"]
            items = node.parts()
            pairs = [(constant(a) or "", b) for a, b in zip(items, items[1:], strict=False)]
        elif node.kind == "binary_expression":
            sides = node.child("left"), node.child("right")
            pairs = [(_last(a), b) for a, b in (sides, sides[::-1])]
        elif node.kind == "switch_statement" and (body := node.child("body")) is not None:
            pairs = [(_last(node.child("value")), part.child("value")) for part in body.parts()]
        for known, value in pairs:
            if known and (text := constant(value)) is not None and value is not None:
                yield known.lstrip("#"), text, value.line


def _last(node: Node | None) -> str:
    """Return the last word of a target: `a.b["c"]` is `c`."""
    while node is not None and node.kind in _THROUGH:
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
