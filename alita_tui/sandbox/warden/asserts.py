"""Rewrites asserts so that a failed one shows the values of its operands, which Python does not keep."""

from __future__ import annotations

import ast
import itertools
import sys
import types
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location

_MESSAGE_FUNCTION, _UNSET_NAME = "@said", "@unset"
_MOST_CHARS = 400
"""Characters of one operand's value."""
_PLAIN = (ast.Constant, ast.Lambda, ast.GeneratorExp, ast.Starred, ast.JoinedStr)
"""Expressions whose value adds nothing to their text."""
_PREDICATES = frozenset(("isinstance", "issubclass", "all", "any", "hasattr", "callable"))
_MEASURES = frozenset(("len", "set", "sorted", "list", "round", "abs", "type", "sum", "min", "max"))
"""Calls whose arguments explain a failure better than their value."""


class _Unset:
    """An operand that was not evaluated."""


_UNSHOWN = (_Unset, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


def imported(name: str, path: str) -> types.ModuleType:
    """Return the module of this file, imported with rewritten asserts. Raise what its code raises."""
    spec = spec_from_file_location(name, path)
    assert spec is not None
    module = sys.modules[name] = module_from_spec(spec)
    vars(module).update({_MESSAGE_FUNCTION: failure_message, _UNSET_NAME: _Unset()})
    with open(path, "rb") as file:
        exec(_compiled(file.read(), path), vars(module))  # noqa: S102  # this is the sandbox
    return module


def _compiled(data: bytes, path: str) -> types.CodeType:
    with suppress(RecursionError, ValueError, SyntaxError):
        tree = _OperandNamer().visit(ast.parse(data, path))
        return compile(tree, path, "exec", dont_inherit=True)
    return compile(data, path, "exec", dont_inherit=True)  # with the asserts as written


class _OperandNamer(ast.NodeTransformer):
    """Gives names to the operands of each assert, and a message that shows them."""

    def __init__(self) -> None:
        self._number = itertools.count()
        self._operands: list[tuple[str, str]] = []

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        self._operands = []
        explained = ast.Assert(test=self._named_parts(node.test), msg=None)
        if not self._operands:
            return [node]
        operand_names = [name for _, name in self._operands]
        reset = ast.Assign(
            targets=[ast.Name(name, ast.Store()) for name in operand_names], value=_name(_UNSET_NAME)
        )
        texts = ast.Tuple([ast.Constant(text) for text, _ in self._operands], ast.Load())
        values = ast.Tuple([_name(name) for name in operand_names], ast.Load())
        message = node.msg or ast.Constant(None)
        explained.msg = ast.Call(_name(_MESSAGE_FUNCTION), [message, texts, values], [])
        for statement in (reset, explained):
            ast.copy_location(statement, node)
            ast.fix_missing_locations(statement)
        return [reset, explained]

    def _named_parts(self, node: ast.expr) -> ast.expr:
        """Return the expression with names for the parts that explain why it is false, evaluated in the same order."""
        match node:
            case ast.Compare(left=first, ops=ops, comparators=rest):
                return _at_place_of(
                    ast.Compare(self._operand(first), ops, [self._operand(part) for part in rest]), node
                )
            case ast.BoolOp(op=op, values=parts):
                return _at_place_of(ast.BoolOp(op, [self._named_parts(part) for part in parts]), node)
            case ast.UnaryOp(op=ast.Not() as op, operand=inner):
                return _at_place_of(ast.UnaryOp(op, self._named_parts(inner)), node)
            case ast.Call(func=ast.Name(id=name)) if name in _PREDICATES:
                return self._arguments(node)
            case ast.Call(func=ast.Attribute(value=owner, attr=attr, ctx=ctx)):
                function = _at_place_of(ast.Attribute(self._operand(owner), attr, ctx), node.func)
                return self._operand(
                    node, self._arguments(_at_place_of(ast.Call(function, node.args, node.keywords), node))
                )
            case _:
                return self._operand(node)

    def _operand(self, node: ast.expr, inner: ast.expr | None = None) -> ast.expr:
        if isinstance(node, _PLAIN) or _literal(node):
            return node
        text = ast.unparse(node)
        if inner is None:
            inner = self._arguments(node) if _is_call(node, _MEASURES) else node
        name = f"@{next(self._number)}"
        self._operands.append((text, name))
        return _at_place_of(ast.NamedExpr(ast.Name(name, ast.Store()), inner), node)

    def _arguments(self, node: ast.expr) -> ast.expr:
        """Return a call with names for its arguments, which explain more than that `all(...)` is false."""
        assert isinstance(node, ast.Call)
        simple = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
        named = [self._operand(part) if isinstance(part, simple) else part for part in node.args]
        return _at_place_of(ast.Call(node.func, named, node.keywords), node)


def failure_message(message: object, texts: tuple[str, ...], values: tuple[object, ...]) -> str:
    """Return the message of a failed assert: the test's own, then the values of its operands."""
    lines = [] if message is None else [_shown(message, plain=True)]
    evaluated = [pair for pair in zip(texts, values, strict=True) if not isinstance(pair[1], _UNSHOWN)]
    for text, value in dict.fromkeys((text, _shown(value)) for text, value in evaluated):
        lines.append(f"where {text if len(text) <= 200 else text[:200] + '…'} is {value}")
    return "\n".join(lines)


def _shown(value: object, *, plain: bool = False) -> str:
    try:
        text = str(value) if plain else repr(value)
    except Exception as error:
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"
    return (
        text
        if len(text) <= _MOST_CHARS
        else f"{text[: _MOST_CHARS - 100]} … {text[-80:]} ({len(text)} characters)"
    )


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _at_place_of(expression: ast.expr, node: ast.expr) -> ast.expr:
    return ast.copy_location(expression, node)


def _literal(node: ast.expr) -> bool:
    """Return True if an expression is a literal, such as `[1, 2]` or `-3`."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_call(node: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
