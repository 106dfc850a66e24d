"""Hostile text is harmless in a pane, and all of it is seen in an approval."""

from __future__ import annotations

import sys

import pytest

from alita_tui.spine.text import _hidden, _plain, hidden_characters, neutralise, one_line, reveal

EVERY = [chr(number) for number in range(sys.maxunicode + 1)]


def test_the_short_way_agrees_with_a_look_at_each_character() -> None:
    hidden = [one for one in EVERY if _hidden(one)]
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
def test_what_a_pane_shows(text: str, shown: str) -> None:
    assert neutralise(text) == shown
    assert neutralise(neutralise(text)) == neutralise(text)


def test_what_an_approval_shows() -> None:
    assert reveal("a\u200bb\tc\rd") == "a⟨U+200B⟩b⟨U+0009⟩c⟨U+000D⟩d"
    assert hidden_characters("a\u200bb\tc\u202ed") == 2


def test_one_line_is_one_line() -> None:
    assert one_line("  a\n\n b\x1b[2J  c ") == "a b c"
    assert one_line("x" * 300, 10) == "x" * 9 + "…"
