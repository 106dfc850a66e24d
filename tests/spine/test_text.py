"""Hostile text is harmless in a pane, and all of it is seen in an approval."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from rich.cells import get_character_cell_size

from alita_tui.spine.hidden_characters import hostile
from alita_tui.spine.text import _plain, hidden_characters, neutralise, one_line, reveal

EVERY = [chr(number) for number in range(sys.maxunicode + 1)]
IGNORABLE = """
00AD 034F 061C 115F..1160 17B4..17B5 180B..180D 180E 180F 200B..200F 202A..202E 2060..2064 2065 2066..206F 3164
FE00..FE0F FEFF FFA0 FFF0..FFF8 1BCA0..1BCA3 1D173..1D17A E0000 E0001 E0002..E001F E0020..E007F E0080..E00FF
E0100..E01EF E01F0..E0FFF
"""
"""Default_Ignorable_Code_Point as DerivedCoreProperties.txt of Unicode 16.0 lists it."""
BLANK_BY_FONT = "\u2800\u303f\ufffc\U0001d159\U00016fe4\U00013441\U00013442"


def listed(ranges: str) -> set[int]:
    found: set[int] = set()
    for one in ranges.split():
        first, _, last = one.partition("..")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return found


def cannot_be_seen(char: str, ignorable: set[int]) -> bool:
    """What a reader's eye says, without a look at the code under test."""
    if char in " \n":
        return False
    return (
        ord(char) in ignorable
        or char in BLANK_BY_FONT
        or unicodedata.category(char)[0]
        in "CZM"  # controls, unassigned, private, blanks; marks without a letter
        or get_character_cell_size(char) == 0  # as it is drawn
    )


def test_exactly_the_invisible_code_points_are_spelled_out() -> None:
    ignorable = listed(IGNORABLE)
    blind = [one for one in EVERY if cannot_be_seen(one, ignorable)]
    assert len(blind) > 900_000
    assert [hex(ord(one)) for one in blind if reveal(one) != f"⟨U+{ord(one):04X}⟩"] == []
    assert [hex(ord(one)) for one in blind if one != "\t" and hidden_characters(f"a\n{one}b") != 1] == []
    seen = set(EVERY) - set(blind)
    assert [hex(ord(one)) for one in seen if reveal(one) != one or hidden_characters(one)] == []


def test_hidden_characters_inside_a_word_are_spelled_out() -> None:
    for number in listed(IGNORABLE):
        char = chr(number)
        assert reveal(f"ab{char}cd") == f"ab⟨U+{number:04X}⟩cd"
        assert hidden_characters(f"'{char}'") == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("e\u0301te\u0301", "e\u0301te\u0301"),
        ("हिन्दी தமிழ் ไทยกำ 한국어 עִבְרִית", "हिन्दी தமிழ் ไทยกำ 한국어 עִבְרִית"),
        ("\u1112\u1161\u11ab", "\u1112\u1161\u11ab"),
        ("'\u0301'", "'⟨U+0301⟩'"),
        ("a\n\u0301b", "a\n⟨U+0301⟩b"),
        ("a\u1161", "a⟨U+1161⟩"),
        ("👍🏽", "👍🏽"),
        ("a🏽", "a⟨U+1F3FD⟩"),
        ("a\u200b\u0301", "a⟨U+200B⟩⟨U+0301⟩"),
        ("Ответ: Straße, 你好, Ελλάδα", "Ответ: Straße, 你好, Ελλάδα"),
        ("👨\u200d👩 ❤\ufe0f", "👨⟨U+200D⟩👩 ❤⟨U+FE0F⟩"),
        ("x\u3000y\u00a0z", "x⟨U+3000⟩y⟨U+00A0⟩z"),
    ],
)
def test_a_mark_on_a_letter_is_visible_and_one_without_is_spelled_out(text: str, shown: str) -> None:
    assert reveal(text) == shown
    assert hidden_characters(text) == shown.count("⟨U+")


def test_the_fast_check_agrees_with_a_check_of_each_character() -> None:
    hidden = [one for one in EVERY if hostile(one)]
    assert len(hidden) > 100_000
    assert [one for one in hidden if _plain(one)] == []
    assert [one for one in "\t\r\u200c\u200d\u00a0" if _plain(one)] == []
    assert [one for one in hidden if neutralise(one)] == []
    assert [one for one in hidden if not reveal(one).startswith("⟨U+")] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ntext", "plain\ntext"),
        ("ünï – 你好 🙂", "ünï – 你好 🙂"),
        ("👨\u200d👩\u200d👧 ❤\ufe0f", "👨\u200d👩\u200d👧 ❤\ufe0f"),
        ("a\U000e0061\U000e0100b\u180bc\ufe01", "abc"),
        ("⣿⠀⣿", "⣿⠀⣿"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil\x07link\x1b]8;;\x07", "link"),
        ("a\x1b]0;title", "a"),
        ("a\tb\r\nc\rd", "a    b\ncd"),
        ("adm\u202enimda", "admnimda"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("no\u00a0break", "no\u00a0break"),
        ("\x9b31mx", "x"),
        ("[bold]markup[/]", "[bold]markup[/]"),
    ],
)
def test_hostile_text_is_neutralised_for_panes(text: str, shown: str) -> None:
    assert neutralise(text) == shown
    assert neutralise(neutralise(text)) == neutralise(text)


def test_texts_are_revealed_for_approval() -> None:
    assert reveal("a\u200bb\tc\rd") == "a⟨U+200B⟩b⟨U+0009⟩c⟨U+000D⟩d"
    assert hidden_characters("a\u200bb\tc\u202ed") == 2


@pytest.mark.timeout(60)
def test_plain_and_foreign_text_stays_unchanged() -> None:
    for text in ("x = 'plain'\n" * 20_000, "x = 'Größe, 数, число'\n" * 10_000):
        assert reveal(text) == text and neutralise(text) == text


def test_one_line_joins_and_shortens_text() -> None:
    assert one_line("  a\n\n b\x1b[2J  c ") == "a b c"
    assert one_line("x" * 300, 10) == "x" * 9 + "…"
