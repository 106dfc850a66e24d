"""Binds the names of a draft, looks them up, and records everything that the code refers to."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable

from alita_tui.runtimes.python.stdlib_modules import attribute, canonical, is_module
from alita_tui.runtimes.python.values import (
    LONGEST,
    MOST_VALUES,
    UNKNOWN,
    Own,
    Scope,
    Text,
    Thing,
    Use,
    Value,
    Values,
    joined,
)

_OPENING = frozenset(
    "os sys subprocess socket builtins importlib ctypes shutil posix pty pickle marshal io gc inspect".split()
)
"""Modules that are recognised by name on any object: `thing._os` is `os`, whatever the thing is."""


class Naming:
    """The names of one module: their values, and which of them the code refers to.

    `uses` are the references; `anything` is where the code can reach whatever it likes.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.uses: set[Use] = set()
        self.anything: set[Use] = set()
        """Dynamic access, as the operation that makes it."""
        self.stores: set[Use] = set()
        """Attributes of foreign objects that are assigned."""
        self.calls: list[tuple[str, ast.Call]] = []
        """Calls of foreign objects, by path."""
        self.texts: set[tuple[str, int]] = set()
        """Texts that are put together from others, with their lines."""
        self.all_calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        self._arguments: dict[ast.expr, Values] = {}
        self._scopes: dict[ast.AST, Scope] = {}
        self._stars: list[str] = []
        self._fields: defaultdict[str, set[Value]] = defaultdict(set)
        """Values assigned to attributes of this name, whatever object they belong to."""
        self._returned: defaultdict[ast.AST, set[Value]] = defaultdict(set)
        self._changed = True

    def _value(self, node: ast.expr | None, scope: Scope) -> Values:
        """Return what an expression can be."""
        raise NotImplementedError

    # --- binding ------------------------------------------------------------------------

    def _bind(self, target: ast.expr, given: Values, scope: Scope) -> None:
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
                for value in held:
                    if isinstance(value, Thing):
                        self.stores.add(Use(f"{value.path}[]", target.lineno))
                if isinstance(owner, ast.Name):  # a container holds what is put into it
                    self._bind_name(owner.id, given, scope)
            case _:
                pass

    def _store(self, owners: Values, names: Iterable[str], line: int) -> None:
        """Record that attributes of these objects are assigned."""
        for owner in owners:
            if isinstance(owner, Thing):
                self.stores.update(Use(f"{owner.path}.{name}", line) for name in names)

    def _bind_name(self, name: str, given: Values, scope: Scope) -> None:
        self._grow(scope.elsewhere.get(name, scope).names[name], given)

    def _grow(self, known: set[Value], given: Iterable[Value]) -> None:
        new = set(given) - known
        if new and len(known) < MOST_VALUES:
            known.update(new)
            self._changed = True

    def _give(self, function: ast.AST, given: Values) -> None:
        self._grow(self._returned[function], given)

    # --- looking up ---------------------------------------------------------------------

    def _name(self, name: str, line: int, scope: Scope) -> Values:
        within: Scope | None = scope.elsewhere.get(name, scope)
        while within is not None:
            if name in within.names:
                values = frozenset(within.names[name])
                for value in values:
                    if isinstance(value, Thing) and not is_module(
                        value.path
                    ):  # those are recorded where they are imported
                        self._use(value.path, line)
                return values
            within = within.parent
        for module in self._stars:
            self._use(attribute(canonical(module), name), line)
        starred = frozenset(Thing(attribute(canonical(star), name)) for star in self._stars)
        if hasattr(builtins, name) or (name.startswith("__") and name.endswith("__")):
            self._use(f"builtins.{name}", line)
            return starred | {Thing(f"builtins.{name}")}
        return starred or UNKNOWN

    def _attribute(self, owners: Values, name: str, line: int) -> Values:
        values: set[Value] = set(self._fields.get(name, ()))
        things = [owner for owner in owners if isinstance(owner, Thing)]
        for owner in owners:
            if isinstance(owner, Own) and owner.node in self._scopes and isinstance(owner.node, ast.ClassDef):
                values |= self._scopes[owner.node].names.get(name, set())
        for thing in things:
            if name == "__dict__" and is_module(thing.path):
                self.anything.add(Use(f"{thing.path}.__dict__", line))
            path = attribute(thing.path, name)
            if name.strip("_") in _OPENING and not is_module(path) and thing.path.split(".")[0] != name:
                path = canonical(name.strip("_"))
            if len(path) <= LONGEST:
                values.add(Thing(path))
                self._use(path, line)
        if not things:
            self._use(f"?.{name}", line)
            if name.strip("_") in _OPENING:
                values.add(Thing(canonical(name.strip("_"))))
        return frozenset(values) | (owners & UNKNOWN) or UNKNOWN

    def _together(self, parts: Iterable[Values], line: int) -> Values:
        whole = joined(parts)
        self.texts |= {(value.text, line) for value in whole if isinstance(value, Text)}
        return whole

    def _use(self, path: str, line: int) -> None:
        self.uses.add(Use(path, line))
