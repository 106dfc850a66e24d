"""A review says in which language a tool is written, and why its model took it; that is a claim, shown as any text."""

from __future__ import annotations

import msgspec

from alita_tui.console.review.evidence import why
from alita_tui.console.review.glance import glance
from alita_tui.console.widgets.sheet import Row
from alita_tui.console.widgets.styled_text import text_of
from alita_tui.state.build import Attempt, BuildState
from tests.console.approval_cases import calm
from tests.runtimes.drafts import bash


def shown(rows: list[Row]) -> str:
    return "\n".join(text_of((*row.gutter, *row.body)) for row in rows)


def changed(**changes: object) -> tuple[BuildState, Attempt]:
    build = calm().builds[-1]
    return build, msgspec.structs.replace(build.attempts[-1], **changes)


def first_screenful(**changes: object) -> str:
    return shown(glance(*changed(**changes)))


def test_the_language_and_the_reason_for_it_are_on_the_first_screenful():
    said = first_screenful(draft=bash(), language_reason="text is\nits [b]trade[/b]\u202e")
    line = next(line for line in said.split("\n") if "written in" in line)
    assert "Bash; its author says why: text is its [b]trade[/b]⟨U+202E⟩" in line


def test_python_is_not_mentioned_and_an_unknown_language_is_named():
    assert "written in" not in first_screenful()
    other = msgspec.structs.replace(bash(), language="fortran")
    assert "fortran" in first_screenful(draft=other)


def test_a_long_reason_keeps_the_first_screenful_and_is_complete_below():
    reason = "because " * 500 + "of this"
    build, attempt = changed(draft=bash(), language_reason=reason)
    (row,) = [row for row in glance(build, attempt) if "written in" in text_of(row.gutter)]
    assert row.clip
    assert reason in shown(why(build, attempt))
