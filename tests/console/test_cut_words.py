"""No word of a closed row is cut in two beside an open review."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_tui.console.session.card_parts import fitted
from alita_tui.console.widgets.styled_text import Line, at_words, code_folded, width_of


@pytest.mark.parametrize(
    ("line", "width", "shown"),
    [
        (((" ◆ ", ""), ("validate_email_addresses: ", ""), ("draft, 27 lines", "")), 30, "validate_email_addresses: …"),
        (((" ▸ ", ""), ("4 steps", ""), (" · built validate_email_addresses", "")), 32, "4 steps · built …"),
        (((" ✓ ", ""), ("Contract                 ", ""), ("passed         ", ""), ("the schemas", "")), 36, "passed"),
        (((" ◆ ", ""), ("Requirements             ", ""), ("could not run  ", ""), ("the known", "")), 39, "could …"),
    ],
)  # fmt: skip
def test_a_row_gives_way_at_a_word(line: Line, width: int, shown: str) -> None:
    kept = fitted(line, [], width)
    text = "".join(piece for piece, _style in kept)
    assert text.rstrip().endswith(shown) and width_of(kept) <= width


def test_a_name_that_leads_is_shown_as_far_as_it_fits() -> None:
    kept = fitted(((" ◈ ", ""), ("Build    ", ""), ("validate_email_addresses", "")), [], 24)
    assert "".join(piece for piece, _style in kept) == " ◈ Build    validate_em…"


def test_a_word_after_others_is_left_out_where_it_is_cut() -> None:
    assert at_words("1 result from pypi", 7, before=20) == "1 …"
    assert at_words("Read art_efac80ff24", 14, before=20) == "Read …"
    assert at_words("art_efac80ff24", 8, before=20) == "…"
    assert at_words("art_efac80ff24", 8) == "art_efa…"


@given(
    st.text("ab_ .,()='\"日", min_size=1, max_size=80),
    st.integers(8, 40),
    st.integers(0, 12),
)
def test_a_long_line_of_code_is_broken_and_nothing_of_it_is_lost(text: str, room: int, indent: int) -> None:
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
