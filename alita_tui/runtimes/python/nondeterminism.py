"""Finds what a result can depend on besides the arguments: earlier calls, clock, chance, machine, being tested."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from alita_tui.events import ToolDraft
from alita_tui.runtimes import rules
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.python.draft_ast import FUNCTIONS, constants, dotted, own_nodes
from alita_tui.runtimes.python.form import is_standard_main
from alita_tui.runtimes.python.reach import Reach
from alita_tui.runtimes.python.reach_rules import shown
from alita_tui.runtimes.python.regex_backtracking import runs_away
from alita_tui.runtimes.python.values import Text

_TEST_WORDS = re.compile(
    r"PYTEST\w*|py\.?test|unittest|.*(/tmp/tool|/tmp/job|dockerenv|containerenv).*", re.IGNORECASE
)
_UTC = re.compile(r"\b(utc|gmt|zulu)\b")
"""Words of a purpose that name a time zone, so the result must not depend on the machine's."""
_SEARCHES = frozenset("compile match search fullmatch findall finditer sub subn split".split())
_CHANGES = frozenset(
    "append add update pop popitem setdefault extend insert remove discard clear appendleft extendleft sort reverse"
    " send write popleft rotate".split()
)


def note_depends(notes: Notes, tree: ast.Module, draft: ToolDraft, reach: Reach) -> None:
    """Report dependencies: low if the purpose announces them, medium otherwise."""
    purpose = f"{draft.name.replace('_', ' ')} {draft.description}".lower()
    main_lines = _main_lines(notes, tree)
    loggers = _logger_lines(tree, reach)
    seeded = any(path == "random.seed" for path, _ in reach.uses)
    for path, line in sorted(reach.uses, key=lambda use: (use.line, use.path)):
        if line in main_lines:
            continue
        if rules.rule("depends", "tested").fullmatch(path) and not (
            path == "builtins.__name__" and line in loggers
        ):
            text = "tells where it runs: code can know by it that it is being tested"
            notes.add("medium", "ast/test-detection", f"{shown(path)}: {text}", line)
        for rule, pattern, text in (
            ("ast/clock", rules.rule("depends", "clock"), "depends on the clock"),
            ("ast/random", rules.rule("depends", "chance"), "depends on chance"),
            ("ast/time-zone", rules.rule("depends", "zone"), "depends on the time zone of the machine"),
            (
                "ast/locale",
                rules.rule("depends", "locale"),
                "depends on the language settings of the machine",
            ),
        ):
            if pattern.fullmatch(path) and not _is_given_explicitly(reach, rule, path, line):
                is_announced = re.search(rf"\b({rules.table('depends')['about'][rule]})\b", purpose) or (
                    seeded and rule == "ast/random"
                )
                is_announced = is_announced or _in_hash_or_repr(tree, line, path)
                is_announced = is_announced and not (rule == "ast/time-zone" and _UTC.search(purpose))
                notes.add("low" if is_announced else "medium", rule, f"{shown(path)}: {text}", line)
        if rules.rule("depends", "stopwatch").fullmatch(path):
            notes.add("low", "ast/clock", f"{shown(path)}: measures time", line)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and not (node.args or node.keywords)
        ):
            if node.func.attr == "astimezone":
                is_announced_zone = re.search(
                    rf"\b({rules.table('depends')['about']['ast/time-zone']})\b", purpose
                ) and not _UTC.search(purpose)
                remark = "astimezone(): depends on the time zone of the machine"
                notes.add("low" if is_announced_zone else "medium", "ast/time-zone", remark, node.lineno)
    _note_texts(notes, tree, main_lines)
    _note_state(notes, tree)
    _note_patterns(notes, tree, reach)


def _main_lines(notes: Notes, tree: ast.Module) -> set[int]:
    """Return the lines of the standard `__main__`; report another one."""
    lines: set[int] = set()
    for part in tree.body:
        if is_standard_main(part):
            lines.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == "__main__" and node.lineno not in lines:
            text = "a __main__ other than the standard one: what it does, no test of run(...) sees"
            notes.add("medium", "ast/main", text, node.lineno)
    return lines


def _logger_lines(tree: ast.Module, reach: Reach) -> set[int]:
    """Return lines whose only `__name__` is the name of a logger."""
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "__name__"]
    loggers = {
        id(call.args[0])
        for path, call in reach.calls
        if path == "logging.getLogger" and len(call.args) == 1 and not call.keywords
    }
    other_lines = {child.lineno for child in named if id(child) not in loggers}
    return {child.lineno for child in named if id(child) in loggers} - other_lines


def _is_given_explicitly(reach: Reach, rule: str, path: str, line: int) -> bool:
    """Return True if a call gets as an argument what it would otherwise read from the machine: a time zone, a time."""
    calls = [
        call
        for called, call in reach.calls
        if called == path and call.lineno <= line <= (call.end_lineno or line)
    ]
    if rule == "ast/time-zone":
        return (
            bool(calls)
            and all(
                len(call.args) > 1 or any(keyword.arg == "tz" for keyword in call.keywords) for call in calls
            )
            and path.endswith("fromtimestamp")
        )
    timed = re.fullmatch(r"time\.(gmtime|localtime|ctime|asctime)", path) is not None
    return rule == "ast/clock" and timed and bool(calls) and all(call.args for call in calls)


def _in_hash_or_repr(tree: ast.Module, line: int, path: str) -> bool:
    """Return True if `hash` or `id` is used where a class defines its equality or representation."""
    return path in ("builtins.hash", "builtins.id") and any(
        isinstance(node, FUNCTIONS) and node.name in ("__hash__", "__repr__")
        and node.lineno <= line <= (node.end_lineno or line)
        for node in ast.walk(tree)
    )  # fmt: skip


def _note_texts(notes: Notes, tree: ast.Module, main_lines: set[int]) -> None:
    for node in constants(tree):
        text = node.value
        if isinstance(text, str) and node.lineno not in main_lines and _TEST_WORDS.fullmatch(text[:200]):
            remark = f"{text[:60]!r}: names what tests run with or where they run"
            notes.add("medium", "ast/test-detection", remark, node.lineno)


# --- state ----------------------------------------------------------------------------------


def _note_state(notes: Notes, tree: ast.Module) -> None:
    """Report state that one call can leave for the next one."""
    shared = {name for node in own_nodes(tree) for name in _bound_names(node)}
    called = {dotted(node.func) for node in own_nodes(tree) if isinstance(node, ast.Call)}
    definitions = {node.name for node in tree.body if isinstance(node, (*_FUNCTIONS, ast.ClassDef))}
    places: set[tuple[str, int]] = set()
    for function in (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)):
        own_names = {name for node in ast.walk(function) for name in _bound_names(node)} | _parameters(
            function
        )
        declared = {n for node in ast.walk(function) if isinstance(node, ast.Global) for n in node.names}
        places |= {(name, function.lineno) for name in declared & _assigned(function)}
        if function.name in called:  # called at import time: its names live on in what it returned
            enclosed = {
                n for node in ast.walk(function) if isinstance(node, ast.Nonlocal) for n in node.names
            }
            places |= {(name, function.lineno) for name in enclosed}
        shared_names = ((shared - own_names) | declared) | _defaults(function)
        for node in ast.walk(function):
            if (name := _changed_name(node)) and (
                name in shared_names or (name in definitions and name not in own_names)
            ):
                places.add((name, getattr(node, "lineno", function.lineno)))
    for name, line in sorted(places, key=lambda place: place[1]):
        text = f"{name}: what one call leaves in it, the next one finds"
        notes.add("medium", "ast/state", text, line)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds itself, without nested nodes."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.For | ast.NamedExpr | ast.comprehension):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (
                child.id
                for child in ast.walk(target)
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
            )
    elif isinstance(node, ast.With):
        for item in node.items:
            yield from (
                child.id
                for child in ast.walk(item)
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
            )


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    args = function.args
    arguments = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
    return {argument.arg for argument in arguments}


def _defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return parameters with a mutable default."""
    args = function.args
    pairs = [*zip(reversed([*args.posonlyargs, *args.args]), reversed(args.defaults), strict=False)]
    pairs += [
        (argument, default)
        for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        if default
    ]
    mutable = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp | ast.Call
    return {argument.arg for argument, default in pairs if isinstance(default, mutable)}


def _assigned(function: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)
    }


def _changed_name(node: ast.AST) -> str:
    """Return the name whose value a node changes in place: a container, an attribute, an iterator."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
        return _root(node.func.value)
    if isinstance(node, ast.Call) and dotted(node.func) in ("next", "setattr") and node.args:
        return _root(node.args[0])
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return _root(node.value)
    return ""


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# --- regular expressions --------------------------------------------------------------------


def _note_patterns(notes: Notes, tree: ast.Module, reach: Reach) -> None:
    # A compiled pattern may be used anywhere.
    matches_whole = any(
        isinstance(node, ast.Attribute) and node.attr == "fullmatch" for node in ast.walk(tree)
    )
    matches_whole = matches_whole or any(
        path in ("builtins.getattr", "operator.methodcaller") for path, _ in reach.uses
    )
    for path, call in reach.calls:
        module, _, name = path.rpartition(".")
        if module not in ("re", "regex") or name not in _SEARCHES or not call.args:
            continue
        for text in reach.values_at(call.args[0]):
            if isinstance(text, Text) and runs_away(text.text, whole=matches_whole or name == "fullmatch"):
                remark = f"the pattern {text.text[:60]!r} can take time without end on some texts"
                notes.add("medium", "ast/pattern", remark, call.lineno)
