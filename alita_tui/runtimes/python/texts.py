"""Comments and texts of Python code, including texts that the code concatenates. Pure."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

from alita_tui.runtimes.python.constant_folding import Folding
from alita_tui.runtimes.python.draft_ast import FUNCTIONS


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments by their first line; those on consecutive lines are one text."""
    first, last, parts = 0, 0, list[str]()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type != tokenize.COMMENT:
                continue
            if parts and token.start[0] != last + 1:
                yield first, " ".join(parts)
                parts = []
            first = first if parts else token.start[0]
            last = token.start[0]
            parts.append(token.string.lstrip("#! "))
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # not Python, which `parse_code` reports
    if parts:
        yield first, " ".join(parts)


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the texts of the code: concatenations and f-strings as one text, names split into words."""
    nested: set[int] = set()
    for node in ast.walk(tree):  # parents come before their children
        if isinstance(node, ast.BinOp | ast.JoinedStr) and id(node) not in nested:
            parts = [
                part
                for part in ast.walk(node)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            nested |= {id(part) for part in ast.walk(node)}
            parts.sort(key=lambda part: (part.lineno, part.col_offset))
            if parts:
                yield parts[0].lineno, "".join(str(part.value) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in nested:
            yield node.lineno, node.value
        elif isinstance(node, FUNCTIONS | ast.ClassDef):
            yield node.lineno, node.name.replace("_", " ")
    yield from Folding(tree).texts()  # encoded, backwards, in pieces
