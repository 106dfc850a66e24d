"""The literal values in a script. Pure."""

from __future__ import annotations

import re

from alita_tui.confined.syntax import syntax_tree
from alita_tui.runtimes.bash.words import literal
from alita_tui.runtimes.port import Constant

_INNER = re.compile(r'"((?:[^"\\]|\\.)*)"|(?<![\w.$])(\d+(?:\.\d+)?)(?!\w)')


def constants_of(code: str) -> list[Constant]:
    """Return the texts and numbers of a script, including those in quotes within a text."""
    tree = syntax_tree(code, "bash")
    constants: list[Constant] = []
    for node in tree.walk() if tree is not None else ():
        if node.kind in ("string", "raw_string", "ansi_c_string", "heredoc_body") and (
            text := literal(node) or node.text
        ):
            refuses = any(
                constant.kind == "command" and constant.text.startswith(("echo", "printf"))
                for constant in node.above()
            )
            constants.append(Constant(node.line, text, refuses))
            for words, number in _INNER.findall(text):
                constants.append(Constant(node.line, float(number) if number else words, refuses))
        elif node.kind == "number" or (node.kind == "word" and re.fullmatch(r"-?\d+(\.\d+)?", node.text)):
            constants.append(
                Constant(
                    node.line, float(node.text) if re.fullmatch(r"-?\d+(\.\d+)?", node.text) else node.text
                )
            )
        elif node.kind == "word" and len(node.text) > 2:
            constants.append(Constant(node.line, node.text))
    return [
        Constant(constant.line, int(constant.value), constant.refuses)
        if isinstance(constant.value, float) and constant.value.is_integer()
        else constant
        for constant in constants
    ]
