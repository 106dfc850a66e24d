"""Finds variables that a script computes with although they may hold any text. Pure.

Bash evaluates the text of a variable in arithmetic: `a[$(program)]` among a tool's arguments would start a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.events import ToolDraft
from alita_tui.runtimes.bash.words import literal, names

_READING_COMMANDS = ("read", "mapfile", "readarray", "printf", "getopts")
_NUMBER_ITEM = re.compile(r"-?\d+|\{-?\d+\.\.-?\d+\}")
_COMPUTED = re.compile(r"\$\(\(.*\)\)|\$\{#[^}]*\}", re.DOTALL)
_NUMBER = re.compile(r"-?\d+")
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_COUNTS = re.compile(r"\b(wc|grep -c\w*|cksum|expr)\b|\blength\b|\btonumber\b|\bfloor\b")
_PROPERTY = re.compile(r"""jq\s+(?:-\w+\s+)*['"]?\.(\w+)(?:\s*//\s*-?\d+)?['"]?""")
_CHECKED = re.compile(r"""\^\(?[-+?\[\]0-9\\.*|(){},]+\)?\$?""")


def texts_computed_with(tree: Node, draft: ToolDraft) -> Iterator[tuple[str, int]]:
    """Yield each variable in arithmetic that the script does not show to be a number, with its line."""
    safe = _checked(tree) | _numbers(tree, draft)
    reported: set[tuple[str, int]] = set()
    for node in tree.walk():
        for variable in _computed(node):
            name = variable.text.strip("\"'${}")
            if (
                re.fullmatch(r"[A-Za-z_]\w*|[1-9@*]", name)
                and name not in safe | names("plain")
                and (name, variable.line) not in reported
            ):
                reported.add((name, variable.line))
                yield name, variable.line


def _computed(node: Node) -> Iterator[Node]:
    """Yield the variables that an arithmetic node evaluates itself."""
    double_parentheses = node.kind == "compound_statement" and node.text.startswith("((")
    if node.kind in ("arithmetic_expansion", "c_style_for_statement") or double_parentheses:
        body = node.child("body") if node.kind == "c_style_for_statement" else None
        for part in node.walk():
            in_body = body is not None and body.start <= part.start < body.end
            ancestors = [ancestor for ancestor in part.above() if ancestor.start >= node.start]
            in_text = any(
                ancestor.kind in ("command_substitution", "string_content") for ancestor in ancestors
            )
            is_length = any(ancestor.text.startswith("${#") for ancestor in ancestors)
            by_text = any(
                ancestor.kind == "subscript" and _keyed(ancestor, _array(ancestor)) for ancestor in ancestors
            )
            is_array_name = (
                part.parent is not None and part.parent.kind == "subscript" and part.field == "name"
            )
            if part.kind in ("variable_name", "special_variable_name") and not (
                in_body or in_text or is_length or by_text or is_array_name
            ):
                yield part
            elif (
                part.kind == "word"
                and node.kind != "c_style_for_statement"
                and not (in_text or is_length or by_text)
            ):
                yield part
    elif node.kind == "binary_expression" and any(child.text in _COMPARES for child in node.children):
        test = next((ancestor for ancestor in node.above() if ancestor.kind == "test_command"), None)
        if test is not None and test.text.startswith("[["):
            for part in node.children:
                yield from (inner for inner in part.walk() if inner.kind == "variable_name")
    elif node.kind == "subscript" and (index := node.child("index")) is not None:
        if not _keyed(node, _array(node)):
            yield from (part for part in index.walk() if part.kind == "variable_name")


def _array(subscript: Node) -> str:
    name = subscript.child("name")
    return name.text if name is not None else ""


def _keyed(node: Node, name: str) -> bool:
    """Return whether an array is declared as an associative array."""
    program = next((ancestor for ancestor in node.above() if ancestor.kind == "program"), node)
    return (
        re.search(rf"\b(declare|local|typeset)\s+-\w*A\w*\s[^;\n]*\b{re.escape(name)}\b", program.text)
        is not None
    )


def _checked(tree: Node) -> set[str]:
    """Return the variables that the script matches against a pattern of digits."""
    names_checked = set()
    for node in tree.walk():
        if node.kind == "binary_expression" and any(child.text == "=~" for child in node.children):
            left, right = node.child("left"), node.child("right")
            left, right = left or node.children[0], right or node.children[-1]
            pattern = right.text.strip("\"'")
            if pattern.endswith("$") and _CHECKED.fullmatch(pattern):
                names_checked |= set(re.findall(r"[A-Za-z_]\w*", left.text))
    return names_checked


def _numbers(tree: Node, draft: ToolDraft) -> set[str]:
    """Return the variables that are only assigned numbers."""
    only_numbers: dict[str, bool] = {}
    for node in tree.walk():
        if node.kind == "variable_assignment" and (name := node.child("name")) is not None:
            value = node.child("value")
            only_numbers[name.text] = only_numbers.get(name.text, True) and _is_number(value, draft)
        elif node.kind == "for_statement" and (name := node.child("variable")) is not None:
            values = [child for child in node.children if child.field == "value"]
            number = all(
                _NUMBER_ITEM.fullmatch(value.text) or _is_number(value, draft) or _is_places(value, tree)
                for value in values
            )
            only_numbers[name.text] = only_numbers.get(name.text, True) and bool(values) and number
        elif node.kind == "command" and (node.child("name") or node).text in _READING_COMMANDS:
            for child in node.children:
                if (
                    child.field == "argument"
                    and (word := literal(child))
                    and re.fullmatch(r"[A-Za-z_]\w*", word)
                ):
                    only_numbers[word] = False
    return {name for name, number in only_numbers.items() if number}


def _is_places(value: Node, tree: Node) -> bool:
    """Return whether a value is the list of indices of an indexed array."""
    indices = re.fullmatch(r"\"?\$\{!(\w+)\[[@*]\]\}\"?", value.text)
    return indices is not None and not _keyed(tree, indices[1])


def _is_number(value: Node | None, draft: ToolDraft) -> bool:
    if value is None:
        return True
    text = value.text.strip("\"'")
    if _NUMBER.fullmatch(text) or value.kind == "arithmetic_expansion" or _COMPUTED.fullmatch(text):
        return True
    substitution = re.fullmatch(r"\$\((.*)\)", text, re.S)
    if substitution is None:
        return False
    if property_match := _PROPERTY.match(substitution[1].strip()):
        properties = draft.input_schema.get("properties") if isinstance(draft.input_schema, dict) else None
        schema = properties.get(property_match[1]) if isinstance(properties, dict) else None
        if isinstance(schema, dict) and schema.get("type") in ("integer", "number", "boolean"):
            return True
    return _COUNTS.search(substitution[1]) is not None
