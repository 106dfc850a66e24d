"""Evaluates the constant expressions of a draft: texts in pieces, backwards, encoded. No code of the draft is run."""

from __future__ import annotations

import ast
import base64
import codecs
import string
from binascii import Error as NoBase64
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

_LONGEST = 4096
"""Maximum characters or items of a value that is computed."""
_DEEPEST = 40
_STEPS = 20_000
"""Expressions visited in one module: they may refer to each other many times."""
_DECODES: dict[str, Callable[[Any], Any]] = {
    "b64decode": base64.b64decode, "standard_b64decode": base64.b64decode, "b32decode": base64.b32decode,
    "urlsafe_b64decode": base64.urlsafe_b64decode, "b16decode": base64.b16decode, "a85decode": base64.a85decode,
    "b85decode": base64.b85decode, "decodebytes": base64.decodebytes, "fromhex": bytes.fromhex,
    "unhexlify": bytes.fromhex, "a2b_hex": bytes.fromhex, "a2b_base64": base64.b64decode, "bytes": bytes,
    "bytearray": bytes, "chr": chr, "ord": ord, "str": str, "int": int, "list": list, "tuple": tuple,
    "reversed": lambda items: list(items)[::-1], "sorted": sorted, "dedent": lambda items: items, "len": len,
}  # fmt: skip
"""Calls of one constant, by their last name."""
_METHODS = frozenset(
    "join replace strip lstrip rstrip lower upper title swapcase casefold removeprefix removesuffix encode decode"
    " format split hex zfill".split()
)
_CODECS = frozenset("rot13 rot_13 hex hex_codec base64 base64_codec utf-8 utf8 ascii latin-1".split())
_FOLDING_ERRORS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, NoBase64, RecursionError, TypeError,
    UnicodeError, ValueError,
)  # fmt: skip


class _Unknown(Exception):
    """The expression is not constant."""


class Folding:
    """The constants of one module, with the names that are assigned exactly once."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._steps = 0
        assignment_counts = Counter(name for node in ast.walk(tree) for name in _binds(node))
        self._names: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            for target, value in _assigned(node):
                if isinstance(target, ast.Name) and assignment_counts[target.id] == 1:
                    self._names[target.id] = value
        self._items: dict[str, list[object]] = {}
        """Names that take each item of a constant in turn while a comprehension is evaluated."""

    def value(self, node: ast.expr | None) -> object:
        """Return the constant that an expression evaluates to; None if it is not constant."""
        try:
            return self._of(node, 0)
        except (_Unknown, *_FOLDING_ERRORS):
            return None

    def text(self, node: ast.expr | None) -> str | None:
        """Return the text that an expression evaluates to, bytes as text; None if it is not constant."""
        item = self.value(node)
        if isinstance(item, bytes):
            return item.decode("latin-1")
        return item if isinstance(item, str) else None

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield each text that is computed from constants, with its first line."""
        inner: set[int] = set()
        for node in ast.walk(self._tree):  # parents come before their children
            if (
                not isinstance(node, ast.BinOp | ast.JoinedStr | ast.Call | ast.Subscript)
                or id(node) in inner
            ):
                continue
            text = self.text(node)
            if text is not None:
                inner.update(map(id, ast.walk(node)))
                yield node.lineno, text

    def _of(self, node: ast.AST | None, depth: int) -> Any:
        self._steps += 1
        if depth > _DEEPEST or self._steps > _STEPS:
            raise _Unknown
        match node:
            case ast.Constant(value=str() | bytes() | int() as value):
                return value
            case ast.Name(id=name) if name in self._items:
                return self._items[name][-1]
            case ast.Name(id=name) if name in self._names:
                return self._of(self._names[name], depth + 1)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return _limited([self._of(part, depth + 1) for part in parts])
            case ast.JoinedStr(values=parts):
                return _limited("".join(str(self._of(part, depth + 1)) for part in parts))
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                return self._of(inner, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._of(inner, depth + 1)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(self._of(left, depth + 1), op, self._of(right, depth + 1))
            case ast.Subscript(value=inner, slice=key):
                container = self._of(inner, depth + 1)
                if isinstance(key, ast.Slice):
                    bounds = (key.lower, key.upper, key.step)
                    return container[
                        slice(*(None if bound is None else self._of(bound, depth + 1) for bound in bounds))
                    ]
                return container[self._of(key, depth + 1)]
            case (
                ast.ListComp(elt=elt, generators=[generator])
                | ast.GeneratorExp(elt=elt, generators=[generator])
            ):
                return self._comprehension(elt, generator, depth)
            case ast.Call():
                return self._call(node, depth)
            case _:
                raise _Unknown

    def _operation(self, left: Any, op: ast.operator, right: Any) -> Any:
        numbers = isinstance(left, int) and isinstance(right, int)
        match op:
            case ast.Add():
                return _limited(left + right)
            case ast.Sub() if numbers:
                return left - right
            case ast.BitXor() if numbers:
                return left ^ right
            case ast.FloorDiv() if numbers:
                return left // right
            case ast.Pow() | ast.LShift() if numbers and abs(left) < 1 << 16 and 0 <= right <= 32:
                return left**right if isinstance(op, ast.Pow) else left << right
            case ast.Mult() if numbers and max(abs(left), abs(right)) < 1 << 32:
                return left * right
            case ast.Mult():
                count = right if isinstance(right, int) else left
                sequence = left if isinstance(right, int) else right
                if isinstance(sequence, int) or count * len(sequence) > _LONGEST:
                    raise _Unknown
                return left * right
            case ast.Mod() if isinstance(left, str) and not any(
                sign in left for sign in ("*", ".", "0", "1", "9")
            ):
                return _limited(left % (tuple(right) if isinstance(right, list) else right))
            case _:
                raise _Unknown

    def _comprehension(self, elt: ast.expr, generator: ast.comprehension, depth: int) -> list[Any]:
        if generator.ifs or not isinstance(generator.target, ast.Name):
            raise _Unknown
        source = _limited(self._of(generator.iter, depth + 1))
        stack = self._items.setdefault(generator.target.id, [])
        results = []
        try:
            for item in source:
                stack.append(item)
                try:
                    results.append(self._of(elt, depth + 1))
                finally:
                    stack.pop()
        finally:
            if not stack:
                del self._items[generator.target.id]
        return results

    def _call(self, node: ast.Call, depth: int) -> Any:
        if any(isinstance(argument, ast.Starred) for argument in node.args) or len(node.args) > 40:
            raise _Unknown
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "map" and len(node.args) == 2:
            function = getattr(node.args[0], "id", "")
            decode = _DECODES[function]
            return [decode(item) for item in _limited(self._of(node.args[1], depth + 1))]
        arguments = [self._of(argument, depth + 1) for argument in node.args]
        if isinstance(node.func, ast.Attribute) and name in _METHODS:
            try:
                receiver = self._of(node.func.value, depth + 1)
            except _Unknown:
                receiver = None
            if isinstance(receiver, str | bytes):
                return self._method(receiver, name, arguments, node.keywords, depth)
        if name == "decode" and len(arguments) == 2 and arguments[1] in _CODECS:  # codecs.decode
            return _limited(codecs.decode(arguments[0], arguments[1]))
        if name in _DECODES and len(arguments) == 1 and not node.keywords:
            if name in ("bytes", "bytearray") and not isinstance(arguments[0], list | bytes):
                raise _Unknown
            return _limited(_DECODES[name](arguments[0]))
        raise _Unknown

    def _method(
        self, receiver: Any, name: str, arguments: list[Any], keywords: list[ast.keyword], depth: int
    ) -> Any:
        if name == "format":
            if any(spec or conversion for _, _, spec, conversion in string.Formatter().parse(receiver)):
                raise _Unknown
            words = {item.arg: self._of(item.value, depth + 1) for item in keywords if item.arg}
            named_values = {key: value for key, value in words.items() if isinstance(value, str | int)}
            return _limited(
                receiver.format(*(item for item in arguments if isinstance(item, str | int)), **named_values)
            )
        if keywords or (name == "zfill" and arguments[0] > _LONGEST):
            raise _Unknown
        if name == "replace" and len(receiver) * (1 + len(arguments[1])) > 8 * _LONGEST:
            raise _Unknown
        return _limited(getattr(receiver, name)(*arguments))


def _limited(value: Any) -> Any:
    if isinstance(value, str | bytes | list | tuple) and len(value) > _LONGEST:
        raise _Unknown
    return value


def _binds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                pairs = ast.Tuple | ast.List
                if (
                    isinstance(target, pairs)
                    and isinstance(value, pairs)
                    and len(target.elts) == len(value.elts)
                ):
                    yield from zip(target.elts, value.elts, strict=True)
                else:
                    yield target, value
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            yield target, value
        case _:
            pass
