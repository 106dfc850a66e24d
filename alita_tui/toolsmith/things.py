"""What a name of a draft can stand for, and the scopes that names live in."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from string import Formatter
from typing import NamedTuple

MOST_VALUES = 48
"""Values that one name is followed with."""
LONGEST = 160
"""Characters of a path or a text that is put together."""


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
NOTHING: Values = frozenset()


class Use(NamedTuple):
    """A name or an attribute that the code speaks of."""

    path: str
    """`?.name` for an attribute of something unknown."""
    line: int


class Scope:
    """The names of the module, of a function or of a class."""

    def __init__(self, parent: Scope | None, node: ast.AST) -> None:
        self.parent = parent
        self.node = node
        self.names: defaultdict[str, set[Value]] = defaultdict(set)
        self.elsewhere: dict[str, Scope] = {}
        """Names declared global or nonlocal."""

    @property
    def top(self) -> Scope:
        """The module's scope."""
        return self.parent.top if self.parent else self


def joined(parts: Iterable[Values]) -> Values:
    """The texts that a concatenation can be; unknown where a part is."""
    whole = [""]
    for values in parts:
        texts = [one.text for one in values if isinstance(one, Text)]
        if not texts or len(texts) < len(values) or len(whole) * len(texts) > MOST_VALUES:
            return UNKNOWN
        whole = [start + text for start in whole for text in texts]
        if max(map(len, whole)) > LONGEST:
            return UNKNOWN
    return frozenset(map(Text, whole))


def fields_of(text: str) -> list[str]:
    """The attributes that a format text looks up: `{0.name}`."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(text) if name]
    except ValueError:
        return []
    return [part.split("[")[0] for name in names for part in name.split(".")[1:]]
