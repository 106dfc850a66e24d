"""The texts in Python code, for the search for private data. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from alita_tui.runtimes.private_data import CodeTexts
from alita_tui.runtimes.python.constant_folding import Folding
from alita_tui.runtimes.python.draft_ast import FUNCTIONS, constants


def code_texts(code: ast.Module | None) -> CodeTexts | None:
    """Return the texts of code, and those that belong to names; None for code that cannot be parsed."""
    if code is None:
        return None
    folding = Folding(code)
    texts = [
        (node.lineno, node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value)
        for node in constants(code)
        if isinstance(node.value, str | bytes)
    ]
    return CodeTexts(texts, list(folding.texts()), list(_named_texts(code, folding)))


def _named_texts(tree: ast.Module, folding: Folding) -> Iterator[tuple[str, str, int]]:
    """Yield names and keys that are assigned a text, or compared with one, with the text and its line."""
    for node in ast.walk(tree):
        pairs: list[tuple[str, ast.expr | None]] = []
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            pairs = [(_last_word(target), node.value) for target in targets]
        elif isinstance(node, ast.keyword):
            pairs = [(node.arg or "", node.value)]
        elif isinstance(node, ast.Dict):
            pairs = [
                (folding.text(key) or "", value) for key, value in zip(node.keys, node.values, strict=True)
            ]
        elif isinstance(node, FUNCTIONS | ast.Lambda):
            parameters = [*node.args.posonlyargs, *node.args.args]
            positional_defaults = zip(reversed(parameters), reversed(node.args.defaults), strict=False)
            keyword_defaults = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            pairs = [(argument.arg, value) for argument, value in (*positional_defaults, *keyword_defaults)]
        elif isinstance(node, ast.Call | ast.Tuple | ast.List):  # get("password", "…"), ("password", "…")
            arguments = node.args if isinstance(node, ast.Call) else node.elts
            pairs = [(folding.text(a) or "", b) for a, b in zip(arguments, arguments[1:], strict=False)]
        elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
            sides = (node.left, node.comparators[0])
            pairs = [(_last_word(a), b) for a, b in (sides, sides[::-1])]
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            name = next(
                (known_as for item in node.values[:-1] if (known_as := _looked_up_name(item, folding))), ""
            )
            pairs = [(name, node.values[-1])]
        for name, value in pairs:
            if name and value is not None and (text := folding.text(value)) is not None:
                yield name, text, value.lineno


def _looked_up_name(node: ast.expr, folding: Folding) -> str:
    """Return the name of a look-up: `os.environ.get("DB_PASSWORD")` is `DB_PASSWORD`."""
    if isinstance(node, ast.Call) and node.args:
        return folding.text(node.args[-1]) or ""
    return _last_word(node)


def _last_word(target: ast.expr) -> str:
    """Return the last word of an assignment target: `a.b["c"]` is `c`."""
    match target:
        case (
            ast.Name(id=name)
            | ast.Attribute(attr=name)
            | ast.Subscript(slice=ast.Constant(value=str() as name))
        ):
            return name
        case _:
            return ""
