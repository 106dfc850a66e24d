"""Finds code that silently takes only a fixed number of the items it is given."""

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
_FEWEST = 10
"""Smaller numbers belong to a format: the nine digits of an ISBN."""


def says_so(draft: ToolDraft, *, names: bool = True) -> bool:
    """Return True if a draft's purpose, docstrings or parameters announce that its result is bounded.

    Parameter `names` announce a bounded result, but not a bound that the code writes out.
    """
    if (tree := try_parse(draft.code)) is None:
        return False
    texts, called = [draft.description, ast.get_docstring(tree) or ""], list[str]()
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.name == "run":
            texts.append(ast.get_docstring(node) or "")
            called += [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
    takes = draft.input_schema.get("properties") if isinstance(draft.input_schema, dict) else None
    for schema in takes.values() if isinstance(takes, dict) else ():
        if isinstance(schema, dict):
            texts += [str(schema.get(key, "")) for key in ("description", "title")]
    return rule("purpose", "bounded", re.IGNORECASE).search(" ".join(texts)) is not None or any(
        names and _NAMES.fullmatch(word) for name in called for word in name.lower().split("_")
    )


def note_cuts(notes: Notes, tree: ast.Module, draft: ToolDraft) -> None:
    """Report fixed bounds; low if the draft announces them."""
    folding, tainted = Folding(tree), Tainted(tree)
    severity: Severity = "low" if says_so(draft, names=False) else "medium"
    messages = {id(child) for node in ast.walk(tree) if _only_tells(node) for child in ast.walk(node)}
    beside = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) and _used_whole(tree, node)
    }
    for node in ast.walk(tree):
        if id(node) in messages:
            continue  # the words of an error or of a log
        match node:
            case ast.Subscript(value=held, slice=ast.Slice(lower=None, upper=upper, step=None)) if (
                tainted.holds(held) and _many(folding, upper)
            ):
                count = _many(folding, upper)
            case ast.Call(args=[held, upper]) if _called(node) == "islice" and tainted.holds(held):
                count = _many(folding, upper)
            case ast.Call(args=[*held]) if _called(node) == "zip" and any(map(tainted.holds, held)):
                ranges = [
                    value for value in held if isinstance(value, ast.Call) and _called(value) == "range"
                ]
                count = next((_many(folding, call.args[-1]) for call in ranges if call.args), 0)
            case ast.Call(keywords=named) if _called(node) == "deque":
                count = next(
                    (_many(folding, keyword.value) for keyword in named if keyword.arg == "maxlen"), 0
                )
            case ast.Call(args=[upper, held, *_]) if _called(node) in (
                "nlargest",
                "nsmallest",
            ) and tainted.holds(held):
                count = _many(folding, upper)
            case ast.Call(args=[upper]) if _called(node) == "most_common":
                count = _many(folding, upper)
            case _:
                continue
        if count:
            text = f"takes {count:,} at most of what it is given, and says so nowhere: the rest is left out silently"
            notes.add("low" if id(node) in beside else severity, "ast/cuts-off", text, node.lineno)


def _used_whole(tree: ast.Module, node: ast.Assign) -> bool:
    """Return True if the value that `head = text[:9]` is cut from is read whole later: only its start is looked at."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id=held))) if (
            name != held
        ):
            return any(
                isinstance(child, ast.Call)
                and any(isinstance(arg, ast.Name) and arg.id == held for arg in child.args)
                for child in ast.walk(tree)
                if getattr(child, "lineno", 0) > node.lineno
                and not (isinstance(child, ast.Call) and _called(child) == "len")
            )
        case _:
            return False


def _only_tells(node: ast.AST) -> bool:
    function = _called(node) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Raise) or function in (
        "print",
        "debug",
        "info",
        "warning",
        "error",
        "exception",
        "log",
    )


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _many(folding: Folding, node: ast.expr | None) -> int:
    """Return a number that is written out; 0 if there is none, or a small one."""
    number = folding.value(node)
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= _FEWEST else 0
