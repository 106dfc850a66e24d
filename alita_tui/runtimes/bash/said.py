"""What a script is written with, for the search for private data. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.runtimes.bash.programs import programs
from alita_tui.runtimes.bash.review import texts
from alita_tui.runtimes.bash.words import Command, commands, literal
from alita_tui.runtimes.private_data import Said

_WORD = re.compile(r"-{0,2}([\w-]+)=(.+)", re.DOTALL)
_INSIDE = re.compile(r"([\w-]+)[\"']?\s*[:=]{1,2}\s*[\"']([^\"'\n]+)[\"']")
"""`"password": "…"` in a text, and `password == "…"` in a program."""


def said(tree: Node) -> Said:
    """Return texts, pieces and what is given to names."""
    pieces = [
        (node.line, text)
        for node in tree.walk()
        if node.kind == "concatenation" and (text := literal(node)) is not None
    ]
    return Said(list(texts(tree)), pieces, list(_given(tree)))


def _given(tree: Node) -> Iterator[tuple[str, str, int]]:
    for node in tree.walk():
        pairs: list[tuple[str, Node | None]] = []
        if node.kind == "variable_assignment":
            target = node.child("name")
            index = target.child("index") if target is not None and target.kind == "subscript" else None
            pairs = [(literal(index or target) or "", node.child("value"))]
        elif node.kind == "expansion":
            kept = [child for child in node.children if child.named]
            pairs = [(kept[0].text, kept[-1])] if len(kept) > 1 else []
        elif node.kind == "binary_expression":
            sides = node.child("left"), node.child("right")
            pairs = [(_variable(a), b) for a, b in (sides, sides[::-1])]
        elif node.kind == "case_statement":
            name = _variable(node.child("value"))
            pairs = [(name, child.child("value")) for child in node.children if child.kind == "case_item"]
        elif node.kind == "array":  # ([password]='…')
            for part in node.parts():
                if hit := re.fullmatch(r"\[[\"']?([\w-]+)[\"']?\]=[\"']?(.*?)[\"']?", part.text, re.DOTALL):
                    yield hit[1], hit[2], part.line
        for name, value in pairs:
            if name and (text := literal(value)) is not None and value is not None:
                yield name, text, value.line
    for command in commands(tree):
        yield from _told(command)


def _told(command: Command) -> Iterator[tuple[str, str, int]]:
    """Yield what a command is told for a name: by an option, by `--arg`, in its program."""
    words = [literal(argument) or "" for argument in command.arguments]
    for name, text in zip(words, words[1:], strict=False):
        yield name.lstrip("-"), text, command.node.line
    for word in words:
        if hit := _WORD.fullmatch(word):
            yield hit[1], hit[2], command.node.line
    for program in programs(command) if command.name in ("awk", "jq") else ():
        for inner in _INSIDE.finditer(program.word or program.node.text):
            yield inner[1], inner[2], program.node.line


def _variable(node: Node | None) -> str:
    """Return the name of the variable that a word stands for; empty for another word."""
    hit = re.fullmatch(r"\"?\$\{?(\w+)(:?-[^}]*)?\}?\"?", node.text) if node is not None else None
    return hit[1] if hit else ""
