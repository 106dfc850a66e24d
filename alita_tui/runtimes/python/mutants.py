"""Small wrong versions of a draft's code: an operator or a constant changed, a call removed. Pure.

A useful test suite notices most of them (DeMillo, Lipton, Sayward 1978).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from alita_tui.runtimes.port import Mutant
from alita_tui.runtimes.python.draft_ast import FUNCTIONS
from alita_tui.runtimes.python.form import is_main_guard
from alita_tui.spine.syntax import UNPARSABLE, parse
from alita_tui.spine.text import one_line

# An inequality is negated: moving only its boundary often changes nothing, as in clamping.
_FLIPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub,
    ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.And: "and", ast.Or: "or",
}  # fmt: skip
_SAME_KIND = frozenset(
    "sorted reversed abs round set frozenset fromkeys lower upper strip lstrip rstrip title capitalize casefold "
    "swapcase replace removeprefix removesuffix zfill ljust rjust center sort append extend add update".split()
)
"""Calls that return the kind of value on which they operate: without them code still runs, and only tests notice."""


_FURTHER_DOWN = 37
"""Lines by which a disguised program is moved down."""


def mutants(code: str, most: int) -> list[Mutant]:
    """Return at most `most` mutants spread over the code, the same for the same code; none if it is not Python."""
    try:
        tree = _parsed(code)
    except UNPARSABLE:
        return []
    places = list(_places(tree))
    step = max(1.0, len(places) / most)
    chosen = [places[int(n * step)] for n in range(min(most, len(places)))]
    return [_changed(code, number) for number in chosen]


def disguised(code: str) -> str:
    """Return the same program written differently: other lines, other bytecode in every function, no comments."""
    tree = _parsed(code)
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            documented = ast.get_docstring(node, clean=False) is not None
            node.body.insert(int(documented), ast.Expr(ast.List([], ast.Load())))
    return "\n" * _FURTHER_DOWN + ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _parsed(code: str) -> ast.Module:
    tree = parse(code)
    tree.body = [node for node in tree.body if not is_main_guard(node)]
    return tree


def _places(tree: ast.Module) -> Iterator[int]:
    """Yield the indices, in the order of `ast.walk`, of the nodes that can be changed, with their lines."""
    passed_over = _untested_nodes(tree)
    places = [
        (getattr(node, "lineno", 0), number)
        for number, node in enumerate(ast.walk(tree))
        if id(node) not in passed_over and _flippable(node)
    ]
    return (number for _, number in sorted(places))


def _untested_nodes(tree: ast.Module) -> set[int]:
    """Return the ids of annotations, error messages and text for people: no test should depend on them."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, FUNCTIONS):
            parts = [node.returns, *node.decorator_list]
        elif isinstance(node, ast.arg | ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert) or _prints(node):
            parts = [node]
        for part in filter(None, parts):
            skipped.update(id(inner) for inner in ast.walk(part))
    return skipped


def _prints(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def _flippable(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=ops):
            return type(ops[0]) in _FLIPS
        case ast.BinOp(op=op, left=left):
            text = isinstance(left, ast.Constant | ast.JoinedStr) and not _number(left)
            return type(op) in _FLIPS and not text
        case ast.AugAssign(op=op):
            return type(op) in _FLIPS
        case ast.BoolOp():
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call():
            return _operand_without_call(node) is not None
        case ast.keyword(arg=name):
            return name in ("key", "reverse")
        case ast.Constant(value=value):
            return isinstance(value, bool | int | float)
        case ast.Return(value=value):
            return value is not None and not (isinstance(value, ast.Constant) and not value.value)
        case _:
            return False


def _number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _changed(code: str, number: int) -> Mutant:
    # Parsed again, not copied: all trees share nodes such as ast.Load(), to which a linter in this process attaches
    # its own trees, and a deep copy would follow them.
    copied = _parsed(code)
    node = next(child for n, child in enumerate(ast.walk(copied)) if n == number)
    line = getattr(node, "lineno", 0)
    change = ""
    match node:
        case ast.Compare():
            change, node.ops[0] = _flip(node.ops[0])
        case ast.BinOp() | ast.AugAssign():
            change, node.op = _flip(node.op)
        case ast.BoolOp():
            change, node.op = _flip(node.op)
        case ast.UnaryOp():
            change, node.op, node.operand = "not was dropped", ast.Not(), _not(node.operand)
        case ast.Call():
            operand = _operand_without_call(node)
            change = f"{_short(node)} became {_short(operand)}" if operand else ""
            _replace(copied, node, operand)
        case ast.keyword():
            change = f"{node.arg}= was dropped"
            _replace(copied, node, None)
        case ast.Constant(value=bool() as value):
            change, node.value = f"{value} became {not value}", not value
        case ast.Constant(value=int() | float() as value):
            change, node.value = f"{value} became {value + 1}", value + 1
        case ast.Return(value=value) if value is not None:
            change, node.value = _other_result(copied, node, value)
        case _:
            pass
    return Mutant(line, change, ast.unparse(ast.fix_missing_locations(copied)))


def _operand_without_call(call: ast.Call) -> ast.expr | None:
    """Return the operand of a call without which the code still runs; None if there is none."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr="fromkeys" as name):
            return call.args[0] if name in _SAME_KIND and call.args else None
        case ast.Attribute(attr=name, value=value):
            return value if name in _SAME_KIND else None
        case _:
            return None


def _other_result(tree: ast.Module, node: ast.Return, value: ast.expr) -> tuple[str, ast.expr]:
    """Return another result of the kind that its function is annotated with; None unless it is a plain one."""
    enclosing = [
        child for child in ast.walk(tree) if isinstance(child, FUNCTIONS) and node in ast.walk(child)
    ]
    annotation = enclosing[-1].returns if enclosing else None
    annotation = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    match annotation:
        case ast.Name(id="int" | "float"):
            return "returns one more", ast.BinOp(left=value, op=ast.Add(), right=ast.Constant(value=1))
        case ast.Name(id="bool"):
            return "returns the opposite", _not(value)
        case ast.Name(id="str"):
            return "returns an empty text", ast.Constant(value="")
        case ast.Name(id="list"):
            return "returns an empty list", ast.List(elts=[], ctx=ast.Load())
        case ast.Name(id="dict"):
            return "returns an empty dict", ast.Dict(keys=[], values=[])
        case _:
            return "returns None", ast.Constant(value=None)


def _short(node: ast.expr) -> str:
    return one_line(ast.unparse(node), 40)


def _replace(tree: ast.Module, old: ast.AST, new: Any) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list):
                value[:] = [
                    new if item is old else item for item in value if item is not old or new is not None
                ]


def _not(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.Not(), operand=node)


def _flip(op: ast.AST) -> tuple[str, Any]:
    replacement = _FLIPS[type(op)]()
    return f"{_SIGNS[type(op)]} became {_SIGNS[type(replacement)]}", replacement
