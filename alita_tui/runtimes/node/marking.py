"""Instruments a module so that it reports which places a run reaches, and makes wrong versions of it. Pure.

A place is a statement, the body of an arrow function, and what may be skipped on its line: a side of `?:`, what follows
`&&`, `||` and `??`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from alita_tui.confined.syntax import Node, syntax_tree
from alita_tui.runtimes.node.names import in_main, is_main
from alita_tui.runtimes.places import Instrumented, Place
from alita_tui.runtimes.port import Mutant
from alita_tui.runtimes.text_mutants import mutants_of

_MARK = "__alita_"
"""Text before the sign, by which the warden finds it."""
_STATEMENTS = frozenset(
    "expression_statement lexical_declaration variable_declaration if_statement for_statement for_in_statement "
    "while_statement do_statement switch_statement return_statement throw_statement try_statement break_statement "
    "continue_statement".split()
)
_NESTING = frozenset("statement_block program switch_case switch_default class_body".split())
_BRANCHING = frozenset("if_statement else_clause for_statement for_in_statement while_statement".split())
_FLIPS = {
    "===": "!==", "!==": "===", "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "+": "-", "-": "+",
    "*": "+", "/": "*", "%": "*", "**": "*", "&&": "||", "||": "&&", "??": "&&", "+=": "-=", "-=": "+=",
}  # fmt: skip
_SAME_KIND = frozenset(
    "sort toSorted reverse toReversed trim trimStart trimEnd toLowerCase toUpperCase normalize flat padStart padEnd "
    "replace replaceAll slice filter concat".split()
)
_SIMILAR_METHODS = {
    "min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "startsWith": "endsWith", "endsWith": "startsWith",
    "some": "every", "every": "some", "indexOf": "lastIndexOf", "lastIndexOf": "indexOf", "find": "findLast",
    "shift": "pop", "pop": "shift", "toUpperCase": "toLowerCase", "toLowerCase": "toUpperCase",
}  # fmt: skip
"""Methods that are confused with each other."""
_EMPTY = ("null", "false", "undefined")
_SKIPPED = frozenset(
    "throw_statement import_statement type_annotation type_alias_declaration interface_declaration comment".split()
)


def instrumented(code: str, language: str) -> Instrumented:
    """Return the module with a mark at each place; its lines stay where they are. Raises ValueError.

    Each mark is written with a secret sign. A stack trace shows the names of functions, so no name contains the sign;
    and no mark calls a function that the module could replace in order to read it.
    """
    tree = syntax_tree(code, language)
    if tree is None or _MARK in code or any(node.kind == "ERROR" for node in tree.walk()):
        raise ValueError("it cannot be followed")
    sign, name = secrets.token_hex(8), f"__passed_{secrets.token_hex(8)}"
    places: list[Place] = []
    marks: list[tuple[int, int, str]] = []
    for node, missing, wraps in _places(tree):
        number = len(places)
        places.append(Place(number, node.line, node.line if missing else _own_end(node), missing))
        if wraps:
            begin, end = ("{ %s; ", " }") if node.kind in _STATEMENTS else ("(%s, ", ")")
            marks += [(node.start, number, begin % f"{name}({number})"), (node.end, -1 - number, end)]
        else:
            marks.append((node.start, number, f"{name}({number}); "))
    source = code.encode("utf-8", "surrogatepass")
    for position, _, text in sorted(marks, reverse=True):
        source = source[:position] + text.encode() + source[position:]
    first_line, remainder = source.decode("utf-8", "surrogatepass").split("\n", 1)
    definition = (
        f'/* {_MARK}{sign} */ import {{ writeSync as {name}_write }} from "node:fs"; const {name}_put = {name}_write, '
        f"{name}_seen = {{ __proto__: null }}; function {name}(n) {{ if (!{name}_seen[n]) {{ {name}_seen[n] = true; "
        f'{name}_put(3, "{sign} " + n + "\\n"); }} }} '
    )
    return Instrumented(f"{first_line}\n{definition}{remainder}", tuple(places))


def _places(tree: Node) -> Iterator[tuple[Node, str, bool]]:
    """Yield each place, the finding if no run reaches it, and whether it has to be wrapped."""
    for node in tree.walk():
        parent = node.parent
        if parent is None or in_main(node):
            continue
        if node.kind in _STATEMENTS and parent.kind in _NESTING and node.field != "value":
            if parent.kind != "program":
                yield node, "", False
        elif node.kind in _STATEMENTS and parent.kind in _BRANCHING:
            if (
                node.field in ("consequence", "body", "")
                and node.kind != "if_statement"
                and not _in_head(node, parent)
            ):
                yield node, "", True
        elif parent.kind == "ternary_expression" and node.field in ("consequence", "alternative"):
            yield node, "a side of `?:` was never taken", True
        elif parent.kind == "binary_expression" and node.field == "right":
            word = next((child.text for child in parent.children if not child.named), "")
            if word in ("&&", "||", "??"):
                yield node, f"what follows `{word}` was never looked at", True
        elif parent.kind == "arrow_function" and node.field == "body" and node.kind != "statement_block":
            yield node, "the function was never called", True


def _in_head(node: Node, parent: Node) -> bool:
    return parent.kind == "for_statement" and node.field in ("initializer", "condition", "increment")


def _own_end(node: Node) -> int:
    """Return the last line of a statement itself, without the blocks in it."""
    inner = next((part for part in node.walk() if part.kind in ("statement_block", "switch_body")), None)
    return inner.line if inner is not None else node.last_line


def mutants(code: str, language: str, most: int) -> list[Mutant]:
    """Return at most `most` mutants spread over the module, the same for the same module."""
    tree = syntax_tree(code, language)
    if tree is None:
        return []
    return mutants_of(
        code,
        ((*change, "it returns null" if change[2] == "null" else "") for change in _changes(tree)),
        most,
    )


def _is_module_name_or_message(arguments: Node) -> bool:
    """Return whether a text among these arguments is the name of a module or a message for people."""
    function = arguments.parent.child("function") if arguments.parent is not None else None
    return function is not None and (function.kind == "import" or function.text.startswith("console."))


def _changes(tree: Node) -> Iterator[tuple[int, int, str]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if node.kind in _SKIPPED or is_main(node):
            continue
        pending += reversed(node.children)
        parent = node.parent
        if parent is None:
            continue
        if (
            not node.named
            and node.text in _FLIPS
            and parent.kind in ("binary_expression", "augmented_assignment_expression")
        ):
            is_concatenation = node.text == "+" and any(
                child.kind in ("string", "template_string") for child in parent.children
            )
            if not is_concatenation:
                yield node.start, node.end, _FLIPS[node.text]
        elif node.kind == "!" and parent.kind == "unary_expression":
            yield node.start, node.end, ""
        elif node.kind == "number":
            yield node.start, node.end, str(int(node.text) + 1) if node.text.isdecimal() else "0"
        elif node.kind in ("true", "false") and parent.kind not in ("literal_type",):
            yield node.start, node.end, "false" if node.kind == "true" else "true"
        elif node.kind == "call_expression" and (function := node.child("function")) is not None:
            member, owner = function.child("property"), function.child("object")
            if member is not None and owner is not None and member.text in _SAME_KIND:
                yield owner.end, node.end, ""
            elif member is not None and member.text in _SIMILAR_METHODS:
                yield member.start, member.end, _SIMILAR_METHODS[member.text]
        elif (
            node.kind == "string"
            and parent.kind == "arguments"
            and len(node.text) > 2
            and not _is_module_name_or_message(parent)
        ):
            yield node.start, node.end, '""'
        elif node.kind == "return_statement" and (parts := node.parts()) and parts[0].kind not in _EMPTY:
            yield parts[0].start, parts[0].end, "null"


def disguised(code: str, language: str) -> str:
    """Return the same module further down, without its comments."""
    tree = syntax_tree(code, language)
    source = code.encode("utf-8", "surrogatepass")
    comments = [node for node in tree.walk() if node.kind == "comment"] if tree is not None else []
    for node in reversed(comments):
        source = (
            source[: node.start]
            + b" "
            + b"\n" * source.count(b"\n", node.start, node.end)
            + source[node.end :]
        )
    first_line, _, remainder = source.decode("utf-8", "surrogatepass").partition("\n")
    return first_line + "\n" * 38 + remainder
