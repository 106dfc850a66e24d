"""What tests can use of their tool: `run` and its exceptions, as the tool runs in another process. Pure."""

from __future__ import annotations

import ast
import builtins

from alita_tui.runtimes.notes import Notes


def note_seen_by_tests(notes: Notes, code: ast.Module | None, tests: ast.Module | None, name: str) -> None:
    """Block tests that use anything else of the tool's module: they could not run."""
    if code is None or tests is None:
        return
    visible = {"run", *exceptions_of(code)}
    module_names = {name}
    for node in ast.walk(tests):
        if isinstance(node, ast.Import):
            module_names |= {alias.asname for alias in node.names if alias.name == name and alias.asname}
    for node in ast.walk(tests):
        if not isinstance(node, ast.ImportFrom | ast.Attribute):
            continue
        used_names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == name and not node.level:
            used_names = [alias.name for alias in node.names]
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in module_names
        ):
            used_names = [node.attr]
        for used_name in used_names:
            if used_name not in visible:
                text = f"tests, line {node.lineno}: uses {used_name} of {name}; tests see `run` and its exceptions only"
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
