"""A `.env` file as people write it, and as it must not be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_tui.spine.env_file import Entry, parse, quoted


def values(text: str) -> list[tuple[int, str, str]]:
    return [(entry.line, entry.name, entry.value) for entry in parse(text) if entry.name]


def test_lines_are_counted_from_the_assignment_not_from_the_blank_before_it() -> None:
    assert values("\n\nA=1\r\n# c\n\n  export B='x\ny'\nC=\"a\\tb\" # c\n") == [
        (3, "A", "1"), (6, "B", "x\ny"), (8, "C", "a\tb"),
    ]  # fmt: skip


def test_nothing_is_expanded_and_the_last_assignment_comes_last() -> None:
    assert values("A=1\nB=$A${A}$(id)`id`\nA=2\n") == [
        (1, "A", "1"), (2, "B", "$A${A}$(id)`id`"), (3, "A", "2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line", ["sk-secret", "2X=sk-secret", "A-B=sk-secret", "=sk-secret", "A='sk-secret", 'A="x" sk']
)
def test_anything_else_is_a_problem_whose_message_holds_no_secret(line: str) -> None:
    problem, good = parse(f"{line}\nGOOD=1\n")
    assert problem.problem and "sk" not in problem.problem and not problem.name
    assert (good.name, good.value, good.line) == ("GOOD", "1", 2)


def test_an_unclosed_quote_is_reported() -> None:
    assert "(A has an open quote)" in parse("A='x\n")[0].problem


@given(st.text(max_size=200))
def test_any_text_is_parsed_without_losing_a_character(text: str) -> None:
    assert "".join(entry.text for entry in parse(text)) == (
        text.removeprefix("\ufeff") if text.strip() else ""
    )
    assert all(isinstance(entry, Entry) and entry.line >= 1 for entry in parse(text))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_a_quoted_value_is_read_back_unchanged(value: str) -> None:
    assert values(f"A={quoted(value)}\n") == [(1, "A", value)]
