"""Variables that a script computes with although they may hold any text. Pure.

Bash evaluates the text of a variable in arithmetic: `a[$(program)]` among a tool's arguments would start a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.events import ToolDraft
from alita_tui.runtimes.bash.words import literal, names

_FILLS = ("read", "mapfile", "readarray", "printf", "getopts")
_LISTED = re.compile(r"-?\d+|\{-?\d+\.\.-?\d+\}")
_COMPUTED = re.compile(r"\$\(\(.*\)\)|\$\{#[^}]*\}", re.DOTALL)
_NUMBER = re.compile(r"-?\d+")
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_COUNTS = re.compile(r"\b(wc|grep -c\w*|cksum|expr)\b|\blength\b|\btonumber\b|\bfloor\b")
_PROPERTY = re.compile(r"""jq\s+(?:-\w+\s+)*['"]?\.(\w+)(?:\s*//\s*-?\d+)?['"]?""")
_CHECKED = re.compile(r"""\^\(?[-+?\[\]0-9\\.*|(){},]+\)?\$?""")


def texts_computed_with(tree: Node, draft: ToolDraft) -> Iterator[tuple[str, int]]:
    """Yield each variable in arithmetic of which the script does not show that it is a number, with its line."""
    safe = _checked(tree) | _numbers(tree, draft)
    seen: set[tuple[str, int]] = set()
    for node in tree.walk():
        for one in _computed(node):
            name = one.text.strip("\"'${}")
            if (
                re.fullmatch(r"[A-Za-z_]\w*|[1-9@*]", name)
                and name not in safe | names("plain")
                and (name, one.line) not in seen
            ):
                seen.add((name, one.line))
                yield name, one.line


def _computed(node: Node) -> Iterator[Node]:
    """Yield the variables in a node that is arithmetic, as far as they stand in it themselves."""
    double = node.kind == "compound_statement" and node.text.startswith("((")
    if node.kind in ("arithmetic_expansion", "c_style_for_statement") or double:
        body = node.child("body") if node.kind == "c_style_for_statement" else None
        for one in node.walk():
            inside = body is not None and body.start <= one.start < body.end
            around = [up for up in one.above() if up.start >= node.start]
            within = any(up.kind in ("command_substitution", "string_content") for up in around)
            counted = any(up.text.startswith("${#") for up in around)
            keyed = any(up.kind == "subscript" and _keyed(up, _array(up)) for up in around)
            array = one.parent is not None and one.parent.kind == "subscript" and one.field == "name"
            if one.kind in ("variable_name", "special_variable_name") and not (
                inside or within or counted or keyed or array
            ):
                yield one
            elif (
                one.kind == "word"
                and node.kind != "c_style_for_statement"
                and not (within or counted or keyed)
            ):
                yield one
    elif node.kind == "binary_expression" and any(child.text in _COMPARES for child in node.children):
        tested = next((up for up in node.above() if up.kind == "test_command"), None)
        if tested is not None and tested.text.startswith("[["):
            for one in node.children:
                yield from (part for part in one.walk() if part.kind == "variable_name")
    elif node.kind == "subscript" and (index := node.child("index")) is not None:
        if not _keyed(node, _array(node)):
            yield from (one for one in index.walk() if one.kind == "variable_name")


def _array(subscript: Node) -> str:
    name = subscript.child("name")
    return name.text if name is not None else ""


def _keyed(node: Node, name: str) -> bool:
    """Return whether an array is declared as one whose keys are texts."""
    whole = next((up for up in node.above() if up.kind == "program"), node)
    return (
        re.search(rf"\b(declare|local|typeset)\s+-\w*A\w*\s[^;\n]*\b{re.escape(name)}\b", whole.text)
        is not None
    )


def _checked(tree: Node) -> set[str]:
    """Return variables that the script holds against a pattern of digits."""
    found = set()
    for node in tree.walk():
        if node.kind == "binary_expression" and any(child.text == "=~" for child in node.children):
            left, right = node.child("left"), node.child("right")
            left, right = left or node.children[0], right or node.children[-1]
            pattern = right.text.strip("\"'")
            if pattern.endswith("$") and _CHECKED.fullmatch(pattern):
                found |= set(re.findall(r"[A-Za-z_]\w*", left.text))
    return found


def _numbers(tree: Node, draft: ToolDraft) -> set[str]:
    """Return variables that are only ever given numbers."""
    given: dict[str, bool] = {}
    for node in tree.walk():
        if node.kind == "variable_assignment" and (name := node.child("name")) is not None:
            value = node.child("value")
            given[name.text] = given.get(name.text, True) and _is_number(value, draft)
        elif node.kind == "for_statement" and (name := node.child("variable")) is not None:
            values = [child for child in node.children if child.field == "value"]
            number = all(
                _LISTED.fullmatch(one.text) or _is_number(one, draft) or _is_places(one, tree)
                for one in values
            )
            given[name.text] = given.get(name.text, True) and bool(values) and number
        elif node.kind == "command" and (node.child("name") or node).text in _FILLS:
            for child in node.children:
                if (
                    child.field == "argument"
                    and (word := literal(child))
                    and re.fullmatch(r"[A-Za-z_]\w*", word)
                ):
                    given[word] = False
    return {name for name, number in given.items() if number}


def _is_places(value: Node, tree: Node) -> bool:
    """Return whether a value stands for the places of an array whose keys are numbers."""
    listed = re.fullmatch(r"\"?\$\{!(\w+)\[[@*]\]\}\"?", value.text)
    return listed is not None and not _keyed(tree, listed[1])


def _is_number(value: Node | None, draft: ToolDraft) -> bool:
    if value is None:
        return True
    text = value.text.strip("\"'")
    if _NUMBER.fullmatch(text) or value.kind == "arithmetic_expansion" or _COMPUTED.fullmatch(text):
        return True
    inner = re.fullmatch(r"\$\((.*)\)", text, re.S)
    if inner is None:
        return False
    if hit := _PROPERTY.match(inner[1].strip()):
        listed = draft.input_schema.get("properties") if isinstance(draft.input_schema, dict) else None
        schema = listed.get(hit[1]) if isinstance(listed, dict) else None
        if isinstance(schema, dict) and schema.get("type") in ("integer", "number", "boolean"):
            return True
    return _COUNTS.search(inner[1]) is not None
