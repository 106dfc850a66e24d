"""Finds code that silently takes only a fixed number of the items it is given."""

from __future__ import annotations

import ast
import re

from alita_tui.events import ToolDraft
from alita_tui.spine.syntax import try_parse
from alita_tui.toolsmith.constant_folding import Folding
from alita_tui.toolsmith.draft_ast import FUNCTIONS, Notes, Severity
from alita_tui.toolsmith.taint import Tainted

_WORDS = re.compile(
    r"\b(?:first|last|top|largest|smallest|best) (?:few|\d+|ten|twenty|fifty|hundred|thousand|some|n\b)"
    r"|\b(?:at most|up to|no more than) (?:\d|`|ten|twelve|twenty|fifty|a (?:hundred|thousand|million)|the given)"
    r"|\b(?:limit\w*|truncat\w*|shorten\w*|cut (?:off|to)|preview|excerpt|summar\w*"
    r"|sampl\w*|abbreviat\w*|ellipsis|maximum|maximal|crop\w*|most recent|latest|window|initials?)\b",
    re.IGNORECASE,
)
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
    said, called = [draft.description, ast.get_docstring(tree) or ""], list[str]()
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.name == "run":
            said.append(ast.get_docstring(node) or "")
            called += [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
    takes = draft.input_schema.get("properties") if isinstance(draft.input_schema, dict) else None
    for one in takes.values() if isinstance(takes, dict) else ():
        if isinstance(one, dict):
            said += [str(one.get(key, "")) for key in ("description", "title")]
    return _WORDS.search(" ".join(said)) is not None or any(
        names and _NAMES.fullmatch(word) for one in called for word in one.lower().split("_")
    )


def note_cuts(notes: Notes, tree: ast.Module, draft: ToolDraft) -> None:
    """Report fixed bounds; low if the draft announces them."""
    folding, tainted = Folding(tree), Tainted(tree)
    severity: Severity = "low" if says_so(draft, names=False) else "medium"
    told = {id(inner) for node in ast.walk(tree) if _only_tells(node) for inner in ast.walk(node)}
    beside = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) and _used_whole(tree, node)
    }
    for node in ast.walk(tree):
        if id(node) in told:
            continue  # the words of an error or of a log
        match node:
            case ast.Subscript(value=held, slice=ast.Slice(lower=None, upper=upper, step=None)) if (
                tainted.holds(held) and _many(folding, upper)
            ):
                count = _many(folding, upper)
            case ast.Call(args=[held, upper]) if _called(node) == "islice" and tainted.holds(held):
                count = _many(folding, upper)
            case ast.Call(args=[*held]) if _called(node) == "zip" and any(map(tainted.holds, held)):
                ranges = [one for one in held if isinstance(one, ast.Call) and _called(one) == "range"]
                count = next((_many(folding, one.args[-1]) for one in ranges if one.args), 0)
            case ast.Call(keywords=named) if _called(node) == "deque":
                count = next((_many(folding, one.value) for one in named if one.arg == "maxlen"), 0)
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
    """Return True if the value that `head = text[:9]` takes a part of is read whole later: it only looks at the
    start.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id=held))) if (
            name != held
        ):
            return any(
                isinstance(one, ast.Call)
                and any(isinstance(arg, ast.Name) and arg.id == held for arg in one.args)
                for one in ast.walk(tree)
                if getattr(one, "lineno", 0) > node.lineno
                and not (isinstance(one, ast.Call) and _called(one) == "len")
            )
        case _:
            return False


def _only_tells(node: ast.AST) -> bool:
    said = _called(node) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Raise) or said in (
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
    found = folding.value(node)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= _FEWEST else 0
