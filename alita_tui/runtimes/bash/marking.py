"""Instruments a script so that it reports which places a run reaches. Pure.

A place is a command in a list, a branch, or what follows `&&` and `||`. Programs in other languages, such as jq's,
are one place; their faults are what the mutants are for.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from alita_tui.confined.syntax import Node, syntax_tree
from alita_tui.runtimes.bash.form import STRICT
from alita_tui.runtimes.places import Instrumented, Place

_LISTS = frozenset(("program", "compound_statement", "do_group", "if_statement", "elif_clause", "else_clause",
                    "case_item", "subshell", "command_substitution", "process_substitution"))  # fmt: skip
_STATEMENTS = frozenset(
    (
        "command",
        "pipeline",
        "list",
        "if_statement",
        "while_statement",
        "for_statement",
        "c_style_for_statement",
        "case_statement",
        "redirected_statement",
        "variable_assignment",
        "variable_assignments",
        "declaration_command",
        "test_command",
        "compound_statement",
        "subshell",
        "negated_command",
        "unset_command",
    )
)
_MARK = "__alita_"


def instrumented(code: str) -> Instrumented:
    """Return the script with a mark before each place; its lines stay where they are. Raises ValueError."""
    tree = syntax_tree(code, "bash")
    if tree is None or _MARK in code or any(node.kind == "ERROR" for node in tree.walk()):
        raise ValueError("it cannot be followed")
    sign = secrets.token_hex(8)
    tell = f"{_MARK}{sign}"
    places: list[Place] = []
    marks: list[tuple[int, int, str]] = []
    for node, missing in _places(tree):
        number = len(places)
        last = node.line if missing else _own_end(node)
        places.append(Place(number, node.line, last, missing))
        if missing:
            marks += [(node.start, 1, f"{{ {tell} {number}; "), (node.end, 0, "; }")]
        else:
            marks.append((node.start, 1, f"{tell} {number}; "))
    source = code.encode("utf-8", "surrogatepass")
    for at, _, text in sorted(marks, key=lambda mark: (mark[0], mark[1]), reverse=True):
        source = source[:at] + text.encode() + source[at:]
    first, rest = source.decode("utf-8", "surrogatepass").split("\n", 1)
    define = f"{tell}() {{ printf '{sign} %s\\n' \"$1\" >&3 || :; }}; "
    return Instrumented(f"{first}\n{define}{rest}", tuple(places))


def _places(tree: Node) -> Iterator[tuple[Node, str]]:
    """Yield statements, and what may be skipped on their lines."""
    for node in tree.walk():
        above = node.parent
        if above is None or node.kind not in _STATEMENTS:
            continue
        if above.kind == "list" and above.children and above.children[-1] is node:
            word = above.children[1].text if len(above.children) > 1 else "&&"
            if node.kind not in ("list",):
                yield node, f"what follows `{word}` never ran"
        elif above.kind in _LISTS and node.field in ("", "body") and node.field != "condition":
            if above.kind in ("if_statement", "elif_clause") and not _after_then(above, node):
                continue
            if above.kind == "program" and node.kind == "command" and node.line <= 4 and node.text in STRICT:
                continue
            if above.kind == "command_substitution" and len(above.parts()) == 1:
                continue
            yield node, ""


def _after_then(above: Node, node: Node) -> bool:
    then = next((child for child in above.children if child.kind == "then"), None)
    return then is not None and node.start > then.start


def _own_end(node: Node) -> int:
    """Return the last line of a statement itself, without the blocks in it."""
    inner = next(
        (one for one in node.walk() if one is not node and one.kind in ("do_group", "then", "case_item")),
        None,
    )
    if node.kind in (
        "if_statement",
        "while_statement",
        "for_statement",
        "case_statement",
        "c_style_for_statement",
    ):
        return inner.line if inner is not None else node.line
    return node.line if node.kind in ("compound_statement", "subshell", "list") else node.last_line


def disguised(code: str) -> str:
    """Return the same script further down, without its comments."""
    tree = syntax_tree(code, "bash")
    source = code.encode("utf-8", "surrogatepass")
    gone = [node for node in tree.walk() if node.kind == "comment" and node.start] if tree is not None else []
    for node in reversed(gone):
        source = source[: node.start] + source[node.end :]
    first, _, rest = source.decode("utf-8", "surrogatepass").partition("\n")
    return first + "\n" * 38 + rest
