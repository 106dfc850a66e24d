"""A draft's code as a syntax tree, and the findings about it. Nothing is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.port import LARGEST_TEXT
from alita_tui.spine.syntax import parse

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


class Import(NamedTuple):
    """One imported name."""

    name: str
    """Dotted, with the imported name: `os.system`. A relative one starts with a dot."""
    line: int
    optional: bool
    """True if its ImportError is caught."""

    @property
    def top(self) -> str:
        """The top-level module; empty for a relative one."""
        return self.name.split(".")[0]


def parse_code(notes: Notes, text: str, part: str) -> ast.Module | None:
    """Return the tree of a text; None if it is not Python, which is reported."""
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_TEXT:
        notes.block("ast/syntax", f"{part}: it is longer than {LARGEST_TEXT} bytes")
        return None
    try:
        return parse(text)
    except SyntaxError as error:
        excerpt = f" in `{error.text.strip()[:120]}`" if error.text and error.text.strip() else ""
        line = error.lineno or 0
        if part == "code":
            notes.block("ast/syntax", f"code: {error.msg}{excerpt}", line)
        else:
            notes.block("ast/syntax", f"{part}, line {line}: {error.msg}{excerpt}")
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        notes.block("ast/syntax", f"{part}: it cannot be parsed ({reason})")
    return None


def imports_of(tree: ast.Module) -> list[Import]:
    """Return every import, wherever it is."""
    optional: set[int] = set()
    imports: list[Import] = []
    for node in ast.walk(tree):  # parents come before their children
        if isinstance(node, ast.Try) and any(_catches_import(handler) for handler in node.handlers):
            optional.update(id(child) for part in node.body for child in ast.walk(part))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            start = "" if isinstance(node, ast.Import) else "." * node.level + f"{node.module or ''}."
            imports += [Import(start + name.name, node.lineno, id(node) in optional) for name in node.names]
    return imports


def _catches_import(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or dotted(kind) in ("ImportError", "ModuleNotFoundError") for kind in kinds)


def dotted(node: ast.expr, aliases: dict[str, str] | None = None) -> str:
    """Return `a.b.c` as written, with its first name replaced by what was imported under it."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    root = node.id if isinstance(node, ast.Name) else ""
    return ".".join([(aliases or {}).get(root, root), *reversed(parts)])


def aliases_of(tree: ast.Module) -> dict[str, str]:
    """Return what imported names stand for."""
    meanings: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            meanings.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.ImportFrom) and not node.level:
            meanings.update(
                {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            )
    return meanings


def constants(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the constants of a tree except docstrings and other statements that are only an expression."""
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in statements:
            yield node


def run_function(tree: ast.Module | None) -> ast.FunctionDef | None:
    """Return the module's function `run`."""
    body = tree.body if tree else ()
    return next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == "run"), None)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when the node runs: everything inside except the bodies of functions."""
    pending: list[ast.AST] = list(ast.iter_child_nodes(node))
    while pending:
        inner = pending.pop()
        yield inner
        if not isinstance(inner, FUNCTIONS | ast.Lambda):
            pending.extend(ast.iter_child_nodes(inner))
