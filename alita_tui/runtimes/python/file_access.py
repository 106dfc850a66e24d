"""Finds what a draft reads besides its arguments: files and folders of the machine, attributes by format strings."""

from __future__ import annotations

import ast
import re

from alita_tui.events import ToolDraft
from alita_tui.runtimes.file_parameters import leaves_files, takes_files
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.python.draft_ast import FUNCTIONS, aliases_of, dotted
from alita_tui.runtimes.python.reach import Reach
from alita_tui.runtimes.python.taint import Tainted
from alita_tui.runtimes.python.values import Text
from alita_tui.runtimes.rules import rule

_OPENS = frozenset(("builtins.open", "io.open", "codecs.open", "io.FileIO", "io.open_code", "tokenize.open"))
_PACKED = frozenset("gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile".split())
"""Functions that can also read from memory."""
_CONTENTS = re.compile(r"(importlib\.resources|zipfile)\..*")
_ABSOLUTE = re.compile(r"(/|~|[A-Za-z]:[\\/]|\\\\)(?!tmp(/|$)).*", re.DOTALL)
_ELSEWHERE = re.compile(r"(os\.path|pathlib\.(Posix|Windows)?Path(\(\))?)\.(home|expanduser)")
_HOME = ("netrc.", "readline.", "mailcap.", "rlcompleter.")


def note_files(notes: Notes, tree: ast.Module, draft: ToolDraft, reach: Reach) -> None:
    """Report reads if no file was requested, and reads outside of the workspace."""
    tainted = Tainted(tree)
    _note_reads(notes, draft, reach, tainted)
    _note_formats(notes, tree, reach, tainted)
    _note_definitions(notes, tree)
    _note_rewrites(notes, tree)
    _note_pools(notes, tree, reach)


def _note_reads(notes: Notes, draft: ToolDraft, reach: Reach, tainted: Tainted) -> None:
    granted = draft.capabilities.workspace != "none" or takes_files(draft) or leaves_files(draft)
    opens_own_files = any(path.startswith("tempfile.") for path, _ in reach.calls)
    for path, call in reach.calls:
        first = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "file"), None)
        if path not in _OPENS and path not in _PACKED or first is None:
            continue
        texts = [value.text for value in reach.values_at(first) if isinstance(value, Text)]
        if absolute := [file_path for file_path in texts if _ABSOLUTE.fullmatch(file_path)]:
            remark = f"opens {absolute[0][:80]!r}, a file of the machine"
        elif granted or (path in _PACKED and not texts):
            continue
        elif tainted.holds(first):
            remark = "opens a file whose name comes from the arguments; no files are asked for"
        elif opens_own_files or any(text.startswith("/tmp") for text in texts):  # noqa: S108  # the tool's own
            continue
        else:
            remark = "opens a file; no files are asked for"
        notes.add("medium", "ast/reads", remark, call.lineno)
    for path, line in sorted(reach.uses, key=lambda use: (use.line, use.path)):
        if rule("reach", "reads").fullmatch(path) and not _CONTENTS.fullmatch(path):
            if _ELSEWHERE.fullmatch(path) or path.startswith(_HOME):
                remark = "looks into the home folder"
            elif granted or opens_own_files:
                continue
            else:
                remark = "reads files or folders; no files are asked for"
            name = path.removeprefix("?.").replace("()", "")
            notes.add("medium", "ast/reads", f"{name}: {remark}", line)


def _note_formats(notes: Notes, tree: ast.Module, reach: Reach, tainted: Tainted) -> None:
    """Report format strings from the arguments: their fields can read the attributes of every formatted value."""
    reason = (
        "the arguments say what is formatted, and its fields can walk to anything, as {0.__globals__} does"
    )
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("format", "format_map")
            and tainted.holds(node.func.value)
        ):
            notes.add("high", "ast/format", f"{node.func.attr}: {reason}", node.lineno)
    for path, call in reach.calls:
        style = next((keyword.value for keyword in call.keywords if keyword.arg == "style"), None)
        braces = isinstance(style, ast.Constant) and style.value == "{"
        if path == "logging.Formatter" and braces and call.args and tainted.holds(call.args[0]):
            notes.add("high", "ast/format", f"logging.Formatter: {reason}", call.lineno)
        elif path.startswith("string.Formatter") and path.endswith(("format", "vformat")) and call.args:
            if tainted.holds(call.args[0]):
                notes.add("high", "ast/format", f"string.Formatter: {reason}", call.lineno)


def _note_definitions(notes: Notes, tree: ast.Module) -> None:
    """Report side effects at import time, in class bodies, defaults and annotations: they run before any call."""
    aliases = aliases_of(tree)
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, FUNCTIONS | ast.Lambda):
            args = node.args
            annotations = [
                argument.annotation for argument in (*args.posonlyargs, *args.args, *args.kwonlyargs)
            ]
            pending += filter(
                None, (*args.defaults, *args.kw_defaults, *annotations, getattr(node, "returns", None))
            )
            pending += getattr(node, "decorator_list", ())
            continue
        if isinstance(node, ast.If) and _is_main(node):
            continue
        if isinstance(node, ast.Call) and rule("reach", "acts").fullmatch(name := dotted(node.func, aliases)):
            text = f"{name}: is done while the tool is loaded, before it is called"
            notes.add("medium", "ast/at-definition", text, node.lineno)
        pending += ast.iter_child_nodes(node)


def _is_main(node: ast.If) -> bool:
    return any(isinstance(child, ast.Name) and child.id == "__name__" for child in ast.walk(node.test))


def _note_rewrites(notes: Notes, tree: ast.Module) -> None:
    """Report objects that get another class, and classes that are changed by their own objects."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store | ast.Del):
            continue
        if node.attr in ("__class__", "__dict__", "__bases__"):
            text = f"{node.attr} is given another value: what its methods do stands elsewhere, so it can reach anything"
            notes.dynamic(text, node.lineno)
        elif (isinstance(node.value, ast.Call) and dotted(node.value.func) == "type") or (
            isinstance(node.value, ast.Attribute) and node.value.attr == "__class__"
        ):
            text = f"{node.attr} of a class is changed by its objects: what one call leaves in it, the next one finds"
            notes.add("medium", "ast/state", text, node.lineno)


def _note_pools(notes: Notes, tree: ast.Module, reach: Reach) -> None:
    """Report pools that nothing waits for: their work goes on after the result was returned."""
    waited_for = {
        id(item.context_expr)
        for node in ast.walk(tree)
        if isinstance(node, ast.With | ast.AsyncWith)
        for item in node.items
    }
    for path, call in reach.calls:
        if path.endswith("ThreadPoolExecutor") and id(call) not in waited_for:
            text = "ThreadPoolExecutor: without `with`, what it was given goes on after the call has ended"
            notes.add("medium", "ast/later", text, call.lineno)
