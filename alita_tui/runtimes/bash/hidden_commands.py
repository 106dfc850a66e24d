"""Finds where Bash may parse a script differently from the parser that the review uses. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node

_BEGINS = re.compile(rb"\\.|\$\(|\$\[|`", re.DOTALL)
_SUBSTITUTIONS = ("command_substitution", "arithmetic_expansion", "process_substitution")


def hidden_commands(tree: Node) -> Iterator[tuple[str, int]]:
    """Yield text that begins a command for Bash but is none in the tree, with its line."""
    literal_spans: list[tuple[int, int]] = []
    known_starts: set[int] = set()
    for node in tree.walk():
        if node.kind in ("comment", "raw_string", "ansi_c_string") or _is_quoted(node):
            literal_spans.append((node.start, node.end))
        elif node.kind in _SUBSTITUTIONS:
            known_starts.add(node.start)
            if node.text.startswith("`"):
                known_starts.add(node.end - 1)
    for match in _BEGINS.finditer(tree.source):
        position = match.start()
        if (
            match[0].startswith(b"\\")
            or position in known_starts
            or any(start <= position < end for start, end in literal_spans)
        ):
            continue
        yield match[0].decode(), tree.source.count(b"\n", 0, position) + 1


def _is_quoted(node: Node) -> bool:
    """Return whether a node is the text of a heredoc in which nothing is expanded."""
    if node.kind != "heredoc_body" or node.parent is None:
        return False
    start = next((child for child in node.parent.children if child.kind == "heredoc_start"), None)
    return start is not None and start.text[:1] in ("'", '"', "\\")
