"""Finds the work that can be done before a job arrives: imports, or starting another language's program. Pure."""

from __future__ import annotations

import ast
import sys
from functools import lru_cache

from alita_tui.runtimes.languages import LANGUAGES, runtime_of
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.syntax import UNPARSABLE, parse

_MOST = 32
_NEVER = frozenset({"antigravity", "this", "__main__", "__future__"})


def ahead(job: Job, *, packages: bool) -> frozenset[str]:
    """Return what can be done ahead for jobs like this one: its imports, or `start:LANGUAGE` for a waiting program.

    A job that is granted anything has its program started with it: the grants set the program's environment variables.
    """
    if job.language == "python":
        return imports_of(job.code, packages=packages)
    start = runtime_of(job.language).start
    starts_ahead = start is not None and start.persistent and job.kind == "run" and job.capabilities.none
    return frozenset((f"start:{job.language}",)) if starts_ahead else frozenset()


def started_ahead(work: frozenset[str]) -> str:
    """Return the language whose program is started ahead; empty for none."""
    return next((language for language in LANGUAGES if f"start:{language}" in work), "")


@lru_cache(maxsize=64)  # a tool is called again and again
def imports_of(code: str, *, packages: bool) -> frozenset[str]:
    """Return the modules that this code imports at its top level; only standard ones without `packages`.

    Never more than the code imports: a forgotten import has to stay an error.
    """
    names: set[str] = set()
    for node in _body(code):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
    importable = {
        name
        for name in names - _NEVER
        if (packages or name.partition(".")[0] in sys.stdlib_module_names) and name.isascii()
    }
    return frozenset(sorted(importable)[:_MOST])


def is_tool(code: str) -> bool:
    """Return whether a file has a `run` function; any other file is a script."""
    return any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in _body(code))


def _body(code: str) -> list[ast.stmt]:
    try:
        return parse(code).body
    except UNPARSABLE:
        return []
