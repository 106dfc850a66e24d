"""Words, commands and variables of a Bash script, as far as they are literals. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from alita_tui.confined.syntax import Node

_PLAIN = frozenset(
    "word number string_content regex extglob_pattern variable_name special_variable_name".split()
)
_ASSIGNING = frozenset("read mapfile readarray getopts local declare typeset readonly export".split())
_READING = frozenset(
    "simple_expansion expansion subscript binary_expression unary_expression compound_statement "
    "arithmetic_expansion postfix_expression ternary_expression".split()
)
"""Nodes in which a variable's name stands for its value."""


class Command(NamedTuple):
    """One command of the script, or a command that another program starts."""

    name: str | None
    """None where it is not a literal."""
    arguments: tuple[Node, ...]
    node: Node
    through: str = ""
    """The program that starts it; empty for the shell."""


@cache
def table() -> dict[str, Any]:
    """Return the table of utilities and of the shell's own words."""
    import tomllib

    return tomllib.loads(files(__package__ or "").joinpath("utilities.toml").read_text("utf-8"))


@cache
def names(key: str) -> frozenset[str]:
    """Return a list of the table."""
    return frozenset(table()[key].split())


def literal(node: Node | None) -> str | None:
    """Return the text of a word; None where the shell expands it."""
    if node is None:
        return None
    if node.kind == "raw_string":
        return node.text[1:-1]
    if node.kind in ("string", "concatenation", "command_name"):
        parts = [literal(child) for child in node.children if child.named]
        inner = "".join(child.text for child in node.children if child.named)
        if node.kind == "string" and len(node.text) - 2 != len(inner):
            return None  # it holds characters that no part of it stands for
        return None if None in parts else "".join(part for part in parts if part is not None)
    if node.kind in _PLAIN and not any(child.named for child in node.children):
        text = node.text
        if node.kind == "string_content":
            return re.sub(r'\\([$`"\\\n])', r"\1", text)
        if re.search(r"[$`*?\[\]{}~]", re.sub(r"\\.", "", text)) and node.kind == "word":
            return None if re.search(r"[$`{}]", re.sub(r"\\.", "", text)) else text
        return re.sub(r"\\(.)", r"\1", text)
    return None


def shown(node: Node) -> str:
    """Return a word as it is written, without its quotes."""
    return literal(node) or node.text


def commands(tree: Node) -> Iterator[Command]:
    """Yield every command, including those that other commands start."""
    for node in tree.walk():
        if node.kind == "command":
            arguments = tuple(child for child in node.children if child.field == "argument")
            yield from _started(Command(literal(node.child("name")), arguments, node))
        elif node.kind in ("declaration_command", "unset_command"):
            word = node.children[0].text if node.children else ""
            yield Command(word, tuple(child for child in node.children if child.named), node)


def _started(command: Command) -> Iterator[Command]:
    yield command
    if command.name not in names("starts") or len(command.through) > 200:
        return
    remaining = list(command.arguments)
    while remaining and (text := literal(remaining[0])) is not None and text.startswith("-"):
        remaining.pop(0)
        options_with_value = {
            "xargs": ("-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a"),
            "timeout": ("-k", "-s"),
        }
        if text in options_with_value.get(command.name or "", ()) and remaining:
            remaining.pop(0)
    if command.name == "timeout" and remaining:
        remaining.pop(0)
    if not remaining:
        return
    through = f"{command.through} {command.name}".strip()
    yield from _started(Command(literal(remaining[0]), tuple(remaining[1:]), command.node, through))


def functions(tree: Node) -> dict[str, Node]:
    """Return the functions that the script defines."""
    definitions = (definition for definition in tree.walk() if definition.kind == "function_definition")
    return {
        name: definition
        for definition in definitions
        if (name := literal(definition.child("name"))) is not None
    }


def assigned(tree: Node) -> set[str]:
    """Return the names of the variables that the script assigns."""
    assigned_names: set[str] = set()
    for node in tree.walk():
        if node.kind in ("variable_assignment", "array_assignment"):
            name = node.child("name")
            if name is not None:
                assigned_names.add(name.text.partition("[")[0])
        elif node.kind == "for_statement" and (variable := node.child("variable")) is not None:
            assigned_names.add(variable.text)
    for command in commands(tree):
        words = [literal(argument) or "" for argument in command.arguments]
        if command.name in _ASSIGNING:
            assigned_names |= {
                word.partition("=")[0] for word in words if re.fullmatch(r"[A-Za-z_]\w*(=.*)?", word, re.S)
            }
        elif command.name == "printf" and words[:1] and words[0].startswith("-v"):
            assigned_names.add(words[0][2:] or next(iter(words[1:2]), ""))
    return assigned_names


def used(tree: Node) -> Iterator[tuple[str, int]]:
    """Yield each variable that is read, with its line."""
    for node in tree.walk():
        if node.kind in ("variable_name", "special_variable_name") and node.parent is not None:
            if node.parent.kind in _READING:
                yield node.text, node.line
