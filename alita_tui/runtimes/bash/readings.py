"""Where Bash may read a script otherwise than the parser that the review uses. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node

_BEGINS = re.compile(rb"\\.|\$\(|\$\[|`", re.DOTALL)
_SUBSTITUTIONS = ("command_substitution", "arithmetic_expansion", "process_substitution")


def read_twice(tree: Node) -> Iterator[tuple[str, int]]:
    """Yield what begins a command for Bash and is none in the tree, with its line."""
    plain: list[tuple[int, int]] = []
    begins: set[int] = set()
    for node in tree.walk():
        if node.kind in ("comment", "raw_string", "ansi_c_string") or _is_quoted(node):
            plain.append((node.start, node.end))
        elif node.kind in _SUBSTITUTIONS:
            begins.add(node.start)
            if node.text.startswith("`"):
                begins.add(node.end - 1)
    for hit in _BEGINS.finditer(tree.source):
        at = hit.start()
        if hit[0].startswith(b"\\") or at in begins or any(start <= at < end for start, end in plain):
            continue
        yield hit[0].decode(), tree.source.count(b"\n", 0, at) + 1


def _is_quoted(node: Node) -> bool:
    """Return whether a node is the text of a heredoc in which nothing is replaced."""
    if node.kind != "heredoc_body" or node.parent is None:
        return False
    start = next((child for child in node.parent.children if child.kind == "heredoc_start"), None)
    return start is not None and start.text[:1] in ("'", '"', "\\")
