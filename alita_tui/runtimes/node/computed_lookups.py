"""Follows values that a module looks up by a computed name, and finds where such a value may be called. Pure.

`f[name]` of a function can be `Function`, so a call of it may run text as code.
"""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.runtimes.node.names import FUNCTIONS, known, text_of

_ROUNDS = 8
_INNER = frozenset(
    "parenthesized_expression await_expression as_expression satisfies_expression non_null_expression".split()
)
_BINDING = frozenset("identifier shorthand_property_identifier_pattern".split())
_ASSIGNS = frozenset(
    "variable_declarator assignment_expression assignment_pattern for_in_statement object_assignment_pattern".split()
)
_TAKES_OUT = frozenset("get at pop shift find findLast next".split())
_PASSES_ON = frozenset("call apply bind".split())


def plain_index(node: Node) -> bool:
    """Return True for an index that can only name an element."""
    harmful = ("", *known("members"), *known("inside"), "prototype")
    return node.kind == "number" or (
        node.kind in ("string", "template_string") and (text_of(node) or "") not in harmful
    )


class ComputedLookups:
    """Names and properties of a module that may hold a value that was looked up by a computed name."""

    def __init__(self, tree: Node) -> None:
        self.names: set[str] = set()
        self.properties: set[str] = set()
        self._functions: dict[str, Node] = {}
        nodes = list(tree.walk())
        for node in nodes:
            name = node.child("name") if node.kind in FUNCTIONS else None
            if (
                node.kind == "variable_declarator"
                and (value := node.child("value"))
                and value.kind in FUNCTIONS
            ):
                name, node = node.child("name"), value
            if name is not None:
                self._functions[name.text] = node
        for _ in range(_ROUNDS):
            size_before = len(self.names) + len(self.properties)
            for node in nodes:
                self._follow(node)
            if len(self.names) + len(self.properties) == size_before:
                break

    def holds(self, node: Node | None, depth: int = 0) -> bool:
        """Return whether an expression may be or contain such a value."""
        if node is None or depth > 40:
            return False
        parts = node.parts()
        if node.kind == "subscript_expression":
            index = node.child("index")
            return (index is not None and not plain_index(index)) or self.holds(
                node.child("object"), depth + 1
            )
        if node.kind == "identifier":
            return node.text in self.names
        if node.kind in _INNER:
            return bool(parts) and self.holds(parts[0], depth + 1)
        if node.kind == "sequence_expression":
            return bool(parts) and self.holds(parts[-1], depth + 1)
        if node.kind == "ternary_expression":
            return any(self.holds(node.child(branch), depth + 1) for branch in ("consequence", "alternative"))
        if node.kind == "binary_expression":
            word = next((child.text for child in node.children if not child.named), "")
            return word in ("||", "&&", "??") and any(self.holds(part, depth + 1) for part in parts)
        if node.kind == "member_expression":
            member = node.child("property")
            holds_property = member is not None and member.text in self.properties
            return holds_property or self.holds(node.child("object"), depth + 1)
        if node.kind == "call_expression":
            function = node.child("function")
            member = function.child("property") if function is not None else None
            if function is None or member is None or member.text not in _TAKES_OUT | _PASSES_ON:
                return False
            return self.holds(function.child("object"), depth + 1)
        if node.kind in ("array", "spread_element", "object", "arguments"):
            return any(self.holds(part, depth + 1) for part in parts)
        return node.kind == "pair" and self.holds(node.child("value"), depth + 1)

    def _follow(self, node: Node) -> None:
        """Follow such values through one assignment, loop, default, property or call."""
        if node.kind in _ASSIGNS:
            target = node.child("name") or node.child("left")
            if target is not None and self.holds(node.child("value") or node.child("right")):
                self._bind(target)
        elif node.kind in ("pair", "field_definition", "public_field_definition"):
            name = node.child("key") or node.child("property") or node.child("name")
            if name is not None and self.holds(node.child("value")):
                self.properties.add(name.text.strip("\"'"))
        elif node.kind == "call_expression":
            self._hand_over(node)

    def _bind(self, target: Node) -> None:
        if target.kind == "member_expression":
            member = target.child("property")
            if member is not None:
                self.properties.add(member.text)
        elif target.kind != "subscript_expression":
            self.names |= {part.text for part in target.walk() if part.kind in _BINDING}

    def _hand_over(self, call: Node) -> None:
        callee, arguments = call.child("function"), call.child("arguments")
        while callee is not None and callee.kind == "parenthesized_expression" and callee.parts():
            callee = callee.parts()[-1]
        if callee is None or arguments is None:
            return
        function = callee if callee.kind in FUNCTIONS else self._functions.get(callee.text)
        if function is not None and self.holds(arguments):
            self._bind_parameters(function)
        member = callee.child("property") if callee.kind == "member_expression" else None
        if member is not None and member.text in known("calls_back") and self.holds(callee.child("object")):
            for part in arguments.parts():
                if part.kind in FUNCTIONS:
                    self._bind_parameters(part)

    def _bind_parameters(self, function: Node) -> None:
        for field in ("parameters", "parameter"):
            if (parameters := function.child(field)) is not None:
                self.names |= {part.text for part in parameters.walk() if part.kind in _BINDING}

    def called(self, tree: Node) -> Iterator[Node]:
        """Yield each expression that is called, also by `new`, and may be such a value."""
        for node in tree.walk():
            maker = node.child("constructor") if node.kind == "new_expression" else None
            callee = node.child("function") if node.kind == "call_expression" else maker
            while callee is not None and callee.kind == "parenthesized_expression" and callee.parts():
                callee = callee.parts()[-1]
            if callee is None:
                continue
            member = callee.child("property") if callee.kind == "member_expression" else None
            if member is not None:
                passes_on = member.text in _PASSES_ON and self.holds(callee.child("object"))
                if passes_on or member.text in self.properties:
                    yield callee
            elif callee.kind == "call_expression":
                inner = callee.child("function")
                member_name = inner.child("property") if inner is not None else None
                if member_name is not None and member_name.text in _TAKES_OUT | _PASSES_ON:
                    yield callee
            elif callee.kind != "super" and self.holds(callee):
                yield callee
