"""Patterns whose time runs away, told from those that are only long."""

from __future__ import annotations

import pytest

from alita_tui.runtimes.python.regex_backtracking import runs_away

RUN_AWAY = [
    r"(a+)+$", r"(a*)*b", r"([a-zA-Z]+)*!", r"(a|aa)+$", r"(a|a.)*b", r"(\w+|\d)*!", r"^(\w+\s?)*$", r"(.*a){20}x",
    r"(?:[a-z]+[0-9]*)+!", r"(x+x+)+y", r"(\d+,?)+;", r"((ab)*)*c", r"(a|b|ab)*c", r"(?i:([A-Z]|[a-z]z?)*1)",
    r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(?s:(.|\n)*x)", r"([^,]*,?)*$", r"(?:\n[ \t]+.*)*!", r"(a?){30}a{30}",
]  # fmt: skip
CALM = [
    r"\d+", r"^\s*(\w+)\s*=\s*(.*?)\s*$", r"(\w+\.)+\w+", r"(?:\d{1,3}\.){3}\d{1,3}", r'"([^"\\]|\\.)*"', r"[^@\s]+@[^@\s]+\.\w+",
    r"^#{1,6} (.+)$", r"(\d{4})-(\d{2})-(\d{2})", r"(?:[A-Z][a-z]+ )*[A-Z][a-z]+", r"([^,]*,)*[^,]*$", r"<[^>]+>", r"(\s*,\s*\w+)*",
    r"\b[A-Z]{2}\d{2}(?: ?\w{4})+\b", r"^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$", r"(?:(?:ab)+c)*", r"(?P<a>x)(?P=a)*", r"(?:a|b)*c", r"(a+)+", r"(\w|\d)*!",
    r"(?m)^([A-Za-z_]\w*):\s*(.*(?:\n[ \t]+.*)*)", r"https?://[\w.-]+(?:/[\w./-]*)?", r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?",
]  # fmt: skip


@pytest.mark.parametrize("pattern", RUN_AWAY)
def test_an_ambiguous_pattern_is_flagged(pattern: str) -> None:
    assert runs_away(pattern)


@pytest.mark.parametrize("pattern", CALM)
def test_an_ordinary_pattern_is_not_flagged(pattern: str) -> None:
    assert not runs_away(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a{2,1}",
        "x" * 5000,
        "(" * 400 + "a" + ")" * 400,
        "[" + "a-z" * 3000 + "]*",
        "(a|b){,99999999999999}",
    ],
)
def test_any_pattern_gets_an_answer(pattern: str) -> None:
    assert runs_away(pattern) in (True, False)
