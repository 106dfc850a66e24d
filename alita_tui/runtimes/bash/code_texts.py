"""The texts in a script, for the search for private data. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.runtimes.bash.programs import programs
from alita_tui.runtimes.bash.review import texts
from alita_tui.runtimes.bash.words import Command, commands, literal
from alita_tui.runtimes.private_data import CodeTexts

_WORD = re.compile(r"-{0,2}([\w-]+)=(.+)", re.DOTALL)
_INSIDE = re.compile(r"([\w-]+)[\"']?\s*[:=]{1,2}\s*[\"']([^\"'\n]+)[\"']")
"""`"password": "…"` in a text, and `password == "…"` in a program."""


def code_texts(tree: Node) -> CodeTexts:
    """Return the texts of a script, and those that belong to names."""
    pieces = [
        (node.line, text)
        for node in tree.walk()
        if node.kind == "concatenation" and (text := literal(node)) is not None
    ]
    return CodeTexts(list(texts(tree)), pieces, list(_named_texts(tree)))


def _named_texts(tree: Node) -> Iterator[tuple[str, str, int]]:
    for node in tree.walk():
        pairs: list[tuple[str, Node | None]] = []
        if node.kind == "variable_assignment":
            target = node.child("name")
            index = target.child("index") if target is not None and target.kind == "subscript" else None
            pairs = [(literal(index or target) or "", node.child("value"))]
        elif node.kind == "expansion":
            parts = [child for child in node.children if child.named]
            pairs = [(parts[0].text, parts[-1])] if len(parts) > 1 else []
        elif node.kind == "binary_expression":
            sides = node.child("left"), node.child("right")
            pairs = [(_variable(a), b) for a, b in (sides, sides[::-1])]
        elif node.kind == "case_statement":
            name = _variable(node.child("value"))
            pairs = [(name, child.child("value")) for child in node.children if child.kind == "case_item"]
        elif node.kind == "array":  # ([password]='…')
            for part in node.parts():
                if item_match := re.fullmatch(
                    r"\[[\"']?([\w-]+)[\"']?\]=[\"']?(.*?)[\"']?", part.text, re.DOTALL
                ):
                    yield item_match[1], item_match[2], part.line
        for name, value in pairs:
            if name and (text := literal(value)) is not None and value is not None:
                yield name, text, value.line
    for command in commands(tree):
        yield from _named_in_command(command)


def _named_in_command(command: Command) -> Iterator[tuple[str, str, int]]:
    """Yield the texts that a command gets for a name: by an option, by `--arg`, in its program."""
    words = [literal(argument) or "" for argument in command.arguments]
    for name, text in zip(words, words[1:], strict=False):
        yield name.lstrip("-"), text, command.node.line
    for word in words:
        if assignment := _WORD.fullmatch(word):
            yield assignment[1], assignment[2], command.node.line
    for program in programs(command) if command.name in ("awk", "jq") else ():
        for assignment_inside in _INSIDE.finditer(program.word or program.node.text):
            yield assignment_inside[1], assignment_inside[2], program.node.line


def _variable(node: Node | None) -> str:
    """Return the name of the variable that a word consists of; an empty string for another word."""
    match = re.fullmatch(r"\"?\$\{?(\w+)(:?-[^}]*)?\}?\"?", node.text) if node is not None else None
    return match[1] if match else ""
