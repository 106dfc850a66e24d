"""What approving a build changes in the library, and what only the new version may do. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from alita_tui.spine.grants import phrases
from alita_tui.spine.text import counted
from alita_tui.state.build import Attempt, BuildState

NEW_REACH = "new in this version"
"""Label of the capability check's row about what only the new code accesses."""


def changes(build: BuildState, attempt: Attempt) -> tuple[str, ...]:
    """Return a sentence for each change; the first says what is added or replaced."""
    if build.parent is None:
        installed = _packages("", attempt.draft.requirements)
        return (f"adds {build.name} v{build.version}; replaces nothing{installed}",)
    old_lines, new_lines = build.parent.code.splitlines(), attempt.draft.code.splitlines()
    codes = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes()
    removed = sum(i2 - i1 for tag, i1, i2, _, _ in codes if tag != "equal")
    added = sum(j2 - j1 for tag, _, _, j1, j2 in codes if tag != "equal")
    previous = f"v{build.version - 1}"
    new_packages = [item for item in attempt.draft.requirements if item not in build.parent.requirements]
    kept_packages = [item for item in attempt.draft.requirements if item in build.parent.requirements]
    installed = _packages("new ", new_packages) + _packages("as before, ", kept_packages)
    sentences = [f"replaces {previous}: {counted(added, 'line')} new, {removed} gone{installed}"]
    abilities = newly_allowed(build, attempt)
    sentences.append(
        f"may do what {previous} could not: {'; '.join(abilities)}"
        if abilities
        else f"may do nothing that {previous} could not"
    )
    return tuple(sentences)


def _packages(which: str, requirements: Sequence[str]) -> str:
    """Return the packages that are installed for it, as the end of a sentence."""
    word = "package" if len(requirements) == 1 else "packages"
    return f"; {which}{word}: {', '.join(requirements)}" if requirements else ""


def newly_allowed(build: BuildState, attempt: Attempt, withheld: Collection[str] = ()) -> tuple[str, ...]:
    """Return what only the new version may do: capabilities except withheld ones, packages, accesses."""
    if build.parent is None:
        return ()
    previous, requested = build.parent.capabilities, attempt.draft.capabilities.without(withheld)
    capabilities = phrases(requested.without(previous.items))
    earlier = set(build.parent.requirements)
    packages = [
        f"the package {requirement}"
        for requirement in attempt.draft.requirements
        if requirement not in earlier
    ]
    rows = [row.text for gate in attempt.gates for row in gate.rows if row.label == NEW_REACH]
    return (*capabilities, *packages, *rows)
