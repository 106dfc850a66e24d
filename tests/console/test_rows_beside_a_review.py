"""No word of a closed row is cut in two beside an open review."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_tui.console.session.card_parts import fitted
from alita_tui.console.widgets.styled_text import Line, at_words, code_folded, folded, text_of, width_of, wrap


@pytest.mark.parametrize(
    ("line", "width", "shown"),
    [
        (((" ◆ ", ""), ("validate_email_addresses: ", ""), ("draft, 27 lines", "")), 30, "validate_email_addresses: …"),
        (((" ▸ ", ""), ("4 steps", ""), (" · built validate_email_addresses", "")), 32, "4 steps · built …"),
        (((" ✓ ", ""), ("Contract                 ", ""), ("passed         ", ""), ("the schemas", "")), 36, "passed"),
        (((" ◆ ", ""), ("Requirements             ", ""), ("could not run  ", ""), ("the known", "")), 39, "could …"),
    ],
)  # fmt: skip
def test_a_row_is_cut_at_a_word(line: Line, width: int, shown: str) -> None:
    kept = fitted(line, [], width)
    text = "".join(piece for piece, _style in kept)
    assert text.rstrip().endswith(shown) and width_of(kept) <= width


def test_a_leading_name_is_shown_as_far_as_it_fits() -> None:
    kept = fitted(((" ◈ ", ""), ("Build    ", ""), ("validate_email_addresses", "")), [], 24)
    assert "".join(piece for piece, _style in kept) == " ◈ Build    validate_em…"


def test_a_word_that_does_not_fit_after_others_is_left_out() -> None:
    assert at_words("1 result from pypi", 7, before=20) == "1 …"
    assert at_words("Read art_efac80ff24", 14, before=20) == "Read …"
    assert at_words("art_efac80ff24", 8, before=20) == "…"
    assert at_words("art_efac80ff24", 8) == "art_efa…"


@given(
    st.text("ab_ .,()='\"日", min_size=1, max_size=80),
    st.integers(8, 40),
    st.integers(0, 12),
)
def test_a_long_line_of_code_is_broken_without_losing_anything(text: str, room: int, indent: int) -> None:
    code = " " * indent + text
    lines = code_folded(((code, "code"),), room)
    assert all(width_of(line) <= room for line in lines)
    rest = ["".join(piece for piece, style in line if style) for line in lines]
    assert "".join(rest) == code


def test_a_long_line_of_code_is_broken_between_its_words_and_hangs() -> None:
    code = "    return validated_addresses(addresses, allow_local=False, normalise_unicode=True)"
    lines = ["".join(piece for piece, _style in line) for line in code_folded(((code, "code"),), 40)]
    assert lines == [
        "    return validated_addresses(",
        "        addresses, allow_local=False, ",
        "        normalise_unicode=True)",
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "test_keeps_the_order_and_takes_an_empty_list",
            ["test_keeps_the_order_and_takes_", "an_empty_list"],
        ),
        (
            "see https://example.org/a/very/long/path/to/it",
            ["see ", "https://example.org/a/very/long/", "path/to/it"],
        ),
        ("a" * 50, ["a" * 32, "a" * 18]),
        ("a_" + "b" * 50, ["a_" + "b" * 30, "b" * 20]),
    ],
)
def test_a_word_that_is_longer_than_a_line_is_broken_at_its_joints(text: str, parts: list[str]) -> None:
    assert [text_of(line) for line in folded(((text, ""),), 32)] == parts
    assert wrap(text, 32) == [part.rstrip() for part in parts]


def test_a_long_line_of_code_in_a_review_keeps_its_names_and_every_blank() -> None:
    text = '            results.append({"address": address, "valid": False, "reason": str(error)})'
    parts = [text_of(part) for part in folded(((text, ""),), 60, hard=True, code=True)]
    assert "".join(parts) == text
    assert text_of(folded(((text, ""),), 50, hard=True, code=True)[0]).endswith("address, ")
    assert parts[0].endswith('"valid": ') and parts[1].startswith("False, ")


@given(st.text(alphabet="ab_. (){}:,=日\u0301", max_size=90), st.integers(4, 40))
def test_code_in_a_review_is_broken_without_losing_anything(text: str, room: int) -> None:
    parts = folded(((text, ""),), room, hard=True, code=True)
    assert "".join(map(text_of, parts)) == text
    assert all(width_of(part) <= room for part in parts)
