"""Finds code that silently uses only a fixed number of the items that it gets."""

from __future__ import annotations

import ast
import re

from alita_tui.events import ToolDraft
from alita_tui.runtimes.notes import Notes, Severity
from alita_tui.runtimes.python.constant_folding import Folding
from alita_tui.runtimes.python.draft_ast import FUNCTIONS
from alita_tui.runtimes.python.taint import Tainted
from alita_tui.runtimes.rules import rule
from alita_tui.spine.syntax import try_parse

_NAMES = re.compile(r"top|head|tail|most|max\w*|limit|longest|length|count|size|width|window|keep|n|k")
"""Words of a purpose, and of parameter names, that announce a bounded result."""
_REPORTING = frozenset("print debug info warning error exception log".split())
_SMALLEST_BOUND = 10
"""Smaller numbers belong to a format: the nine digits of an ISBN."""


def announces_bound(draft: ToolDraft, *, names: bool = True) -> bool:
    """Return True if a draft's purpose, docstrings or parameters announce that its result is bounded.

    Parameter `names` announce a bounded result, but not a bound that the code writes out.
    """
    if (tree := try_parse(draft.code)) is None:
        return False
    texts, parameters = [draft.description, ast.get_docstring(tree) or ""], list[str]()
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.name == "run":
            texts.append(ast.get_docstring(node) or "")
            parameters += [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
    properties = draft.input_schema.get("properties") if isinstance(draft.input_schema, dict) else None
    for schema in properties.values() if isinstance(properties, dict) else ():
        if isinstance(schema, dict):
            texts += [str(schema.get(key, "")) for key in ("description", "title")]
    return rule("purpose", "bounded", re.IGNORECASE).search(" ".join(texts)) is not None or any(
        names and _NAMES.fullmatch(word) for name in parameters for word in name.lower().split("_")
    )


def note_cuts(notes: Notes, tree: ast.Module, draft: ToolDraft) -> None:
    """Report fixed bounds; low if the draft announces them."""
    folding, tainted = Folding(tree), Tainted(tree)
    severity: Severity = "low" if announces_bound(draft, names=False) else "medium"
    messages = {id(child) for node in ast.walk(tree) if _is_message(node) for child in ast.walk(node)}
    read_whole_later = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) and _used_whole(tree, node)
    }
    for node in ast.walk(tree):
        if id(node) in messages:
            continue  # the words of an error or of a log
        match node:
            case ast.Subscript(value=items, slice=ast.Slice(lower=None, upper=upper, step=None)) if (
                tainted.holds(items) and _large_number(folding, upper)
            ):
                count = _large_number(folding, upper)
            case ast.Call(args=[items, upper]) if _function_name(node) == "islice" and tainted.holds(items):
                count = _large_number(folding, upper)
            case ast.Call(args=[*items]) if _function_name(node) == "zip" and any(map(tainted.holds, items)):
                ranges = [
                    value
                    for value in items
                    if isinstance(value, ast.Call) and _function_name(value) == "range"
                ]
                count = next((_large_number(folding, call.args[-1]) for call in ranges if call.args), 0)
            case ast.Call(keywords=keywords) if _function_name(node) == "deque":
                count = next(
                    (
                        _large_number(folding, keyword.value)
                        for keyword in keywords
                        if keyword.arg == "maxlen"
                    ),
                    0,
                )
            case ast.Call(args=[upper, items, *_]) if _function_name(node) in (
                "nlargest",
                "nsmallest",
            ) and tainted.holds(items):
                count = _large_number(folding, upper)
            case ast.Call(args=[upper]) if _function_name(node) == "most_common":
                count = _large_number(folding, upper)
            case _:
                continue
        if count:
            text = f"takes {count:,} at most of what it is given, and says so nowhere: the rest is left out silently"
            notes.add("low" if id(node) in read_whole_later else severity, "ast/cuts-off", text, node.lineno)


def _used_whole(tree: ast.Module, node: ast.Assign) -> bool:
    """Return True if the value from which `head = text[:9]` is cut is used completely later, so nothing is lost."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id=source))) if (
            name != source
        ):
            return any(
                isinstance(child, ast.Call)
                and any(isinstance(arg, ast.Name) and arg.id == source for arg in child.args)
                for child in ast.walk(tree)
                if getattr(child, "lineno", 0) > node.lineno
                and not (isinstance(child, ast.Call) and _function_name(child) == "len")
            )
        case _:
            return False


def _is_message(node: ast.AST) -> bool:
    function = _function_name(node) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Raise) or function in _REPORTING


def _function_name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _large_number(folding: Folding, node: ast.expr | None) -> int:
    """Return a constant number; 0 if there is none, or if it is small."""
    number = folding.value(node)
    return (
        number
        if isinstance(number, int) and not isinstance(number, bool) and number >= _SMALLEST_BOUND
        else 0
    )
