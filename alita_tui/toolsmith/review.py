"""The static review of a draft: advice for the person, and faults that make testing pointless.

Nothing is imported or run. It is a reading aid: what protects is the sandbox and the person's decision.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from alita_tui.events import Finding, Json, ToolDraft, Value
from alita_tui.runtimes.languages import runtime_of
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.python.draft_ast import (
    FUNCTIONS,
    dotted,
    imports_of,
    own_nodes,
    parse_code,
)
from alita_tui.runtimes.python.reach_rules import note_test_uses
from alita_tui.runtimes.python.text_scan import note_text
from alita_tui.spine.text import hidden_characters
from alita_tui.toolsmith.prompt_injection import note_addressed
from alita_tui.toolsmith.provenance import UNKNOWN, Provenance, note_provenance


class Review(Value, frozen=True):
    """Result of the review."""

    findings: tuple[Finding, ...]
    """By line, then rule."""
    passed: bool
    """False if the draft goes back before it is tested."""
    imports: tuple[str, ...] = ()
    """Top-level modules that the code imports, sorted."""


def review(draft: ToolDraft, session_texts: Provenance = UNKNOWN, parent: ToolDraft | None = None) -> Review:
    """Review a draft, given the provenance of the session's texts. Blocking findings make testing pointless.

    Blocks: call in a thread.
    """
    notes = Notes()
    note_provenance(notes, draft, parent, session_texts)
    runtime = runtime_of(draft.language)
    tests = parse_code(notes, draft.tests, "tests")
    if tests is not None:
        _tests(notes, tests, draft.name)
        note_test_uses(notes, tests)
    used = runtime.review(notes, draft, tests)
    _schemas(notes, draft)
    note_text(notes, draft)
    note_addressed(notes, draft, runtime.texts(draft.code), tests)
    return Review(
        findings=notes.sorted(),
        passed=not any(finding.blocking for finding in notes.found),
        imports=used,
    )


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
    pending: list[tuple[str, Json]] = [("", schema)]
    while pending:
        key, value = pending.pop()
        yield str(key), value if isinstance(value, str) else ""
        if isinstance(value, dict):
            pending += list(value.items())
        elif isinstance(value, list):
            pending += [("", item) for item in value]


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
