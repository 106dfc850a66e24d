"""What the names of a draft can stand for, followed through imports, assignments, attributes, containers and calls.

A may-analysis over the syntax tree: flow does not count, what a name is ever given it may be. What cannot be followed
is `UNKNOWN`; who needs to know more asks for `anything`, the places where the code can reach whatever it likes.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable
from string import Formatter
from typing import NamedTuple

from alita_tui.toolsmith.modules import attribute, canonical, is_module
from alita_tui.toolsmith.reading import FUNCTIONS

_ROUNDS = 10
_MOST_VALUES = 48
_LONGEST = 160
_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_OPENING = frozenset(
    "os sys subprocess socket builtins importlib ctypes shutil posix pty pickle marshal io gc inspect".split()
)
"""Modules that are recognised by name wherever they hang: `thing._os` is `os`, whatever the thing is."""
_HOLDERS = frozenset("get pop popitem setdefault values items copy __getitem__ append_left".split())
_PASSING = frozenset(
    "iter next list tuple set frozenset dict zip map filter reversed sorted enumerate min max staticmethod classmethod"
    " property super".split()
)
"""Builtins that give back what they were given."""
_CHOOSERS = frozenset(("builtins.getattr", "builtins.setattr", "builtins.__getattribute__"))


class Thing(NamedTuple):
    """Something reached by an import or a builtin name."""

    path: str
    """Dotted, as the rules know it: `os.system`; the result of a call ends in `()`."""


class Text(NamedTuple):
    """A text that stands in the code."""

    text: str


class Own(NamedTuple):
    """A function or class of the draft."""

    node: ast.AST


Value = Thing | Text | Own | None
Values = frozenset[Value]
UNKNOWN: Values = frozenset((None,))
_NOTHING: Values = frozenset()


class Use(NamedTuple):
    """A name or an attribute that the code speaks of."""

    path: str
    """`?.name` for an attribute of something unknown."""
    line: int


class _Scope:
    """The names of the module, of a function or of a class."""

    def __init__(self, parent: _Scope | None, node: ast.AST) -> None:
        self.parent = parent
        self.node = node
        self.names: defaultdict[str, set[Value]] = defaultdict(set)
        self.elsewhere: dict[str, _Scope] = {}
        """Names declared global or nonlocal."""

    @property
    def top(self) -> _Scope:
        return self.parent.top if self.parent else self


class Reach:
    """Follows one module. `uses` are the names it speaks of; `anything` where it can reach whatever it likes."""

    def __init__(self, tree: ast.Module) -> None:
        """Raises RecursionError where the code is nested too deeply to be followed."""
        self.uses: set[Use] = set()
        self.anything: set[Use] = set()
        """Access that is not written out, as what it is done with."""
        self.stores: set[Use] = set()
        """Attributes of things that are not the draft's own and are given another value."""
        self.calls: list[tuple[str, ast.Call]] = []
        """Calls of things, by path."""
        self.texts: set[tuple[str, int]] = set()
        """Texts that are put together out of others, with their lines."""
        self.all_calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        self._arguments: dict[ast.expr, Values] = {}
        self._scopes: dict[ast.AST, _Scope] = {}
        self._stars: list[str] = []
        self._fields: defaultdict[str, set[Value]] = defaultdict(set)
        """What attributes of this name were given, whatever they belong to."""
        self._returned: defaultdict[ast.AST, set[Value]] = defaultdict(set)
        self._changed = True
        top = _Scope(None, tree)
        for _ in range(_ROUNDS):
            if not self._changed:
                break
            self._changed = False
            for seen in (self.uses, self.anything, self.stores, self.texts, self.calls):
                seen.clear()
            self._block(tree.body, top)
        if self._changed:
            self.anything.add(Use("what its names stand for could not be followed", 0))
        self.top = top

    def values_at(self, argument: ast.expr) -> Values:
        """What a positional argument of a call can be."""
        return self._arguments.get(argument, UNKNOWN)

    # --- statements ---------------------------------------------------------------------

    def _block(self, body: Iterable[ast.AST], scope: _Scope) -> None:
        for node in body:
            self._statement(node, scope)

    def _statement(self, node: ast.AST, scope: _Scope) -> None:  # noqa: C901  # one branch per kind reads best
        match node:
            case ast.Import(names=names):
                for one in names:
                    path = one.name if one.asname else one.name.split(".")[0]
                    self._use(canonical(one.name), node.lineno)
                    self._bind_name(one.asname or path, frozenset((Thing(canonical(path)),)), scope)
            case ast.ImportFrom(module=module, names=names, level=0):
                for one in names:
                    if one.name == "*":
                        self._use(canonical(module or ""), node.lineno)
                        self._stars += [module or ""]
                        continue
                    path = attribute(canonical(module or ""), one.name)
                    self._use(path, node.lineno)
                    self._bind_name(one.asname or one.name, frozenset((Thing(path),)), scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                passed = self._each(node.decorator_list, scope)
                self._bind_name(node.name, self._function(node, scope) | (passed - UNKNOWN), scope)
            case ast.ClassDef():
                self._each([*node.decorator_list, *node.bases, *(one.value for one in node.keywords)], scope)
                inner = self._scopes.setdefault(node, _Scope(scope, node))
                self._block(node.body, inner)
                self._bind_name(node.name, frozenset((Own(node),)), scope)
            case ast.Return(value=value):
                self._give(scope.node, self._value(value, scope))
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value, scope)
            case ast.AnnAssign(target=target, value=value, annotation=annotation):
                self._value(annotation, scope)
                if value is not None:
                    self._assign([target], value, scope)
            case ast.AugAssign(target=target, value=value):
                self._bind(target, self._value(value, scope) | UNKNOWN, scope)
            case ast.For(target=target, iter=source) | ast.AsyncFor(target=target, iter=source):
                self._bind(target, self._value(source, scope), scope)
                self._block([*node.body, *node.orelse], scope)
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    given = self._value(item.context_expr, scope)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, given, scope)
                self._block(node.body, scope)
            case ast.Global(names=names):
                scope.elsewhere.update(dict.fromkeys(names, scope.top))
            case ast.Nonlocal(names=names):
                scope.elsewhere.update(dict.fromkeys(names, scope.parent or scope.top))
            case ast.ExceptHandler(name=name):
                if name:
                    self._bind_name(name, UNKNOWN, scope)
                self._children(node, scope)
            case ast.MatchAs(name=name) | ast.MatchStar(name=name):
                if name:
                    self._bind_name(name, UNKNOWN, scope)
                self._children(node, scope)
            case ast.expr():
                self._value(node, scope)
            case _:
                self._children(node, scope)

    def _children(self, node: ast.AST, scope: _Scope) -> None:
        self._block(ast.iter_child_nodes(node), scope)

    def _function(self, node: _DEFINES, scope: _Scope) -> Values:
        outer = scope
        while isinstance(outer.node, ast.ClassDef) and outer.parent:  # a class is no scope for its methods
            outer = outer.parent
        inner = self._scopes.setdefault(node, _Scope(outer, node))
        args = node.args
        plain = [*args.posonlyargs, *args.args]
        defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
        for one, default in zip([*plain, *args.kwonlyargs], [*defaults, *args.kw_defaults], strict=True):
            given = self._value(default, scope) if default is not None else _NOTHING
            self._bind_name(one.arg, given | UNKNOWN, inner)
        for one in filter(None, (args.vararg, args.kwarg)):
            self._bind_name(one.arg, UNKNOWN, inner)
        named = [*plain, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
        self._each((one.annotation for one in named), scope)  # they are evaluated as well
        self._each([getattr(node, "returns", None)], scope)
        if isinstance(scope.node, ast.ClassDef) and plain:
            self._bind_name(plain[0].arg, frozenset((Own(scope.node),)), inner)
        if isinstance(node, ast.Lambda):
            self._give(node, self._value(node.body, inner))
        else:
            self._block(node.body, inner)
        return frozenset((Own(node),))

    # --- binding ------------------------------------------------------------------------

    def _assign(self, targets: list[ast.expr], value: ast.expr, scope: _Scope) -> None:
        for target in targets:
            pairs = ast.Tuple | ast.List
            if isinstance(target, pairs) and isinstance(value, pairs) and len(target.elts) == len(value.elts):
                for one, given in zip(target.elts, value.elts, strict=True):
                    self._bind(one, self._value(given, scope), scope)
            else:
                self._bind(target, self._value(value, scope), scope)

    def _bind(self, target: ast.expr, given: Values, scope: _Scope) -> None:
        match target:
            case ast.Name(id=name):
                self._bind_name(name, given, scope)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._bind(part, given, scope)
            case ast.Starred(value=inner):
                self._bind(inner, given, scope)
            case ast.Attribute(value=owner, attr=name):
                self._store(self._value(owner, scope), (name,), target.lineno)
                self._use(f"?.{name}", target.lineno)
                self._grow(self._fields[name], given)
            case ast.Subscript(value=owner, slice=key):
                self._value(key, scope)
                held = self._value(owner, scope)
                for one in held:
                    if isinstance(one, Thing):
                        self.stores.add(Use(f"{one.path}[]", target.lineno))
                if isinstance(owner, ast.Name):  # a container holds what is put into it
                    self._bind_name(owner.id, given, scope)
            case _:
                pass

    def _store(self, owners: Values, names: Iterable[str], line: int) -> None:
        """Attributes of something are given another value."""
        for one in owners:
            if isinstance(one, Thing):
                self.stores.update(Use(f"{one.path}.{name}", line) for name in names)

    def _bind_name(self, name: str, given: Values, scope: _Scope) -> None:
        self._grow(scope.elsewhere.get(name, scope).names[name], given)

    def _grow(self, known: set[Value], given: Iterable[Value]) -> None:
        new = set(given) - known
        if new and len(known) < _MOST_VALUES:
            known.update(new)
            self._changed = True

    def _give(self, function: ast.AST, given: Values) -> None:
        self._grow(self._returned[function], given)

    # --- expressions --------------------------------------------------------------------

    def _each(self, nodes: Iterable[ast.expr | None], scope: _Scope) -> Values:
        found: set[Value] = set()
        for node in nodes:
            if node is not None:
                found |= self._value(node, scope)
        return frozenset(found)

    def _value(self, node: ast.expr | None, scope: _Scope) -> Values:  # noqa: C901  # one branch per kind reads best
        match node:
            case None:
                return UNKNOWN
            case ast.Constant(value=str() as text):
                return frozenset((Text(text),))
            case ast.Name(id=name, ctx=ast.Load()):
                return self._name(name, node.lineno, scope)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(self._value(owner, scope), name, node.lineno)
            case ast.Call():
                return self._call(node, scope)
            case ast.Subscript(value=owner, slice=key):
                self._value(key, scope)
                return self._value(owner, scope) | UNKNOWN
            case ast.Lambda():
                return self._function(node, scope)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._together((self._value(left, scope), self._value(right, scope)), node.lineno)
            case ast.JoinedStr(values=parts):
                return self._together([self._value(part, scope) for part in parts], node.lineno)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._value(test, scope)
                return self._each((body, orelse), scope)
            case (
                ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts)
            ):
                return self._each(parts, scope)
            case ast.Dict(keys=keys, values=values):
                self._each(keys, scope)
                return self._each(values, scope)
            case ast.NamedExpr(target=target, value=value):
                given = self._value(value, scope)
                self._bind(target, given, scope)
                return given
            case ast.Starred(value=value) | ast.Await(value=value):
                return self._value(value, scope)
            case ast.Yield(value=value) | ast.YieldFrom(value=value):
                self._give(scope.node, self._value(value, scope))
                return UNKNOWN
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for one in node.generators:
                    self._bind(one.target, self._value(one.iter, scope), scope)
                    self._each(one.ifs, scope)
                if isinstance(node, ast.DictComp):
                    return self._each((node.key, node.value), scope)
                return self._value(node.elt, scope)
            case _:
                self._children(node, scope)
                return UNKNOWN

    def _name(self, name: str, line: int, scope: _Scope) -> Values:
        within: _Scope | None = scope.elsewhere.get(name, scope)
        while within is not None:
            if name in within.names:
                found = frozenset(within.names[name])
                for one in found:
                    if isinstance(one, Thing) and not is_module(
                        one.path
                    ):  # those are told where they are imported
                        self._use(one.path, line)
                return found
            within = within.parent
        for module in self._stars:
            self._use(attribute(canonical(module), name), line)
        starred = frozenset(Thing(attribute(canonical(one), name)) for one in self._stars)
        if hasattr(builtins, name) or (name.startswith("__") and name.endswith("__")):
            self._use(f"builtins.{name}", line)
            return starred | {Thing(f"builtins.{name}")}
        return starred or UNKNOWN

    def _attribute(self, owners: Values, name: str, line: int) -> Values:
        found: set[Value] = set(self._fields.get(name, ()))
        things = [one for one in owners if isinstance(one, Thing)]
        for one in owners:
            if isinstance(one, Own) and one.node in self._scopes and isinstance(one.node, ast.ClassDef):
                found |= self._scopes[one.node].names.get(name, set())
        for one in things:
            if name == "__dict__" and is_module(one.path):
                self.anything.add(Use(f"{one.path}.__dict__", line))
            path = attribute(one.path, name)
            if name.strip("_") in _OPENING and not is_module(path) and one.path.split(".")[0] != name:
                path = canonical(name.strip("_"))
            if len(path) <= _LONGEST:
                found.add(Thing(path))
                self._use(path, line)
        if not things:
            self._use(f"?.{name}", line)
            if name.strip("_") in _OPENING:
                found.add(Thing(canonical(name.strip("_"))))
        return frozenset(found) | (owners & UNKNOWN) or UNKNOWN

    def _call(self, node: ast.Call, scope: _Scope) -> Values:
        held = self._value(node.func.value, scope) if isinstance(node.func, ast.Attribute) else UNKNOWN
        if isinstance(node.func, ast.Attribute):
            called = self._attribute(held, node.func.attr, node.func.lineno)
        else:
            called = self._value(node.func, scope)
        given = [self._value(one, scope) for one in node.args]
        self._arguments.update(zip(node.args, given, strict=True))
        named = {one.arg: self._value(one.value, scope) for one in node.keywords}
        everything = frozenset().union(*given, *named.values())
        found: set[Value] = set()
        for one in called:
            if isinstance(one, Thing):
                self.calls.append((one.path, node))
                found |= self._call_thing(one.path, given, everything, node.lineno)
            elif isinstance(one, Own):
                self._pass(one.node, given, named)
                found |= {one} if isinstance(one.node, ast.ClassDef) else self._returned[one.node]
        for one in everything:
            if isinstance(one, Thing) and one.path in _CHOOSERS:
                self.anything.add(Use(f"{one.path.removeprefix('builtins.')} is handed on", node.lineno))
        if isinstance(node.func, ast.Attribute):
            found |= self._method(node, node.func, held, everything, scope)
        return frozenset(found) or UNKNOWN

    def _call_thing(self, path: str, given: list[Values], everything: Values, line: int) -> set[Value]:
        texts = [{one.text for one in values if isinstance(one, Text)} for values in given]
        match path:
            case "builtins.getattr" | "builtins.setattr" if len(given) >= 2:
                if None in given[1] or not texts[1]:
                    self.anything.add(
                        Use(f"{path.removeprefix('builtins.')} with a name that is not written out", line)
                    )
                if path == "builtins.setattr":
                    self._store(given[0], texts[1], line)
                    return {None}
                return {value for text in texts[1] for value in self._attribute(given[0], text, line)}
            case "operator.attrgetter" | "operator.methodcaller":
                for values, listed in zip(
                    given[: 1 if path.endswith("methodcaller") else None], texts, strict=False
                ):
                    if None in values or not listed:
                        self.anything.add(Use(f"{path} with a name that is not written out", line))
                    for part in (part for text in listed for part in text.split(".")):
                        self._use(f"?.{part}", line)
                return set()
            case "builtins.vars" if any(isinstance(one, Thing) for one in everything):
                self.anything.add(Use("vars of a module", line))
            case "builtins.type" if len(given) == 3:
                self.anything.add(Use("type with three arguments", line))
            case "builtins.__import__" | "importlib.import_module":
                return {Thing(canonical(text)) for text in (texts[0] if texts else ()) if text}
            case "functools.partial" | "functools.partialmethod" | "functools.wraps" | "functools.reduce":
                return set(everything)
            case _ if path.removeprefix("builtins.") in _PASSING:
                return set(everything)
            case _ if path.count("()") < 3 and len(path) < _LONGEST:
                return {Thing(f"{path}()")}
        return {None}

    def _method(
        self, node: ast.Call, func: ast.Attribute, held: Values, everything: Values, scope: _Scope
    ) -> set[Value]:
        """What a method of a container or a text gives, and what it does with its arguments."""
        match func.attr:
            case "join" if len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
                return set(
                    self._together([self._value(one, scope) for one in node.args[0].elts], node.lineno)
                )
            case "append" | "add" | "insert" | "extend" | "update" | "setdefault" | "appendleft":
                if isinstance(func.value, ast.Name):
                    self._bind_name(func.value.id, everything - UNKNOWN, scope)
            case "format" | "format_map":
                for text in (one.text for one in held if isinstance(one, Text)):
                    for part in _fields_of(text):
                        self._use(f"?.{part}", node.lineno)
            case _:
                pass
        return set(held) if func.attr in _HOLDERS else set()

    def _pass(self, function: ast.AST, given: list[Values], named: dict[str | None, Values]) -> None:
        """Bind a call's arguments to the parameters of a function of the draft."""
        inits = (
            [one for one in function.body if isinstance(one, FUNCTIONS) and one.name == "__init__"]
            if isinstance(function, ast.ClassDef)
            else []
        )
        target = inits[0] if inits else function
        if not isinstance(target, _DEFINES) or target not in self._scopes:
            return
        scope = self._scopes[target]
        names = [one.arg for one in (*target.args.posonlyargs, *target.args.args)][1 if inits else 0 :]
        for name, values in zip(names, given, strict=False):
            self._bind_name(name, values, scope)
            if len(names) == len(given) + 1:  # called as a method, which has its own first argument
                self._bind_name(names[given.index(values) + 1], values, scope)
        for word, values in named.items():
            if word is not None:
                self._bind_name(word, values, scope)

    def _together(self, parts: Iterable[Values], line: int) -> Values:
        whole = _joined(parts)
        self.texts |= {(one.text, line) for one in whole if isinstance(one, Text)}
        return whole

    def _use(self, path: str, line: int) -> None:
        self.uses.add(Use(path, line))


def _joined(parts: Iterable[Values]) -> Values:
    """The texts that a concatenation can be; unknown where a part is."""
    whole = [""]
    for values in parts:
        texts = [one.text for one in values if isinstance(one, Text)]
        if not texts or len(texts) < len(values) or len(whole) * len(texts) > _MOST_VALUES:
            return UNKNOWN
        whole = [start + text for start in whole for text in texts]
        if max(map(len, whole)) > _LONGEST:
            return UNKNOWN
    return frozenset(map(Text, whole))


def _fields_of(text: str) -> list[str]:
    """The attributes that a format text looks up: `{0.name}`."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(text) if name]
    except ValueError:
        return []
    return [part.split("[")[0] for name in names for part in name.split(".")[1:]]
