"""The part of a review for drafts in other languages than Python: their tests, which are Python, and private data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from alita_tui.events import ToolDraft
from alita_tui.runtimes.notes import Notes

if TYPE_CHECKING:
    from alita_tui.runtimes.private_data import CodeTexts


def note_tests_and_private_data(
    notes: Notes, draft: ToolDraft, tests: ast.Module | None, code_texts: CodeTexts | None
) -> None:
    """Add findings about what the tests import and see, and about private data in the code's texts."""
    import msgspec

    from alita_tui.runtimes.private_data import note_private
    from alita_tui.runtimes.python.imports import note_imports
    from alita_tui.runtimes.python.text_scan import note_bandit, scannable
    from alita_tui.runtimes.python.visible_to_tests import note_seen_by_tests

    bare = msgspec.structs.replace(draft, requirements=())
    note_imports(notes, {"code": None, "tests": tests}, bare)
    note_seen_by_tests(notes, ast.Module(body=[], type_ignores=[]), tests, draft.name)
    note_private(notes, draft, code_texts)
    note_bandit(notes, "", draft.tests if scannable(notes, tests, "tests") else "", draft.capabilities)


def properties(draft: ToolDraft) -> list[str]:
    """Return the properties of a draft's input schema, in their order."""
    properties_schema = draft.input_schema.get("properties") if isinstance(draft.input_schema, dict) else None
    return [str(name) for name in properties_schema] if isinstance(properties_schema, dict) else []
