"""Instruments a script so that it reports which places a run reaches, and makes wrong versions of it. Pure.

A place is a command in a list, a branch, or what follows `&&` and `||`. Programs in other languages, such as jq's,
are one place; their faults are what the mutants are for.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator

from alita_tui.confined.syntax import Node, syntax_tree
from alita_tui.runtimes.bash.form import STRICT
from alita_tui.runtimes.bash.words import commands
from alita_tui.runtimes.places import Instrumented, Place
from alita_tui.runtimes.port import Mutant

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
_FLIPS = {
    "-eq": "-ne",
    "-ne": "-eq",
    "-lt": "-ge",
    "-ge": "-lt",
    "-gt": "-le",
    "-le": "-gt",
    "==": "!=",
    "!=": "==",
    "=": "!=",
    "-z": "-n",
    "-n": "-z",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "*",
    "&&": "||",
    "||": "&&",
}
_JQ = re.compile(
    r"""(?P<skip>"(?:[^"\\]|\\.)*"|[$.@]\w+|\#[^\n]*)|(?P<op>==|!=|<=|>=|//|[<>+*/%-])"""
    r"""|(?P<number>(?<![\w.])\d+(?:\.\d+)?)"""
    r"""|\b(?P<word>and|or|min|max|min_by|max_by|first|last|any|all|add|length|keys|values|sort|sort_by|reverse|not|floor"""
    r"""|ceil|ascii_downcase|ascii_upcase|unique|flatten|true|false|empty)\b"""
)
_JQ_FLIPS = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "*",
    "//": "|",
    "and": "or",
    "or": "and",
    "min": "max",
    "max": "min",
    "min_by": "max_by",
    "max_by": "min_by",
    "first": "last",
    "last": "first",
    "any": "all",
    "all": "any",
    "add": "length",
    "length": "not",
    "keys": "map(.)",
    "sort": ".",
    "reverse": ".",
    "not": ".",
    "floor": "ceil",
    "ceil": "floor",
    "ascii_downcase": "ascii_upcase",
    "ascii_upcase": "ascii_downcase",
    "unique": ".",
    "true": "false",
    "false": "true",
    "flatten": ".",
    "sort_by": "group_by",
}


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
    then = next((one for one in above.children if one.kind == "then"), None)
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


def mutants(code: str, most: int) -> list[Mutant]:
    """Return at most `most` mutants spread over the script, the same for the same script."""
    tree = syntax_tree(code, "bash")
    if tree is None:
        return []
    source = code.encode("utf-8", "surrogatepass")
    changes = sorted(_changes(tree, source))
    step = max(1.0, len(changes) / most)
    chosen = [changes[int(n * step)] for n in range(min(most, len(changes)))]
    made = []
    for start, end, new in chosen:
        old = source[start:end].decode("utf-8", "replace")
        text = (source[:start] + new.encode() + source[end:]).decode("utf-8", "surrogatepass")
        made.append(Mutant(source.count(b"\n", 0, start) + 1, f"{old} became {new}", text))
    return made


def _changes(tree: Node, source: bytes) -> Iterator[tuple[int, int, str]]:
    for node in tree.walk():
        if node.line <= 4 and node.text in STRICT:
            continue
        above = node.parent
        if node.kind == "test_operator" and node.text in _FLIPS:
            yield node.start, node.end, _FLIPS[node.text]
        elif (
            not node.named
            and node.text in _FLIPS
            and above is not None
            and above.kind in ("binary_expression", "list")
        ):
            yield node.start, node.end, _FLIPS[node.text]
        elif node.kind == "number" and not _exits(node):
            yield node.start, node.end, str(int(node.text) + 1) if node.text.isdecimal() else "0"
    for command in commands(tree):
        if command.name == "jq":
            for one in command.arguments:
                if one.kind == "raw_string":
                    yield from _of_jq(one)
        elif command.name in ("sort", "uniq", "tr", "rev", "tac") and command.node.parent is not None:
            if command.node.parent.kind == "pipeline":
                yield command.node.start, command.node.end, "cat"
        elif command.name in ("head", "tail"):
            at = command.node.child("name")
            if at is not None:
                yield at.start, at.end, "tail" if command.name == "head" else "head"


def _exits(node: Node) -> bool:
    above = next((one for one in node.above() if one.kind == "command"), None)
    name = above.child("name") if above is not None else None
    return (name is not None and name.text in ("exit", "return")) or (
        node.parent is not None and node.parent.kind == "file_redirect"
    )


def _of_jq(node: Node) -> Iterator[tuple[int, int, str]]:
    text = node.text
    for hit in _JQ.finditer(text):
        word = hit["op"] or hit["word"]
        at = node.start + len(text[: hit.start()].encode())
        if hit["number"]:
            yield at, at + len(hit[0]), str(int(float(hit[0])) + 1)
        elif word and word in _JQ_FLIPS:
            yield at, at + len(hit[0].encode()), _JQ_FLIPS[word]


def disguised(code: str) -> str:
    """Return the same script further down, without its comments."""
    tree = syntax_tree(code, "bash")
    source = code.encode("utf-8", "surrogatepass")
    gone = [node for node in tree.walk() if node.kind == "comment" and node.start] if tree is not None else []
    for node in reversed(gone):
        source = source[: node.start] + source[node.end :]
    first, _, rest = source.decode("utf-8", "surrogatepass").partition("\n")
    return first + "\n" * 38 + rest
