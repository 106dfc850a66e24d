"""Resolves names in Python's own modules from their source. Nothing is imported.

`random._os` is the module `os` because random.py says `from os import urandom as _urandom` and `import os as _os`:
matching whole dotted names would not see that `random._os.system` starts a process.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from functools import cache
from pathlib import Path

from alita_tui.spine.syntax import UNPARSABLE, parse

_PUBLIC_NAMES = {
    "posix": "os", "nt": "os", "_io": "io", "_pyio": "io", "_socket": "socket", "_ssl": "ssl",
    "_pickle": "pickle", "_ctypes": "ctypes", "_posixsubprocess": "subprocess", "_winapi": "subprocess",
    "_imp": "importlib", "_frozen_importlib": "importlib", "_frozen_importlib_external": "importlib",
    "_signal": "signal", "_sqlite3": "sqlite3", "_asyncio": "asyncio", "_operator": "operator",
    "_functools": "functools", "_codecs": "codecs", "_datetime": "datetime", "_pydatetime": "datetime",
    "_random": "random", "_thread": "threading", "_locale": "locale", "_weakref": "weakref",
    "_tracemalloc": "tracemalloc", "_string": "string", "_dbm": "dbm", "posixpath": "os.path",
    "ntpath": "os.path", "_multiprocessing": "multiprocessing", "_posixshmem": "multiprocessing",
    "_collections_abc": "collections.abc", "_uuid": "uuid", "_crypt": "crypt", "_tkinter": "tkinter",
}  # fmt: skip
"""Names of modules in the rules, by other names of the same modules."""


@cache
def _folder() -> Path:
    return Path(sysconfig.get_paths()["stdlib"])


@cache
def _source(module: str) -> Path | None:
    """Return the file of a standard library module; None if it is compiled in or does not exist."""
    if not module or module.split(".")[0] not in sys.stdlib_module_names:
        return None
    folder = _folder().joinpath(*module.split("."))
    return next(
        (path for path in (folder / "__init__.py", folder.with_name(f"{folder.name}.py")) if path.is_file()),
        None,
    )


def canonical(path: str) -> str:
    """Return a dotted path whose first module has the name that the rules know: `posix.system` is `os.system`."""
    top, dot, rest = path.partition(".")
    return _PUBLIC_NAMES.get(top, top) + dot + rest


@cache
def is_module(path: str) -> bool:
    """Return True if a dotted path is a module of the standard library."""
    if not path.isascii():
        return False
    return path in sys.stdlib_module_names or path == "os.path" or _source(path) is not None


@cache
def exports(module: str) -> dict[str, str]:
    """Return the dotted path of each imported name of a module."""
    source = _source({"os.path": "posixpath"}.get(module, module))
    try:
        tree = parse(source.read_text("utf-8")) if source else None
    except (*UNPARSABLE, OSError):
        tree = None
    if tree is None or source is None:
        return {}
    package = module if source.name == "__init__.py" else module.rpartition(".")[0]
    meanings: dict[str, str] = {}
    for node in _top(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                path = name.name if name.asname else name.name.split(".")[0]
                meanings[name.asname or path] = canonical(path)
        elif isinstance(node, ast.ImportFrom):
            base = _base(package, node)
            for name in node.names:
                if name.name != "*":
                    meanings[name.asname or name.name] = canonical(
                        f"{base}.{name.name}" if base else name.name
                    )
    return meanings


def attribute(path: str, name: str) -> str:
    """Return the dotted path of an attribute, followed to the module that it was imported from."""
    for _ in range(8):
        if not is_module(path):
            break
        meaning = exports(path).get(name)
        if meaning is None or meaning.startswith(
            "_"
        ):  # a private module's function counts as the public module's
            break
        if is_module(meaning):
            return meaning
        path, _, name = meaning.rpartition(".")
    return canonical(f"{path}.{name}") if path else canonical(name)


def _base(package: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")[: len(package.split(".")) - (node.level - 1)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _top(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements that run when a module is imported, including those below `if` and `try`."""
    pending: list[ast.stmt] = list(tree.body)
    statements: list[ast.stmt] = []
    while pending:
        node = pending.pop(0)
        statements.append(node)
        if isinstance(node, ast.If):
            pending = [*node.body, *node.orelse, *pending]
        elif isinstance(node, ast.Try):
            pending = [
                *node.body,
                *(statement for part in node.handlers for statement in part.body),
                *node.orelse,
                *pending,
            ]
    return statements
