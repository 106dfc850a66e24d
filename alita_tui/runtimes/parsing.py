"""The syntax tree of a draft in another language than Python, for its review."""

from __future__ import annotations

from alita_tui.confined.syntax import Node, syntax_tree
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.port import LARGEST_TEXT


def parsed_tree(
    notes: Notes, code: str, language: str, fault: str, *, largest: int = LARGEST_TEXT
) -> Node | None:
    """Return the tree of some code; None where it cannot be parsed, which is reported.

    `fault` says what code with a syntax error is, and `largest` is in bytes (UTF-8).
    """
    if len(code.encode("utf-8", "surrogatepass")) > largest:
        notes.block("ast/syntax", f"code: it is longer than {largest} bytes")
        return None
    tree = syntax_tree(code, language)
    if tree is None:
        notes.block("ast/syntax", "code: it cannot be parsed")
        return None
    if error := next((node for node in tree.walk() if node.kind == "ERROR"), None):
        notes.block("ast/syntax", f"code: it is {fault}, near `{error.text[:60].strip()}`", error.line)
        return None
    return tree
