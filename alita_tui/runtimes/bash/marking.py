"""Instruments a script so that it reports which places a run reaches. Pure.

A place is a command in a list, a branch, or what follows `&&` and `||`. A program in another language, such as jq's,
is one place; the mutants cover what is in it.
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
    "command pipeline list if_statement while_statement for_statement c_style_for_statement "
    "case_statement redirected_statement variable_assignment variable_assignments declaration_command "
    "test_command compound_statement subshell negated_command unset_command".split()
)
_WITH_BLOCKS = frozenset(
    "if_statement while_statement for_statement case_statement c_style_for_statement".split()
)
_MARK = "__alita_"


def instrumented(code: str) -> Instrumented:
    """Return the script with a mark before each place; its lines stay where they are. Raises ValueError."""
    tree = syntax_tree(code, "bash")
    if tree is None or _MARK in code or any(node.kind == "ERROR" for node in tree.walk()):
        raise ValueError("it cannot be followed")
    sign = secrets.token_hex(8)
    report_function = f"{_MARK}{sign}"
    places: list[Place] = []
    marks: list[tuple[int, int, str]] = []
    for node, missing in _places(tree):
        number = len(places)
        last = node.line if missing else _own_end(node)
        places.append(Place(number, node.line, last, missing))
        if missing:
            marks += [(node.start, 1, f"{{ {report_function} {number}; "), (node.end, 0, "; }")]
        else:
            marks.append((node.start, 1, f"{report_function} {number}; "))
    source = code.encode("utf-8", "surrogatepass")
    for position, _, text in sorted(marks, key=lambda mark: (mark[0], mark[1]), reverse=True):
        source = source[:position] + text.encode() + source[position:]
    first_line, remainder = source.decode("utf-8", "surrogatepass").split("\n", 1)
    definition = f"{report_function}() {{ printf '{sign} %s\\n' \"$1\" >&3 || :; }}; "
    return Instrumented(f"{first_line}\n{definition}{remainder}", tuple(places))


def _places(tree: Node) -> Iterator[tuple[Node, str]]:
    """Yield statements, and the parts of their lines that may be skipped."""
    for node in tree.walk():
        parent = node.parent
        if parent is None or node.kind not in _STATEMENTS:
            continue
        if parent.kind == "list" and parent.children and parent.children[-1] is node:
            word = parent.children[1].text if len(parent.children) > 1 else "&&"
            if node.kind not in ("list",):
                yield node, f"what follows `{word}` never ran"
        elif parent.kind in _LISTS and node.field in ("", "body") and node.field != "condition":
            if parent.kind in ("if_statement", "elif_clause") and not _after_then(parent, node):
                continue
            if parent.kind == "program" and node.kind == "command" and node.line <= 4 and node.text in STRICT:
                continue
            if parent.kind == "command_substitution" and len(parent.parts()) == 1:
                continue
            yield node, ""


def _after_then(parent: Node, node: Node) -> bool:
    then = next((child for child in parent.children if child.kind == "then"), None)
    return then is not None and node.start > then.start


def _own_end(node: Node) -> int:
    """Return the last line of a statement itself, without the blocks in it."""
    inner = next(
        (part for part in node.walk() if part is not node and part.kind in ("do_group", "then", "case_item")),
        None,
    )
    if node.kind in _WITH_BLOCKS:
        return inner.line if inner is not None else node.line
    return node.line if node.kind in ("compound_statement", "subshell", "list") else node.last_line


def disguised(code: str) -> str:
    """Return the same script further down, without its comments."""
    tree = syntax_tree(code, "bash")
    source = code.encode("utf-8", "surrogatepass")
    comments = (
        [node for node in tree.walk() if node.kind == "comment" and node.start] if tree is not None else []
    )
    for node in reversed(comments):
        source = source[: node.start] + source[node.end :]
    first_line, _, remainder = source.decode("utf-8", "surrogatepass").partition("\n")
    return first_line + "\n" * 38 + remainder
