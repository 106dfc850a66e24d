"""The static review of a draft: advice for the person, and faults that make testing pointless.

Nothing is imported or run. The wall is the sandbox and the person; this is a reading aid.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from alita_tui.events import Finding, Json, ToolDraft, Value
from alita_tui.spine.requirements import distribution
from alita_tui.spine.text import hidden_characters
from alita_tui.spine.trials import STAND_INS
from alita_tui.toolsmith.contract import (
    ContractError,
    header_requirements,
    is_main_guard,
)
from alita_tui.toolsmith.draft_ast import (
    FUNCTIONS,
    Notes,
    Severity,
    aliases_of,
    dotted,
    imports_of,
    own_nodes,
    parse_code,
)
from alita_tui.toolsmith.file_access import note_files
from alita_tui.toolsmith.nondeterminism import note_depends
from alita_tui.toolsmith.private_data import note_private
from alita_tui.toolsmith.prompt_injection import note_addressed
from alita_tui.toolsmith.provenance import UNKNOWN, Provenance, note_provenance
from alita_tui.toolsmith.reach_rules import note_test_uses, note_uses
from alita_tui.toolsmith.rules import rule
from alita_tui.toolsmith.text_scan import note_bandit, note_text, scannable
from alita_tui.toolsmith.truncation import note_cuts
from alita_tui.toolsmith.visible_to_tests import note_seen_by_tests


class Review(Value, frozen=True):
    """Result of the review."""

    findings: tuple[Finding, ...]
    """By line, then rule."""
    passed: bool
    """False if the draft goes back before it is tested."""
    imports: tuple[str, ...] = ()
    """Top-level modules that the code imports, sorted."""


def review(draft: ToolDraft, said: Provenance = UNKNOWN, parent: ToolDraft | None = None) -> Review:
    """Review a draft, with who said what before it. Blocking findings make testing pointless.

    Blocks: call in a thread.
    """
    notes = Notes()
    note_provenance(notes, draft, parent, said)
    code = parse_code(notes, draft.code, "code")
    tests = parse_code(notes, draft.tests, "tests")
    if code is not None:
        _run_function(notes, code, draft.input_schema)
        _top_level(notes, code)
        if (reach := note_uses(notes, code, draft)) is not None:
            note_depends(notes, code, draft, reach)
            note_files(notes, code, draft, reach)
            note_cuts(notes, code, draft)
    if tests is not None:
        _tests(notes, tests, draft.name)
        note_test_uses(notes, tests)
    _requirements(notes, {"code": code, "tests": tests}, draft)
    _header(notes, draft)
    note_seen_by_tests(notes, code, tests, draft.name)
    _schemas(notes, draft)
    note_text(notes, draft)
    note_private(notes, draft, code)
    note_addressed(notes, draft, code, tests)
    note_bandit(
        notes,
        draft.code if scannable(notes, code, "code") else "",
        draft.tests if scannable(notes, tests, "tests") else "",
        draft.capabilities,
    )
    imports = {imported.top for imported in imports_of(code) if imported.top} if code else set()
    return Review(
        findings=notes.sorted(),
        passed=not any(finding.blocking for finding in notes.found),
        imports=tuple(sorted(imports)),
    )


def _run_function(notes: Notes, tree: ast.Module, schema: Json) -> None:
    runs = [n for n in tree.body if isinstance(n, FUNCTIONS) and n.name == "run"]
    if len(runs) != 1:
        notes.block("contract", f"there has to be one top-level function run(...); there are {len(runs)}")
        return
    (run,) = runs
    for node in tree.body:
        if node is not run and "run" in _binds(node):
            notes.block("contract", "run is bound a second time", node.lineno)
    if isinstance(run, ast.AsyncFunctionDef) or any(
        isinstance(n, ast.Yield | ast.YieldFrom) for n in own_nodes(run)
    ):
        notes.block(
            "contract", "run has to return its result: it may not be async or a generator", run.lineno
        )
    if run.args.vararg or run.args.kwarg or run.args.posonlyargs:
        text = "run takes named parameters only: no *args, **kwargs or positional-only ones"
        notes.block("contract", text, run.lineno)
        return
    parameters = [*run.args.args, *run.args.kwonlyargs]
    bare = [p.arg for p in parameters if p.annotation is None] + (
        ["the result"] if run.returns is None else []
    )
    if bare:
        notes.block("contract", f"run is not fully annotated: {', '.join(bare)}", run.lineno)
    if not ast.get_docstring(run) and not ast.get_docstring(tree):
        notes.add("low", "contract", "neither the module nor run has a docstring", run.lineno)
    required = {p.arg for p in run.args.args[: len(run.args.args) - len(run.args.defaults)]}
    required |= {p.arg for p, d in zip(run.args.kwonlyargs, run.args.kw_defaults, strict=True) if d is None}
    _match_schema(notes, {p.arg for p in parameters}, required, schema, run.lineno)


def _binds(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.Import | ast.ImportFrom):
        names |= {alias.asname or alias.name for alias in node.names}
    return names | ({node.name} if isinstance(node, ast.ClassDef) else set())


def _match_schema(notes: Notes, names: set[str], required: set[str], schema: Json, line: int) -> None:
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or schema.get("type") != "object":
        notes.block("schema", "input_schema has to be of type object, with properties")
        return
    missing, extra = sorted(names - set(properties)), sorted(set(properties) - names)
    if missing:
        notes.block("schema", f"input_schema lacks these parameters of run: {', '.join(missing)}", line)
    if extra:
        notes.block("schema", f"input_schema has what run does not take: {', '.join(extra)}", line)
    required_names = schema.get("required", [])
    required_names = (
        {unseen for unseen in required_names if isinstance(unseen, str)}
        if isinstance(required_names, list)
        else set()
    )
    if unlisted := sorted((required & set(properties)) - required_names):
        text = f"input_schema has to require what has no default: {', '.join(unlisted)}"
        notes.block("schema", text, line)
    if unknown := sorted(required_names - set(properties)):
        notes.block("schema", f"input_schema requires what it does not describe: {', '.join(unknown)}", line)
    more = schema.get("additionalProperties", False)
    if more is not False or schema.get("patternProperties") or schema.get("unevaluatedProperties", False):
        text = "input_schema is open for further arguments, with which run crashes, as it takes no others"
        notes.add("medium", "schema", text, line)
    if optional := sorted((required_names & names) - required):
        notes.add("low", "schema", f"input_schema requires what has a default: {', '.join(optional)}", line)


def _schemas(notes: Notes, draft: ToolDraft) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    for name, schema in (("input_schema", draft.input_schema), ("output_schema", draft.output_schema)):
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            notes.block("schema", f"{name} is no valid JSON Schema: {error.message[:200]}")
        except RecursionError:
            notes.block("schema", f"{name} is nested too deeply")
        for key, value in _entries(schema):
            if key in ("$ref", "$dynamicRef") and not value.startswith("#"):
                notes.block("schema", f"{name} refers to something outside of itself: {value}")
            if hidden_characters(key + value):
                notes.add("high", "ast/hidden", f"{name}: invisible or direction-changing characters")
    if not draft.output_schema:
        notes.add("low", "schema", "output_schema says nothing of the result")


def _entries(schema: Json) -> Iterator[tuple[str, str]]:
    """Yield every key of a JSON value with its text; the text is empty if the value is something else."""
    rest: list[tuple[str, Json]] = [("", schema)]
    while rest:
        key, value = rest.pop()
        yield str(key), value if isinstance(value, str) else ""
        if isinstance(value, dict):
            rest += list(value.items())
        elif isinstance(value, list):
            rest += [("", item) for item in value]


def _top_level(notes: Notes, tree: ast.Module) -> None:
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


def _requirements(notes: Notes, trees: dict[str, ast.Module | None], draft: ToolDraft) -> None:
    names = {name for requirement in draft.requirements if (name := distribution(requirement))}
    provided = {module: name for name in sorted(names) for module in _modules_of(name)}
    unknown: list[tuple[str, str, int]] = []
    used: set[str] = set()
    for what, tree in trees.items():
        for imported in imports_of(tree) if tree else ():
            where, line = ("", imported.line) if what == "code" else (f"tests, line {imported.line}: ", 0)
            if not imported.top:
                notes.block("ast/imports", f"{where}a relative import: a tool is one module", line)
            elif imported.top == draft.name and what == "code":
                text = f"imports {imported.top}, which is the tool's own name, so it finds itself"
                notes.block("ast/imports", text, line)
            elif imported.top in STAND_INS and what == "tests" and imported.top not in provided:
                if draft.capabilities.none:
                    text = (
                        f"{where}stands in ({imported.top}) for what the tool does not ask for (capabilities)"
                    )
                    notes.block("tests", text)
            elif imported.top.lower() in provided:
                used.add(provided[imported.top.lower()])
            elif imported.optional and imported.top not in sys.stdlib_module_names:
                notes.add(
                    "low", "ast/imports", f"{where}imports {imported.top} if it is there; it is not", line
                )
            elif imported.top not in sys.stdlib_module_names and imported.top != draft.name:
                unknown.append((imported.top, where, line))
    spare = sorted(names - used)
    # A distribution's name need not suggest its modules; the metadata of the installed wheel has them.
    if len({module for module, _, _ in unknown}) > len(spare):
        for module, where, line in unknown:
            text = f"{where}imports {module}, which neither Python nor a requirement provides"
            notes.block("ast/imports", text, line)
    if spare and not unknown and trees["code"] is not None:
        notes.add("low", "ast/imports", f"nothing imports what these provide: {', '.join(spare)}")


def _header(notes: Notes, draft: ToolDraft) -> None:
    try:
        dependencies = header_requirements(draft.code)
    except ContractError as error:
        notes.add("medium", "contract", error.message)
        return
    wanted = {" ".join(requirement.split()) for requirement in draft.requirements}
    if dependencies is not None and set(dependencies) != wanted:
        text = f"the PEP 723 header lists {', '.join(dependencies) or 'nothing'}; the requirements are "
        notes.add("medium", "contract", text + (", ".join(sorted(wanted)) or "none"))


def _modules_of(distribution: str) -> set[str]:
    """Return the module names, in lower case, that a distribution's own name suggests."""
    name = distribution.replace("-", "_")
    short = re.sub(r"^(python3?_|py_?)|(_python3?|_py|_binary|_headless)$", "", name)
    return {name, short, name.split("_")[0]}


def _tests(notes: Notes, tree: ast.Module, name: str) -> None:
    tests = [node for node in tree.body if isinstance(node, FUNCTIONS) and node.name.startswith("test_")]
    helpers = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _asserts(node, set())}
    if not any(imported.top == name for imported in imports_of(tree)):
        notes.block("tests", f"the tests do not import {name}")
    idle = [test.name for test in tests if not _asserts(test, helpers)]
    count = len({test.name for test in tests})
    if count == 0:
        notes.block("tests", "there is no top-level test_* function")
    elif len(idle) == len(tests):
        notes.block("tests", "no test asserts anything")
    else:
        for unseen in idle:
            notes.add("medium", "tests", f"{unseen} asserts nothing")
    if count == 1:
        notes.add("medium", "tests", "there is only one test")
    for test in tests:
        lazy = isinstance(test, ast.AsyncFunctionDef)
        if lazy or any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(test)):
            notes.block("tests", f"{test.name} is async or a generator, so calling it runs nothing")
        wants = test.args.posonlyargs + test.args.args
        if len(wants) > len(test.args.defaults) or None in test.args.kw_defaults:
            notes.block("tests", f"{test.name} takes parameters, which nothing provides")


def _asserts(test: ast.AST, helpers: set[str]) -> bool:
    return any(
        isinstance(node, ast.Assert | ast.Raise)
        or (isinstance(node, ast.Call) and dotted(node.func) in helpers)
        for node in own_nodes(test)
    )
