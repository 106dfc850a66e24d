"""The form of a Python tool's file: a PEP 723 header, the code, and a `__main__` that reads and writes JSON."""

from __future__ import annotations

import ast
import json
import re
from functools import cache

from alita_tui.events import ToolDraft
from alita_tui.runtimes.port import ContractError, with_line_feeds
from alita_tui.spine.syntax import parse, try_parse
from alita_tui.spine.text import one_line

PYTHON = ">=3.11"
"""Versions that every tool supports."""
_HEADER = re.compile(r"(?m)^# /// script[ \t]*\n(?P<toml>(?:#.*\n)*?)# ///[ \t]*(?:\n|\Z)")
_MAIN = """

if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
"""


def header_requirements(code: str) -> tuple[str, ...] | None:
    """Return the dependencies of a PEP 723 header, sorted; None without a header. Raises ContractError."""
    import tomllib

    match = _HEADER.search(code)
    if match is None:
        return None
    lines = (line.removeprefix("#").removeprefix(" ") for line in match["toml"].split("\n"))
    try:
        dependencies = tomllib.loads("\n".join(lines)).get("dependencies", [])
    except (ValueError, RecursionError) as error:
        raise ContractError((f"the PEP 723 header is no TOML: {one_line(str(error))}",)) from error
    if not isinstance(dependencies, list) or not all(
        isinstance(requirement, str) for requirement in dependencies
    ):
        raise ContractError(("the PEP 723 header's dependencies are no list of strings",))
    return tuple(sorted({" ".join(requirement.split()) for requirement in dependencies}))


def completed(draft: ToolDraft) -> str:
    """Return the code with a header that matches the requirements and a `__main__`; idempotent."""
    body = with_line_feeds(draft.code).strip("\n") + "\n"
    tree = try_parse(body)
    body = _without_header(body, tree).strip("\n") + "\n"
    if tree is not None and not any(is_main_guard(node) for node in tree.body):
        body = (body + _MAIN).lstrip("\n")
    # A JSON string is also a TOML basic string; markers contain quotes of their own.
    requirements = ", ".join(json.dumps(requirement) for requirement in draft.requirements)
    header = f'# /// script\n# requires-python = "{PYTHON}"\n# dependencies = [{requirements}]\n# ///\n'
    return header + body


def is_main_guard(node: ast.stmt) -> bool:
    """Return True for `if __name__ == "__main__":`, either way round."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = (node.test.left, *node.test.comparators)
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    values = [side.value for side in sides if isinstance(side, ast.Constant)]
    return names == ["__name__"] and values == ["__main__"] and isinstance(node.test.ops[0], ast.Eq)


@cache
def _standard_main() -> str:
    return ast.dump(parse(_MAIN).body[0])


def is_standard_main(node: ast.stmt) -> bool:
    """Return True for the `__main__` that `normalise` writes: JSON in, one call of run, JSON out."""
    return is_main_guard(node) and ast.dump(node) == _standard_main()


def _without_header(body: str, tree: ast.Module | None) -> str:
    """Return the code without headers that are comments; the same lines in a string belong to the tool."""
    if tree is None:
        match = _HEADER.match(body)
        return body[match.end() :] if match else body
    quoted: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None:
            quoted.update(range(node.lineno + 1, node.end_lineno + 1))
    return _HEADER.sub(
        lambda match: match[0] if body.count("\n", 0, match.start()) + 1 in quoted else "", body
    )
