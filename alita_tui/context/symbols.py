"""Definitions of names in a task: in Python found by its parser, in other languages by patterns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from alita_tui.spine.ranking import words
from alita_tui.spine.syntax import try_parse

_LONGEST = 300
"""Longest line that is examined; a longer one is data or generated."""
_WEAK = 4
"""Shortest plain word that can be meant as a name."""
_IDENTIFIER = re.compile(r"[a-z0-9][A-Z]|\w_\w|^_\w|[$]")
"""Spellings that occur only in code, such as snake_case."""
_IDENTIFIER_WORD = re.compile(r"[\w$]*(?:[a-z0-9][A-Z]|\w_\w|[$])[\w$]*|\S*/\S*|\S+\.\w+")
"""A name in code, or a path: its parts do not count as words of the task."""
_JS = re.compile(
    r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?:function\*?|class|interface|enum|type|const|let|var|namespace)\s+([A-Za-z_$][\w$]*)"
)
_GO = re.compile(r"(?:func\s+(?:\([^)]*\)\s*)?|type\s+|var\s+|const\s+)(\w+)")
_RUST = re.compile(
    r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|unsafe|const)\s+)*(?:fn|struct|enum|trait|type|mod|static|union)\s+(\w+)"
)
_CLASSES = re.compile(
    r"\s*(?:[\w@]+\s+)*?(?:class|interface|enum|record|object|struct|trait|protocol|func|fun|function|def)\s+(\w+)"
)
_C = re.compile(
    r"(?:#\s*define\s+(\w+)|(?:typedef\s+)?(?:struct|class|enum|union|namespace)\s+(\w+)"
    r"|[A-Za-z_][\w :<>,*&]*?[ *&](\w+(?:::~?\w+)?)\s*\([^;]*$)"
)
_RUBY = re.compile(r"\s*(?:def|class|module)\s+([\w.]+)")
_SHELL = re.compile(r"\s*(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\)")
_SQL = re.compile(
    r"\s*create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|type)\s+([\w.]+)", re.IGNORECASE
)
_PYTHON = re.compile(r"\s*(?:async\s+def|def|class)\s+(\w+)")
_LOOKS: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(".js .jsx .ts .tsx .mjs .cjs".split(), _JS),
    **dict.fromkeys(".java .kt .cs .scala .swift .php".split(), _CLASSES),
    **dict.fromkeys(".c .h .cc .cpp .cxx .hpp".split(), _C),
    ".go": _GO, ".rs": _RUST, ".rb": _RUBY, ".sh": _SHELL, ".bash": _SHELL, ".sql": _SQL, ".py": _PYTHON,
    ".pyi": _PYTHON,
}  # fmt: skip
SOURCES = frozenset(_LOOKS)
"""Extensions of files that can be searched for definitions."""


class Definition(NamedTuple):
    """A name and the line that defines it."""

    line: int
    name: str


class Wanted:
    """What a task names: identifiers as they are written, and the words around them."""

    def __init__(self, task: str) -> None:
        names = frozenset(re.findall(r"[A-Za-z_$][\w$]{2,}", task))
        self._identifiers = frozenset(
            identifier for identifier in names if _IDENTIFIER.search(identifier)
        ) | {
            quoted_name
            for quoted in re.findall(r"`([^`\n]+)`", task)
            for quoted_name in re.findall(r"[\w$]{3,}", quoted)
        }
        plain = _IDENTIFIER_WORD.sub(" ", task)
        self._stems = frozenset(form for form, _ in words(plain))
        self._capitalised = frozenset(identifier for identifier in names if identifier[0].isupper())
        self._parts = frozenset(
            word.casefold()
            for word in self._identifiers | {form for form in self._stems if len(form) >= _WEAK}
        )

    @property
    def anything(self) -> bool:
        """Whether the task names anything."""
        return bool(self._parts)

    def rank(self, name: str) -> int:
        """Return how clearly a name is meant: 3 written exactly, 2 or 1 by its words, 0 not at all."""
        plain = name.rpartition(".")[2].rpartition("::")[2]
        if plain in self._identifiers:
            return 3
        forms = {form for form, _ in words(plain)}
        if not forms or not forms <= self._stems:
            return 0
        if len(forms) > 1 or plain in self._capitalised:
            return 2
        plain_word = len(plain) >= _WEAK and not _IDENTIFIER.search(
            plain
        )  # not `is_key` where a task has `key`
        return int(plain_word)

    def may_be_in(self, text: str) -> bool:
        """Return whether a text contains any of the words, a quick first test."""
        plain = text.casefold()
        return any(word in plain for word in self._parts)


def definitions(suffix: str, text: str) -> list[Definition]:
    """Return what a source file defines, in order."""
    if suffix in (".py", ".pyi") and (tree := try_parse(text)) is not None:
        return [*_of_python(tree, "")]
    look = _LOOKS[suffix]
    defined = []
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) <= _LONGEST and (match := look.match(line)):
            defined.append(Definition(number, next(filter(None, match.groups()))))
    return defined


def _of_python(node: ast.AST, within: str) -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield Definition(child.lineno, within + name)
            case ast.ClassDef(name=name):
                yield Definition(child.lineno, within + name)
                yield from _of_python(child, f"{within}{name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield Definition(child.lineno, within + name)
            case ast.If() | ast.Try() | ast.With():
                yield from _of_python(child, within)
            case _:
                pass
