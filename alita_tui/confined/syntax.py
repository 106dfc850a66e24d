"""Syntax trees of Bash, JavaScript and TypeScript: tree-sitter as a filter, and the function that calls it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module

import msgspec

from alita_tui.confined.limits import confine
from alita_tui.confined.run import filtered_now

MOST_NODES = 400_000
_GRAMMARS = {
    "bash": ("tree_sitter_bash", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
Row = tuple[str, int, int, int, int, bool, str]
"""A node, in the order of the source: kind, start and end byte, line, index of its parent's row (-1 for none), whether
it is named, and the name of the parent's field that holds it."""


class Node:
    """A node of a syntax tree."""

    __slots__ = ("children", "end", "field", "kind", "line", "named", "parent", "source", "start")

    def __init__(self, row: Row, parent: Node | None, source: bytes) -> None:
        self.kind, self.start, self.end, self.line, _, self.named, self.field = row
        self.parent = parent
        self.source = source
        self.children: list[Node] = []

    @property
    def text(self) -> str:
        """The source of the node."""
        return self.source[self.start : self.end].decode("utf-8", "surrogatepass")

    @property
    def last_line(self) -> int:
        """The line on which it ends."""
        return self.line + self.source.count(b"\n", self.start, self.end)

    def child(self, field: str) -> Node | None:
        """Return the first child in a field; None if there is none."""
        return next((child for child in self.children if child.field == field), None)

    def parts(self) -> list[Node]:
        """Return the named children without comments."""
        return [child for child in self.children if child.named and child.kind != "comment"]

    def walk(self) -> Iterator[Node]:
        """Yield the node and its descendants, in the order of the source."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += reversed(node.children)

    def above(self) -> Iterator[Node]:
        """Yield its ancestors, the parent first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


@lru_cache(maxsize=64)
def syntax_tree(code: str, language: str) -> Node | None:
    """Return the tree of a piece of code; None if it is too large or the parser did not finish. Blocks.

    Code that cannot be parsed is a node of the kind `ERROR`, or an empty node.
    """
    source = code.encode("utf-8", "surrogatepass")
    output, succeeded = filtered_now("alita_tui.confined.syntax", (language,), source)
    try:
        rows = msgspec.json.decode(output, type=list[Row]) if succeeded else []
    except msgspec.DecodeError:
        return None
    nodes: list[Node] = []
    for row in rows:
        if not -1 <= row[4] < len(nodes) or not 0 <= row[1] <= row[2] <= len(source):
            return None
        parent = nodes[row[4]] if row[4] >= 0 else None
        nodes.append(Node(row, parent, source))
        if parent is not None:
            parent.children.append(nodes[-1])
    return nodes[0] if nodes else None


def main() -> None:
    """Filter for `syntax_tree`: arguments are CPU seconds, bytes of memory and the language."""
    seconds, memory, language = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    source = sys.stdin.buffer.read()
    from tree_sitter import Language, Parser

    module, name = _GRAMMARS[language]
    grammar = Language(getattr(import_module(module), name)())
    confine(seconds, memory)
    cursor = Parser(grammar).parse(source).walk()
    rows: list[Row] = []
    ancestors: list[int] = []
    while True:
        node = cursor.node
        assert node is not None
        kind = "ERROR" if node.is_missing else node.type
        parent_index = ancestors[-1] if ancestors else -1
        field = cursor.field_name or ""
        rows.append(
            (
                kind,
                node.start_byte,
                node.end_byte,
                node.start_point[0] + 1,
                parent_index,
                node.is_named,
                field,
            )
        )
        if len(rows) > MOST_NODES:
            sys.exit(1)
        if cursor.goto_first_child():
            ancestors.append(len(rows) - 1)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                sys.stdout.buffer.write(msgspec.json.encode(rows))
                return
            ancestors.pop()
