"""Determines which literal addresses a draft opens: of a host that it requests, or of the broker."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from alita_tui.events import Capabilities
from alita_tui.runtimes.python.draft_ast import FUNCTIONS, dotted
from alita_tui.spine.grants import host_grants
from alita_tui.spine.syntax import try_parse

_DEEPEST = 8
_URL = re.compile(r"(https?)://([A-Za-z0-9.-]+)(?::(\d{1,5}))?(?=[/?#]|$)")
_OPENERS = ("urlopen", "Request", "urlretrieve")
_BROKER = ("os.environ", "os.environ.get", "os.getenv", "environ", "environ.get", "getenv")
_PREFIX_KEEPING = ("strip", "rstrip", "format", "removesuffix")


def lines_opening(code: str, capabilities: Capabilities) -> frozenset[int]:
    """Return the lines on which every opened address is one that the draft requests, whatever the arguments are."""
    if (tree := try_parse(code)) is None:
        return frozenset()
    starts = _Starts(tree)
    hosts = frozenset(grant.where for grant in host_grants(capabilities))
    brokered = capabilities.brokered
    verdicts: defaultdict[int, list[bool]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in _OPENERS:
            beginnings = starts.of(_address(node))
            granted = bool(beginnings) and all(
                _granted(start, hosts, brokered=brokered) for start in beginnings
            )
            verdicts[node.lineno].append(granted)
    return frozenset(line for line, granted in verdicts.items() if all(granted))


def _granted(start: str | None, hosts: frozenset[str], *, brokered: bool) -> bool:
    if (start or "").partition("/")[0] == _Starts.BROKER:
        return brokered
    match = _URL.match(start or "")
    if match is None:
        return False
    return f"{match[2].lower()}:{match[3] or {'http': 80, 'https': 443}[match[1]]}" in hosts


def _address(call: ast.Call) -> ast.expr | None:
    return (
        call.args[0] if call.args else next((word.value for word in call.keywords if word.arg == "url"), None)
    )


class _Starts:
    """How texts in a module can begin, as far as that is constant."""

    BROKER = "ALITA_BROKER"

    def __init__(self, tree: ast.Module) -> None:
        self._scope: dict[ast.AST, ast.AST] = {}
        self._values: defaultdict[tuple[ast.AST, str], list[ast.expr | None]] = defaultdict(list)
        self._functions = {node.name: node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)}
        self._extended: set[tuple[ast.AST, str]] = set()
        self._tree = tree
        self._note(tree, tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self._pass(node, self._functions.get(node.func.id))

    def of(self, node: ast.expr | None, levels: int = _DEEPEST) -> list[str | None]:
        """Return every possible beginning of an expression; None for an unknown one."""
        if node is None or not levels:
            return [None]
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.JoinedStr(values=[first, *rest]):
                first = first.value if isinstance(first, ast.FormattedValue) else first
                return self._beginnings_of_sum(first, rest[0] if rest else ast.Constant(""), levels)
            case ast.BinOp(left=left, op=ast.Add() | ast.Mod() as op, right=right):
                return self._beginnings_of_sum(left, right if isinstance(op, ast.Add) else None, levels)
            case ast.BoolOp(op=ast.Or(), values=parts):
                return [start for part in parts for start in self.of(part, levels - 1)]
            case ast.IfExp(body=body, orelse=orelse):
                return self.of(body, levels - 1) + self.of(orelse, levels - 1)
            case ast.Subscript(value=owner, slice=ast.Constant(value=self.BROKER)) if (
                dotted(owner) in _BROKER
            ):
                return [self.BROKER]
            case ast.Call(func=func, args=[ast.Constant(value=self.BROKER), *rest]) if (
                dotted(func) in _BROKER
            ):
                return [self.BROKER] if all(map(_empty, rest)) else [None]
            case ast.Call(func=func) if dotted(func).split(".")[-1] in _OPENERS:
                return self.of(_address(node), levels - 1)
            case ast.Call(func=ast.Attribute(value=text, attr=attr)) if attr in _PREFIX_KEEPING:
                return (
                    self._beginnings_of_sum(text, None, levels)
                    if attr == "format"
                    else self.of(text, levels - 1)
                )
            case ast.Name(id=name):
                return self._named(node, name, levels)
            case _:
                return [None]

    def _beginnings_of_sum(
        self, first: ast.expr, following: ast.expr | None, levels: int
    ) -> list[str | None]:
        """Return the beginnings of a text that is followed by another one, which may not change the host."""
        following_text = following.value if isinstance(following, ast.Constant) else None
        return [
            _extended_by(start, following_text if isinstance(following_text, str) else None)
            for start in self.of(first, levels - 1)
        ]

    def _named(self, node: ast.expr, name: str, levels: int) -> list[str | None]:
        scope = self._scope.get(node, self._tree)
        values = self._values.get((scope, name)) or self._values.get((self._tree, name))
        starts = [start for value in values or [None] for start in self.of(value, levels - 1)]
        is_extended = {(scope, name), (self._tree, name)} & self._extended
        return [_extended_by(start, None) for start in starts] if is_extended else starts

    def _note(self, node: ast.AST, scope: ast.AST) -> None:
        pending = [(node, scope)]
        while pending:
            node, scope = pending.pop()
            self._scope[node] = scope
            inner = node if isinstance(node, FUNCTIONS) else scope
            pending += [(child, inner) for child in ast.iter_child_nodes(node)]
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._bind(scope, target, value)
                case ast.AnnAssign(target=target, value=value) if value is not None:
                    self._bind(scope, target, value)
                case ast.NamedExpr(target=target, value=value):
                    self._bind(scope, target, value)
                case ast.AugAssign(target=ast.Name(id=name)):
                    self._extended.add((scope, name))
                case ast.For(target=target) | ast.comprehension(target=target):
                    self._bind(scope, target, None)
                case ast.FunctionDef() if node.name == "run":
                    for argument in (*node.args.args, *node.args.kwonlyargs):
                        self._values[node, argument.arg].append(None)
                case _:
                    pass

    def _bind(self, scope: ast.AST, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._values[scope, target.id].append(value)
        else:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self._values[scope, node.id].append(None)

    def _pass(self, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> None:
        """Record the arguments with which a function of the module is called."""
        if function is None or function.name == "run":
            return
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        arguments = dict(zip(names, call.args, strict=False)) | {
            word.arg: word.value for word in call.keywords if word.arg
        }
        for name in names:
            self._values[function, name].append(arguments.get(name))


def _extended_by(start: str | None, added: str | None) -> str | None:
    """Return the beginning of a text after another one is added; None where that can change the host in it."""
    if start is None:
        return None
    if start == _Starts.BROKER:
        return f"{start}/" if (added or "").startswith("/") else None
    if start.startswith(f"{_Starts.BROKER}/"):
        return start
    if added is not None:
        return start + added
    match = _URL.match(start)
    return start if match is not None and len(start) > match.end() else None


def _empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in ("", None)
