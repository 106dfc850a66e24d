"""The contract of a Python tool: one annotated `run`, no work at import time, a header with its requirements."""

from __future__ import annotations

import ast

from alita_tui.events import Json, ToolDraft
from alita_tui.runtimes.notes import Notes, Severity
from alita_tui.runtimes.port import ContractError
from alita_tui.runtimes.python.draft_ast import FUNCTIONS, aliases_of, dotted, own_nodes
from alita_tui.runtimes.python.form import header_requirements, is_main_guard
from alita_tui.runtimes.rules import rule
from alita_tui.runtimes.signature import match_schema


def note_run(notes: Notes, tree: ast.Module, schema: Json) -> None:
    """Report problems of `run`."""
    runs = [node for node in tree.body if isinstance(node, FUNCTIONS) and node.name == "run"]
    if len(runs) != 1:
        notes.block("contract", f"there has to be one top-level function run(...); there are {len(runs)}")
        return
    (run,) = runs
    for node in tree.body:
        if node is not run and "run" in _binds(node):
            notes.block("contract", "run is bound a second time", node.lineno)
    if isinstance(run, ast.AsyncFunctionDef) or any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(run)
    ):
        notes.block(
            "contract", "run has to return its result: it may not be async or a generator", run.lineno
        )
    if run.args.vararg or run.args.kwarg or run.args.posonlyargs:
        text = "run takes named parameters only: no *args, **kwargs or positional-only ones"
        notes.block("contract", text, run.lineno)
        return
    parameters = [*run.args.args, *run.args.kwonlyargs]
    unannotated = [parameter.arg for parameter in parameters if parameter.annotation is None] + (
        ["the result"] if run.returns is None else []
    )
    if unannotated:
        notes.block("contract", f"run is not fully annotated: {', '.join(unannotated)}", run.lineno)
    if not ast.get_docstring(run) and not ast.get_docstring(tree):
        notes.add("low", "contract", "neither the module nor run has a docstring", run.lineno)
    required = {parameter.arg for parameter in run.args.args[: len(run.args.args) - len(run.args.defaults)]}
    required |= {
        parameter.arg
        for parameter, default in zip(run.args.kwonlyargs, run.args.kw_defaults, strict=True)
        if default is None
    }
    match_schema(notes, {parameter.arg for parameter in parameters}, required, schema, run.lineno)


def _binds(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.Import | ast.ImportFrom):
        names |= {alias.asname or alias.name for alias in node.names}
    return names | ({node.name} if isinstance(node, ast.ClassDef) else set())


def note_top_level(notes: Notes, tree: ast.Module) -> None:
    """Report work at import time: it would run before any call."""
    aliases = aliases_of(tree)
    for node in tree.body:
        if isinstance(node, FUNCTIONS) or is_main_guard(node):
            continue
        if isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.With | ast.Raise | ast.Delete):
            kind = type(node).__name__.lower()
            notes.add("medium", "contract", f"work at import time: a {kind} statement", node.lineno)
        decorators = {
            id(decorator) for inner in ast.walk(node) for decorator in getattr(inner, "decorator_list", ())
        }
        severity: Severity = "medium" if isinstance(node, ast.Expr) else "low"
        for inner in own_nodes(node):
            if isinstance(inner, ast.Call) and id(inner) not in decorators:
                name = dotted(inner.func, aliases)
                if severity == "medium" or not rule("reach", "constant_calls").fullmatch(name):
                    notes.add(severity, "contract", f"work at import time: it calls {name}", inner.lineno)


def note_header(notes: Notes, draft: ToolDraft) -> None:
    """Report a header that differs from the requirements."""
    try:
        dependencies = header_requirements(draft.code)
    except ContractError as error:
        notes.add("medium", "contract", error.message)
        return
    requirements = {" ".join(requirement.split()) for requirement in draft.requirements}
    if dependencies is not None and set(dependencies) != requirements:
        text = f"the PEP 723 header lists {', '.join(dependencies) or 'nothing'}; the requirements are "
        notes.add("medium", "contract", text + (", ".join(sorted(requirements)) or "none"))
