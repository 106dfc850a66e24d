"""Compares the imports of code and tests with the requirements."""

from __future__ import annotations

import ast
import re
import sys

from alita_tui.events import ToolDraft
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.python.draft_ast import imports_of
from alita_tui.spine.judge_plan import STAND_INS
from alita_tui.spine.requirements import distribution


def note_imports(notes: Notes, trees: dict[str, ast.Module | None], draft: ToolDraft) -> None:
    """Report imports that nothing provides, and requirements that are not imported."""
    names = {name for requirement in draft.requirements if (name := distribution(requirement))}
    provided = {module: name for name in sorted(names) for module in _modules_of(name)}
    unknown: list[tuple[str, str, int]] = []
    used: set[str] = set()
    for part, tree in trees.items():
        for imported in imports_of(tree) if tree else ():
            place, line = ("", imported.line) if part == "code" else (f"tests, line {imported.line}: ", 0)
            if not imported.top:
                notes.block("ast/imports", f"{place}a relative import: a tool is one module", line)
            elif imported.top == draft.name and part == "code":
                text = f"imports {imported.top}, which is the tool's own name, so it finds itself"
                notes.block("ast/imports", text, line)
            elif imported.top in STAND_INS and part == "tests" and imported.top not in provided:
                if draft.capabilities.none:
                    text = (
                        f"{place}stands in ({imported.top}) for what the tool does not ask for (capabilities)"
                    )
                    notes.block("tests", text)
            elif imported.top.lower() in provided:
                used.add(provided[imported.top.lower()])
            elif imported.optional and imported.top not in sys.stdlib_module_names:
                notes.add(
                    "low", "ast/imports", f"{place}imports {imported.top} if it is there; it is not", line
                )
            elif imported.top not in sys.stdlib_module_names and imported.top != draft.name:
                unknown.append((imported.top, place, line))
    unused = sorted(names - used)
    # A distribution's name need not suggest its modules; the metadata of the installed wheel has them.
    if len({module for module, _, _ in unknown}) > len(unused):
        for module, place, line in unknown:
            text = f"{place}imports {module}, which neither Python nor a requirement provides"
            notes.block("ast/imports", text, line)
    if unused and not unknown and trees["code"] is not None:
        notes.add("low", "ast/imports", f"nothing imports what these provide: {', '.join(unused)}")


def _modules_of(distribution: str) -> set[str]:
    """Return the module names, in lower case, that a distribution's own name suggests."""
    name = distribution.replace("-", "_")
    short = re.sub(r"^(python3?_|py_?)|(_python3?|_py|_binary|_headless)$", "", name)
    return {name, short, name.split("_")[0]}
