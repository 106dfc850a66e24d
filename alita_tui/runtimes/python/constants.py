"""The literal values in Python code, and which of them belong to tables or are defaults. Pure."""

from __future__ import annotations

import ast
import re

from alita_tui.runtimes.port import Constant
from alita_tui.runtimes.python.draft_ast import constants, run_function

_TABLE, _WORDS = 5, 4
"""Smallest numbers of numbers and of plain words that count as a table."""
_WORD = re.compile(r"[^\W\d_]{1,24}(?: [^\W\d_]{1,24})?")
"""A word or two, such as the names of colours or months that a table is made of."""


def constants_of(tree: ast.Module, task: frozenset[str] | None = None) -> list[Constant]:
    """Return every constant except docstrings; with the texts of a task also without tables and defaults of `run`."""
    if task is None:
        return [Constant(node.lineno, node.value) for node in constants(tree)]
    tables = {id(number) for node in ast.walk(tree) for number in _table(node, task)}
    refusals = {
        id(child) for node in ast.walk(tree) if isinstance(node, ast.Raise) for child in ast.walk(node)
    }  # an example in an error message answers nothing
    run = run_function(tree)
    defaults = [*run.args.defaults, *filter(None, run.args.kw_defaults)] if run else []
    defaults += _named_defaults(tree, defaults)
    excluded = tables | {id(child) for default in defaults for child in ast.walk(default)}
    return [
        Constant(node.lineno, node.value, id(node) in refusals)
        for node in constants(tree)
        if id(node) not in excluded
    ]


def _table(node: ast.AST, texts: frozenset[str]) -> list[ast.Constant]:
    """Return the constants of a table: numbers or plain words of a list, tuple, set or dict with several of them.

    A text that is split into plain words is a table too. Words of which more than half are the task's are none.
    """
    if isinstance(node, ast.Attribute) and node.attr == "split" and isinstance(node.value, ast.Constant):
        words_of = re.split(r"[\s,;|]+", str(node.value.value).strip())
        return [node.value] if _own_words(words_of, texts) else []
    items: list[ast.expr] = []
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        items = node.elts
    elif isinstance(node, ast.Dict):
        items = [item for item in (*node.keys, *node.values) if item is not None]
    items_inside = [
        nested
        for item in items
        for nested in (item.elts if isinstance(item, ast.List | ast.Tuple) else [item])
        if isinstance(nested, ast.Constant)
    ]
    numbers = [
        item
        for item in items_inside
        if isinstance(item.value, int | float) and not isinstance(item.value, bool)
    ]
    words = [item for item in items_inside if isinstance(item.value, str) and _WORD.fullmatch(item.value)]
    return [
        *(numbers if len(numbers) >= _TABLE else ()),
        *(words if _own_words([str(item.value) for item in words], texts) else ()),
    ]


def _own_words(words: list[str], texts: frozenset[str]) -> bool:
    """Return whether these are the plain words of a table, and at most half of them the task's."""
    words_of_task = sum(word.lower() in texts for word in words)
    return len(words) >= _WORDS and 2 * words_of_task <= len(words) and all(map(_WORD.fullmatch, words))


def _named_defaults(tree: ast.Module, defaults: list[ast.expr]) -> list[ast.expr]:
    """Return the values of the module's constants that are defaults of `run` and nothing else."""
    names = [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]
    default_names = {node.id for node in defaults if isinstance(node, ast.Name) and names.count(node.id) == 1}
    return [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and all(isinstance(target, ast.Name) and target.id in default_names for target in node.targets)
    ]
