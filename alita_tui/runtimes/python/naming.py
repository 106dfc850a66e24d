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

_POWERFUL_MODULES = frozenset(
    "os sys subprocess socket builtins importlib ctypes shutil posix pty pickle marshal io gc inspect".split()
)
"""Modules that are recognised by their name on any object: `thing._os` counts as `os`, whatever `thing` is."""


class Naming:
    """The names of one module: their values, and which of them the code refers to.

    `uses` are the references; `anything` lists where the code could access anything.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.uses: set[Use] = set()
        self.anything: set[Use] = set()
        """Dynamic access: the operation, and its line."""
        self.stores: set[Use] = set()
        """Attributes of foreign objects that are assigned."""
        self.calls: list[tuple[str, ast.Call]] = []
        """Calls of foreign objects, by path."""
        self.texts: set[tuple[str, int]] = set()
        """Texts that are concatenated from others, with their lines."""
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

    def _bind(self, target: ast.expr, values: Values, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                self._bind_name(name, values, scope)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._bind(part, values, scope)
            case ast.Starred(value=inner):
                self._bind(inner, values, scope)
            case ast.Attribute(value=owner, attr=name):
                self._store(self._value(owner, scope), (name,), target.lineno)
                self._use(f"?.{name}", target.lineno)
                self._add_values(self._fields[name], values)
            case ast.Subscript(value=owner, slice=key):
                self._value(key, scope)
                containers = self._value(owner, scope)
                for container in containers:
                    if isinstance(container, Thing):
                        self.stores.add(Use(f"{container.path}[]", target.lineno))
                if isinstance(owner, ast.Name):  # a container holds what is put into it
                    self._bind_name(owner.id, values, scope)
            case _:
                pass

    def _store(self, owners: Values, names: Iterable[str], line: int) -> None:
        """Record that attributes of these objects are assigned."""
        for owner in owners:
            if isinstance(owner, Thing):
                self.stores.update(Use(f"{owner.path}.{name}", line) for name in names)

    def _bind_name(self, name: str, values: Values, scope: Scope) -> None:
        self._add_values(scope.elsewhere.get(name, scope).names[name], values)

    def _add_values(self, values: set[Value], added: Iterable[Value]) -> None:
        new = set(added) - values
        if new and len(values) < MOST_VALUES:
            values.update(new)
            self._changed = True

    def _add_returned(self, function: ast.AST, values: Values) -> None:
        self._add_values(self._returned[function], values)

    # --- looking up ---------------------------------------------------------------------

    def _name(self, name: str, line: int, scope: Scope) -> Values:
        current: Scope | None = scope.elsewhere.get(name, scope)
        while current is not None:
            if name in current.names:
                values = frozenset(current.names[name])
                for value in values:
                    if isinstance(value, Thing) and not is_module(
                        value.path
                    ):  # those are recorded where they are imported
                        self._use(value.path, line)
                return values
            current = current.parent
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
            if (
                name.strip("_") in _POWERFUL_MODULES
                and not is_module(path)
                and thing.path.split(".")[0] != name
            ):
                path = canonical(name.strip("_"))
            if len(path) <= LONGEST:
                values.add(Thing(path))
                self._use(path, line)
        if not things:
            self._use(f"?.{name}", line)
            if name.strip("_") in _POWERFUL_MODULES:
                values.add(Thing(canonical(name.strip("_"))))
        return frozenset(values) | (owners & UNKNOWN) or UNKNOWN

    def _concatenated(self, parts: Iterable[Values], line: int) -> Values:
        results = joined(parts)
        self.texts |= {(value.text, line) for value in results if isinstance(value, Text)}
        return results

    def _use(self, path: str, line: int) -> None:
        self.uses.add(Use(path, line))
