"""The possible values of a draft's names, and the scopes of names."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from string import Formatter
from typing import NamedTuple

MOST_VALUES = 48
"""Maximum values that are followed for one name."""
LONGEST = 160
"""Maximum characters of a path or a concatenated text."""


class Thing(NamedTuple):
    """Something reached through an import or a builtin name."""

    path: str
    """Dotted, as the rules know it: `os.system`; the result of a call ends in `()`."""


class Text(NamedTuple):
    """A text that is written in the code."""

    text: str


class Own(NamedTuple):
    """A function or class of the draft."""

    node: ast.AST


Value = Thing | Text | Own | None
Values = frozenset[Value]
UNKNOWN: Values = frozenset((None,))
NOTHING: Values = frozenset()


class Use(NamedTuple):
    """A name or an attribute that the code refers to."""

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
    """Return the texts that a concatenation can be; unknown if a part is."""
    results = [""]
    for values in parts:
        texts = [value.text for value in values if isinstance(value, Text)]
        if not texts or len(texts) < len(values) or len(results) * len(texts) > MOST_VALUES:
            return UNKNOWN
        results = [start + text for start in results for text in texts]
        if max(map(len, results)) > LONGEST:
            return UNKNOWN
    return frozenset(map(Text, results))


def fields_of(text: str) -> list[str]:
    """Return the attributes that a format string looks up: `{0.name}`."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(text) if name]
    except ValueError:
        return []
    return [part.split("[")[0] for name in names for part in name.split(".")[1:]]
