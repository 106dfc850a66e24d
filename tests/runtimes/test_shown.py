"""A review says in which language a tool is written, and why its model took it; that is a claim, shown as any text."""

from __future__ import annotations

import msgspec

from alita_tui.console.review.glance import glance
from alita_tui.console.widgets.styled_text import text_of
from tests.console.approval_cases import calm
from tests.runtimes.drafts import bash


def first_screenful(**changes: object) -> str:
    build = calm().builds[-1]
    attempt = msgspec.structs.replace(build.attempts[-1], **changes)
    return "\n".join(text_of((*row.gutter, *row.body)) for row in glance(build, attempt))


def test_the_language_and_the_reason_for_it_are_on_the_first_screenful():
    said = first_screenful(draft=bash(), language_reason="text is\nits [b]trade[/b]\u202e")
    line = next(line for line in said.split("\n") if "written in" in line)
    assert "Bash; its author says why: text is its [b]trade[/b]⟨U+202E⟩" in line


def test_nothing_is_said_of_python_and_an_unknown_language_is_named_as_it_is():
    assert "written in" not in first_screenful()
    other = msgspec.structs.replace(bash(), language="fortran")
    assert "fortran" in first_screenful(draft=other)
