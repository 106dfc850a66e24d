"""What tests can see of their tool: `run` and its exceptions, since the tool runs in another process. Pure."""

from __future__ import annotations

import ast
import builtins

from alita_tui.runtimes.notes import Notes


def note_seen_by_tests(notes: Notes, code: ast.Module | None, tests: ast.Module | None, name: str) -> None:
    """Block tests that use anything else of the tool's module: they could not run."""
    if code is None or tests is None:
        return
    visible = {"run", *exceptions_of(code)}
    called = {name}
    for node in ast.walk(tests):
        if isinstance(node, ast.Import):
            called |= {alias.asname for alias in node.names if alias.name == name and alias.asname}
    for node in ast.walk(tests):
        if not isinstance(node, ast.ImportFrom | ast.Attribute):
            continue
        wanted: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == name and not node.level:
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in called:
            wanted = [node.attr]
        for unseen in wanted:
            if unseen not in visible:
                text = f"tests, line {node.lineno}: uses {unseen} of {name}; tests see `run` and its exceptions only"
                notes.block("tests", text)


def exceptions_of(code: ast.Module) -> frozenset[str]:
    """Return the names of the exception classes that a module defines at its top level."""
    names: set[str] = set()
    for node in code.body:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).split(".")[-1] for base in node.bases]
            if any(base in names or _is_exception(base) for base in bases):
                names.add(node.name)
    return frozenset(names)


def _is_exception(name: str) -> bool:
    known = getattr(builtins, name, None)
    if isinstance(known, type):
        return issubclass(known, BaseException)
    return name.endswith(("Error", "Exception", "Warning"))
