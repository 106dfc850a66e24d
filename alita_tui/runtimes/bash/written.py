"""The values that a script is written with. Pure."""

from __future__ import annotations

import re

from alita_tui.confined.syntax import syntax_tree
from alita_tui.runtimes.bash.words import literal
from alita_tui.runtimes.port import Constant

_INNER = re.compile(r'"((?:[^"\\]|\\.)*)"|(?<![\w.$])(\d+(?:\.\d+)?)(?!\w)')


def written(code: str) -> list[Constant]:
    """Return the texts and numbers of a script; what stands in a text in quotes counts as well."""
    tree = syntax_tree(code, "bash")
    found: list[Constant] = []
    for node in tree.walk() if tree is not None else ():
        if node.kind in ("string", "raw_string", "ansi_c_string", "heredoc_body") and (
            text := literal(node) or node.text
        ):
            refuses = any(
                one.kind == "command" and one.text.startswith(("echo", "printf")) for one in node.above()
            )
            found.append(Constant(node.line, text, refuses))
            for words, number in _INNER.findall(text):
                found.append(Constant(node.line, float(number) if number else words, refuses))
        elif node.kind == "number" or (node.kind == "word" and re.fullmatch(r"-?\d+(\.\d+)?", node.text)):
            found.append(
                Constant(
                    node.line, float(node.text) if re.fullmatch(r"-?\d+(\.\d+)?", node.text) else node.text
                )
            )
        elif node.kind == "word" and len(node.text) > 2:
            found.append(Constant(node.line, node.text))
    return [
        Constant(one.line, int(one.value), one.refuses)
        if isinstance(one.value, float) and one.value.is_integer()
        else one
        for one in found
    ]
