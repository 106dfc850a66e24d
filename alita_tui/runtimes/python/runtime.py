"""Python: the language of the warden and of the tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from alita_tui.events import ToolDraft
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.places import Instrumented
from alita_tui.runtimes.port import Constant, Mutant
from alita_tui.spine.syntax import try_parse


class Python:
    """Implements `runtimes.port.Runtime`."""

    language = "python"
    title = "Python"
    suffix = ".py"
    needs = ()
    packages = "plain PEP 508 requirement (no URL, path or option)"
    prompt = ""
    start = None
    lint = None
    outside = "uv run"
    outside_start = None
    outside_missing = ""
    outside_needs = "Python 3.11 or newer; uv runs the scripts with their packages"

    def requirement(self, text: str) -> str | None:
        """Return a requirement on one line; None for one that is not of the Python index."""
        from alita_tui.spine.requirements import NPM, distribution

        return None if text.startswith(NPM) or distribution(text) is None else " ".join(text.split())

    def completed(self, draft: ToolDraft) -> str:
        """Return the code with a PEP 723 header and a `__main__`."""
        from alita_tui.runtimes.python.form import completed

        return completed(draft)

    def review(self, notes: Notes, draft: ToolDraft, tests: ast.Module | None) -> tuple[str, ...]:
        """Add the findings about code, requirements and tests; return the imported modules."""
        from alita_tui.runtimes.private_data import note_private
        from alita_tui.runtimes.python.code_texts import code_texts
        from alita_tui.runtimes.python.contract import note_header, note_run, note_top_level
        from alita_tui.runtimes.python.draft_ast import imports_of, parse_code
        from alita_tui.runtimes.python.file_access import note_files
        from alita_tui.runtimes.python.imports import note_imports
        from alita_tui.runtimes.python.nondeterminism import note_depends
        from alita_tui.runtimes.python.reach_rules import note_uses
        from alita_tui.runtimes.python.text_scan import note_bandit, scannable
        from alita_tui.runtimes.python.truncation import note_cuts
        from alita_tui.runtimes.python.visible_to_tests import note_seen_by_tests

        code = parse_code(notes, draft.code, "code")
        if code is not None:
            note_run(notes, code, draft.input_schema)
            note_top_level(notes, code)
            if (reach := note_uses(notes, code, draft)) is not None:
                note_depends(notes, code, draft, reach)
                note_files(notes, code, draft, reach)
                note_cuts(notes, code, draft)
        note_imports(notes, {"code": code, "tests": tests}, draft)
        note_header(notes, draft)
        note_seen_by_tests(notes, code, tests, draft.name)
        note_private(notes, draft, code_texts(code))
        note_bandit(
            notes,
            draft.code if scannable(notes, code, "code") else "",
            draft.tests if scannable(notes, tests, "tests") else "",
            draft.capabilities,
        )
        return tuple(sorted({imported.top for imported in imports_of(code) if imported.top})) if code else ()

    def uses(self, draft: ToolDraft) -> Notes:
        """Return findings about what the code accesses beyond the draft's capabilities."""
        from alita_tui.runtimes.python.file_access import note_files
        from alita_tui.runtimes.python.reach_rules import note_uses

        notes = Notes()
        tree = try_parse(draft.code)
        if tree is not None and (reach := note_uses(notes, tree, draft)) is not None:
            note_files(notes, tree, draft, reach)
        return notes

    def texts(self, code: str) -> Iterator[tuple[int, str]]:
        """Yield comments and texts, including concatenated ones."""
        from alita_tui.runtimes.python.texts import comments, texts

        yield from comments(code)
        if (tree := try_parse(code)) is not None:
            yield from texts(tree)

    def constants(self, code: str, task: frozenset[str] | None = None) -> list[Constant]:
        """Return the constants except docstrings."""
        from alita_tui.runtimes.python.constants import constants_of

        tree = try_parse(code)
        return constants_of(tree, task) if tree else []

    def parameters(self, draft: ToolDraft) -> list[str]:
        """Return the parameters of `run` that can be given by position; none if there is no such function."""
        from alita_tui.runtimes.python.draft_ast import run_function

        run = run_function(try_parse(draft.code))
        return [argument.arg for argument in (*run.args.posonlyargs, *run.args.args)] if run else []

    def instrumented(self, code: str) -> Instrumented:
        """Return the code with its places. Raises one of `spine.syntax.UNPARSABLE`."""
        from alita_tui.runtimes.python.instrumentation import instrumented

        return instrumented(code)

    def mutants(self, code: str, most: int) -> list[Mutant]:
        """Return mutants spread over the code."""
        from alita_tui.runtimes.python.mutants import mutants

        return mutants(code, most)

    def disguised(self, code: str) -> str:
        """Return the code with other lines and other bytecode."""
        from alita_tui.runtimes.python.mutants import disguised

        return disguised(code)
