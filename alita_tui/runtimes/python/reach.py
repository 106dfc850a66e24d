"""Follows the possible values of a draft's names through imports, assignments, attributes, containers and calls.

A may-analysis over the syntax tree: flow is ignored, and a name can have every value that it is ever assigned. Values
that cannot be followed are `UNKNOWN`; `anything` lists where the code could access anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from alita_tui.runtimes.python.draft_ast import FUNCTIONS
from alita_tui.runtimes.python.naming import Naming
from alita_tui.runtimes.python.stdlib_modules import attribute, canonical
from alita_tui.runtimes.python.values import (
    LONGEST,
    NOTHING,
    UNKNOWN,
    Own,
    Scope,
    Text,
    Thing,
    Use,
    Value,
    Values,
    fields_of,
)

_ROUNDS = 10
"""Passes over a module; if its values still change after that, it counts as able to access anything."""
_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_RETURN_CONTENT = frozenset("get pop popitem setdefault values items copy __getitem__ append_left".split())
_RETURN_ARGUMENTS = frozenset(
    "iter next list tuple set frozenset dict zip map filter reversed sorted enumerate min max staticmethod classmethod"
    " property super".split()
)
"""Builtins that return their arguments, or items of them."""
_CHOOSERS = frozenset(("builtins.getattr", "builtins.setattr", "builtins.__getattribute__"))


class Reach(Naming):
    """The analysis of one module; see `Naming`."""

    def __init__(self, tree: ast.Module) -> None:
        """Analyse a module. Raises RecursionError if it is nested too deeply."""
        super().__init__(tree)
        top = Scope(None, tree)
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
        """Return what a positional argument of a call can be."""
        return self._arguments.get(argument, UNKNOWN)

    # --- statements ---------------------------------------------------------------------

    def _block(self, body: Iterable[ast.AST], scope: Scope) -> None:
        for node in body:
            self._statement(node, scope)

    def _statement(self, node: ast.AST, scope: Scope) -> None:  # noqa: C901  # one branch per kind reads best
        match node:
            case ast.Import(names=names):
                for alias in names:
                    path = alias.name if alias.asname else alias.name.split(".")[0]
                    self._use(canonical(alias.name), node.lineno)
                    self._bind_name(alias.asname or path, frozenset((Thing(canonical(path)),)), scope)
            case ast.ImportFrom(module=module, names=names, level=0):
                for alias in names:
                    if alias.name == "*":
                        self._use(canonical(module or ""), node.lineno)
                        self._stars += [] if module in self._stars else [module or ""]
                        continue
                    path = attribute(canonical(module or ""), alias.name)
                    self._use(path, node.lineno)
                    self._bind_name(alias.asname or alias.name, frozenset((Thing(path),)), scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                decorated = self._each(node.decorator_list, scope)
                self._bind_name(node.name, self._function(node, scope) | (decorated - UNKNOWN), scope)
            case ast.ClassDef():
                self._each(
                    [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)], scope
                )
                inner = self._scopes.setdefault(node, Scope(scope, node))
                self._block(node.body, inner)
                self._bind_name(node.name, frozenset((Own(node),)), scope)
            case ast.Return(value=value):
                self._add_returned(scope.node, self._value(value, scope))
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
                    values = self._value(item.context_expr, scope)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, values, scope)
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

    def _children(self, node: ast.AST, scope: Scope) -> None:
        self._block(ast.iter_child_nodes(node), scope)

    def _function(self, node: _DEFINES, scope: Scope) -> Values:
        outer = scope
        while isinstance(outer.node, ast.ClassDef) and outer.parent:  # methods do not see the class scope
            outer = outer.parent
        inner = self._scopes.setdefault(node, Scope(outer, node))
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
        for argument, default in zip(
            [*positional, *args.kwonlyargs], [*defaults, *args.kw_defaults], strict=True
        ):
            default_values = self._value(default, scope) if default is not None else NOTHING
            self._bind_name(argument.arg, default_values | UNKNOWN, inner)
        for argument in filter(None, (args.vararg, args.kwarg)):
            self._bind_name(argument.arg, UNKNOWN, inner)
        all_parameters = [*positional, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
        self._each(
            (argument.annotation for argument in all_parameters), scope
        )  # annotations are evaluated too
        self._each([getattr(node, "returns", None)], scope)
        if isinstance(scope.node, ast.ClassDef) and positional:
            self._bind_name(positional[0].arg, frozenset((Own(scope.node),)), inner)
        if isinstance(node, ast.Lambda):
            self._add_returned(node, self._value(node.body, inner))
        else:
            self._block(node.body, inner)
        return frozenset((Own(node),))

    # --- binding ------------------------------------------------------------------------

    def _assign(self, targets: list[ast.expr], value: ast.expr, scope: Scope) -> None:
        for target in targets:
            pairs = ast.Tuple | ast.List
            if isinstance(target, pairs) and isinstance(value, pairs) and len(target.elts) == len(value.elts):
                for element, element_value in zip(target.elts, value.elts, strict=True):
                    self._bind(element, self._value(element_value, scope), scope)
            else:
                self._bind(target, self._value(value, scope), scope)

    # --- expressions --------------------------------------------------------------------

    def _each(self, nodes: Iterable[ast.expr | None], scope: Scope) -> Values:
        values: set[Value] = set()
        for node in nodes:
            if node is not None:
                values |= self._value(node, scope)
        return frozenset(values)

    def _value(self, node: ast.expr | None, scope: Scope) -> Values:  # noqa: C901  # one branch per kind reads best
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
                return self._concatenated((self._value(left, scope), self._value(right, scope)), node.lineno)
            case ast.JoinedStr(values=parts):
                return self._concatenated([self._value(part, scope) for part in parts], node.lineno)
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
                named_values = self._value(value, scope)
                self._bind(target, named_values, scope)
                return named_values
            case ast.Starred(value=value) | ast.Await(value=value):
                return self._value(value, scope)
            case ast.Yield(value=value) | ast.YieldFrom(value=value):
                self._add_returned(scope.node, self._value(value, scope))
                return UNKNOWN
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for generator in node.generators:
                    self._bind(generator.target, self._value(generator.iter, scope), scope)
                    self._each(generator.ifs, scope)
                if isinstance(node, ast.DictComp):
                    return self._each((node.key, node.value), scope)
                return self._value(node.elt, scope)
            case _:
                self._children(node, scope)
                return UNKNOWN

    def _call(self, node: ast.Call, scope: Scope) -> Values:
        receiver = self._value(node.func.value, scope) if isinstance(node.func, ast.Attribute) else UNKNOWN
        if isinstance(node.func, ast.Attribute):
            targets = self._attribute(receiver, node.func.attr, node.func.lineno)
        else:
            targets = self._value(node.func, scope)
        argument_values = [self._value(argument, scope) for argument in node.args]
        self._arguments.update(zip(node.args, argument_values, strict=True))
        keyword_values = {keyword.arg: self._value(keyword.value, scope) for keyword in node.keywords}
        all_values = frozenset().union(*argument_values, *keyword_values.values())
        results: set[Value] = set()
        for target in targets:
            if isinstance(target, Thing):
                self.calls.append((target.path, node))
                results |= self._call_thing(target.path, argument_values, all_values, node.lineno)
            elif isinstance(target, Own):
                self._pass(target.node, argument_values, keyword_values)
                results |= {target} if isinstance(target.node, ast.ClassDef) else self._returned[target.node]
        for value in all_values:
            if isinstance(value, Thing) and value.path in _CHOOSERS:
                self.anything.add(Use(f"{value.path.removeprefix('builtins.')} is handed on", node.lineno))
        if isinstance(node.func, ast.Attribute):
            results |= self._method(node, node.func, receiver, all_values, scope)
        return frozenset(results) or UNKNOWN

    def _call_thing(
        self, path: str, argument_values: list[Values], all_values: Values, line: int
    ) -> set[Value]:
        texts = [{item.text for item in values if isinstance(item, Text)} for values in argument_values]
        match path:
            case "builtins.getattr" | "builtins.setattr" if len(argument_values) >= 2:
                if None in argument_values[1] or not texts[1]:
                    self.anything.add(
                        Use(f"{path.removeprefix('builtins.')} with a name that is not written out", line)
                    )
                if path == "builtins.setattr":
                    self._store(argument_values[0], texts[1], line)
                    return {None}
                return {
                    value for text in texts[1] for value in self._attribute(argument_values[0], text, line)
                }
            case "operator.attrgetter" | "operator.methodcaller":
                for values, names in zip(
                    argument_values[: 1 if path.endswith("methodcaller") else None], texts, strict=False
                ):
                    if None in values or not names:
                        self.anything.add(Use(f"{path} with a name that is not written out", line))
                    for part in (part for text in names for part in text.split(".")):
                        self._use(f"?.{part}", line)
                return set()
            case "builtins.vars" if any(isinstance(item, Thing) for item in all_values):
                self.anything.add(Use("vars of a module", line))
            case "builtins.type" if len(argument_values) == 3:
                self.anything.add(Use("type with three arguments", line))
            case "builtins.__import__" | "importlib.import_module":
                return {Thing(canonical(text)) for text in (texts[0] if texts else ()) if text}
            case "functools.partial" | "functools.partialmethod" | "functools.wraps" | "functools.reduce":
                return set(all_values)
            case _ if path.removeprefix("builtins.") in _RETURN_ARGUMENTS:
                return set(all_values)
            case _ if path.count("()") < 3 and len(path) < LONGEST:
                return {Thing(f"{path}()")}
        return {None}

    def _method(
        self, node: ast.Call, func: ast.Attribute, receiver: Values, all_values: Values, scope: Scope
    ) -> set[Value]:
        """Return the possible results of a method of a container or a text, and record effects on its arguments."""
        match func.attr:
            case "join" if len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
                return set(
                    self._concatenated(
                        [self._value(element, scope) for element in node.args[0].elts], node.lineno
                    )
                )
            case "append" | "add" | "insert" | "extend" | "update" | "setdefault" | "appendleft":
                if isinstance(func.value, ast.Name):
                    self._bind_name(func.value.id, all_values - UNKNOWN, scope)
            case "format" | "format_map":
                for text in (value.text for value in receiver if isinstance(value, Text)):
                    for part in fields_of(text):
                        self._use(f"?.{part}", node.lineno)
            case _:
                pass
        return set(receiver) if func.attr in _RETURN_CONTENT else set()

    def _pass(
        self, function: ast.AST, argument_values: list[Values], keyword_values: dict[str | None, Values]
    ) -> None:
        """Bind a call's arguments to the parameters of a function of the draft."""
        inits = (
            [
                statement
                for statement in function.body
                if isinstance(statement, FUNCTIONS) and statement.name == "__init__"
            ]
            if isinstance(function, ast.ClassDef)
            else []
        )
        target = inits[0] if inits else function
        if not isinstance(target, _DEFINES) or target not in self._scopes:
            return
        scope = self._scopes[target]
        names = [argument.arg for argument in (*target.args.posonlyargs, *target.args.args)][
            1 if inits else 0 :
        ]
        for name, values in zip(names, argument_values, strict=False):
            self._bind_name(name, values, scope)
            if len(names) == len(argument_values) + 1:  # a method call: the first parameter is self
                self._bind_name(names[argument_values.index(values) + 1], values, scope)
        for word, values in keyword_values.items():
            if word is not None:
                self._bind_name(word, values, scope)
