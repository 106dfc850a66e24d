"""Follows texts of the arguments through a draft: through slices, concatenations, `strip` and the like."""

from __future__ import annotations

import ast

from alita_tui.runtimes.python.draft_ast import FUNCTIONS, dotted

_ROUNDS = 6
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef)
_KEEPING_METHODS = frozenset(
    "strip lstrip rstrip lower upper title casefold replace join removeprefix removesuffix split splitlines rsplit copy"
    " partition rpartition expandtabs translate get pop values items keys decode encode format with_suffix joinpath"
    " resolve absolute expanduser".split()
)
_RETURN_ARGUMENTS = frozenset(
    "str repr iter next list tuple sorted reversed enumerate zip map filter dict min max Path PurePath PosixPath fspath"
    " join expanduser abspath normpath realpath cast findall finditer".split()
)
"""Calls that return their arguments in some form."""


class Tainted:
    """Knows which expressions of a module can contain a text from the arguments of `run`."""

    def __init__(self, tree: ast.Module) -> None:
        self._functions = {node.name: node for node in ast.walk(tree) if isinstance(node, _DEFINES)}
        self._names: set[tuple[ast.AST, str]] = set()
        self._within: dict[ast.AST, ast.AST] = {}
        self._note_scopes(tree)
        run = self._functions.get("run")
        if run is not None:
            self._names |= {(run, argument.arg) for argument in (*run.args.args, *run.args.kwonlyargs)}
        for _ in range(_ROUNDS):
            size_before = len(self._names)
            for node in ast.walk(tree):
                self._step(node)
            if len(self._names) == size_before:
                break

    def holds(self, node: ast.expr | None) -> bool:
        """Return True if an expression can be, or contain, a text from the arguments."""
        match node:
            case ast.Name(id=name):
                scope: ast.AST | None = self._within.get(node)
                while scope is not None:
                    if (scope, name) in self._names:
                        return True
                    scope = self._within.get(scope)
                return False
            case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.FormattedValue(value=inner):
                return self.holds(inner)
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                return self.holds(inner)
            case ast.BinOp(left=left, op=ast.Add() | ast.Div() | ast.Mod(), right=right):
                return self.holds(left) or self.holds(right)
            case ast.BoolOp(values=parts) | ast.JoinedStr(values=parts):
                return any(map(self.holds, parts))
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return any(map(self.holds, parts))
            case ast.IfExp(body=body, orelse=orelse):
                return self.holds(body) or self.holds(orelse)
            case ast.ListComp(elt=inner) | ast.GeneratorExp(elt=inner) | ast.SetComp(elt=inner):
                return self.holds(inner)
            case ast.Call(func=func, args=args):
                function_name = dotted(func).split(".")[-1]
                if (
                    isinstance(func, ast.Attribute)
                    and func.attr in _KEEPING_METHODS
                    and self.holds(func.value)
                ):
                    return True
                return (function_name in _RETURN_ARGUMENTS or function_name in self._functions) and any(
                    map(self.holds, args)
                )
            case _:
                return False

    def _note_scopes(self, tree: ast.Module) -> None:
        pending: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
        while pending:
            node, scope = pending.pop()
            inner = node if isinstance(node, FUNCTIONS | ast.Lambda) else scope
            for child in ast.iter_child_nodes(node):
                if child not in self._within and child is not tree:
                    self._within[child] = inner
                pending.append((child, inner))

    def _step(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value) if self.holds(value):
                for target in targets:
                    self._bind(target)
            case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
                if self.holds(value):
                    self._bind(target)
            case ast.NamedExpr(target=target, value=value) if self.holds(value):
                self._bind(target)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                if self.holds(value):
                    self._bind(target)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target) if self.holds(value):
                self._bind(target)
            case ast.Call(func=func, args=args, keywords=keywords):
                function = self._functions.get(dotted(func).split(".")[-1])
                if function is None or function.name == "run":
                    return
                parameters = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
                parameters = parameters[1:] if parameters[:1] in (["self"], ["cls"]) else parameters
                self._names |= {
                    (function, name)
                    for name, value in zip(parameters, args, strict=False)
                    if self.holds(value)
                }
                self._names |= {
                    (function, keyword.arg)
                    for keyword in keywords
                    if keyword.arg and self.holds(keyword.value)
                }
            case _:
                pass

    def _bind(self, target: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._names.add((self._within[node], node.id))
