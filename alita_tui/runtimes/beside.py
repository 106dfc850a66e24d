"""What a review says of every draft whose code is not Python: its tests, which are, and what stands in its texts."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from alita_tui.events import ToolDraft
from alita_tui.runtimes.notes import Notes

if TYPE_CHECKING:
    from alita_tui.runtimes.private_data import Said


def note_beside(notes: Notes, draft: ToolDraft, tests: ast.Module | None, said: Said | None) -> None:
    """Note what tests import and see, and private data in what the code is written with."""
    import msgspec

    from alita_tui.runtimes.private_data import note_private
    from alita_tui.runtimes.python.imports import note_imports
    from alita_tui.runtimes.python.text_scan import note_bandit, scannable
    from alita_tui.runtimes.python.visible_to_tests import note_seen_by_tests

    bare = msgspec.structs.replace(draft, requirements=())
    note_imports(notes, {"code": None, "tests": tests}, bare)
    note_seen_by_tests(notes, ast.Module(body=[], type_ignores=[]), tests, draft.name)
    note_private(notes, draft, said)
    note_bandit(notes, "", draft.tests if scannable(notes, tests, "tests") else "", draft.capabilities)


def properties(draft: ToolDraft) -> list[str]:
    """Return the properties of a draft's input schema, in their order."""
    listed = draft.input_schema.get("properties") if isinstance(draft.input_schema, dict) else None
    return [str(name) for name in listed] if isinstance(listed, dict) else []
