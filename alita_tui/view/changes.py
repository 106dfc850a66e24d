"""What approving a build changes in the library, and what a new version may newly do. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from alita_tui.spine.grants import phrases
from alita_tui.spine.text import counted
from alita_tui.state.build import Attempt, BuildState

NEW_REACH = "new in this version"
"""Label of the row in which the capability check reports what only the new code reaches for."""


def changes(build: BuildState, attempt: Attempt) -> tuple[str, ...]:
    """Return one sentence each; the first says what is added or replaced."""
    if build.parent is None:
        return (f"adds {build.name} v{build.version}; replaces nothing",)
    before, after = build.parent.code.splitlines(), attempt.draft.code.splitlines()
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    gone = sum(i2 - i1 for tag, i1, i2, _, _ in codes if tag != "equal")
    new = sum(j2 - j1 for tag, _, _, j1, j2 in codes if tag != "equal")
    old = f"v{build.version - 1}"
    sentences = [f"replaces {old}: {counted(new, 'line')} new, {gone} gone"]
    more = newly(build, attempt)
    sentences.append(
        f"may do what {old} could not: {'; '.join(more)}" if more else f"may do nothing that {old} could not"
    )
    return tuple(sentences)


def newly(build: BuildState, attempt: Attempt, withheld: Collection[str] = ()) -> tuple[str, ...]:
    """Return what only the new version may do: capabilities except those withheld, packages, reach."""
    if build.parent is None:
        return ()
    old, wants = build.parent.capabilities, attempt.draft.capabilities.without(withheld)
    more = phrases(wants.without(old.items))
    known = set(build.parent.requirements)
    packages = [
        f"the package {requirement}" for requirement in attempt.draft.requirements if requirement not in known
    ]
    rows = [row.text for gate in attempt.gates for row in gate.rows if row.label == NEW_REACH]
    return (*more, *packages, *rows)
