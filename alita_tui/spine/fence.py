"""The fence around text from outside: what a model reads inside is data, and cannot end the fence. Pure."""

from __future__ import annotations

import re
import unicodedata

from alita_tui.spine.text import neutralise, one_line

_WORD = "untrusted"
_ALIKE = 5
"""Matching letters from which a word in brackets counts as the fence's mark; the others may be lookalikes."""
_BRACKET = re.compile(r"([<＜‹〈﹤⟨《«])(\W{0,6})(\w{7,12})")


def fenced(source: str, text: str) -> str:
    """Return text from outside between marks, which the prompt declares to hold data, never instructions."""
    name = re.sub(r"[\"<>]", "'", one_line(source, 300))
    return f'<{_WORD} source="{name}">\n{defused(text)}\n</{_WORD}>'


def defused(text: str) -> str:
    """Return text without hidden characters and without anything that could be read as a fence mark."""
    return _BRACKET.sub(_defuse, neutralise(text))


def _defuse(match: re.Match[str]) -> str:
    word = unicodedata.normalize("NFKC", match[3]).casefold()
    matching = max(sum(a == b for a, b in zip(word[at:], _WORD, strict=False)) for at in range(4))
    return f"({match[2]}{match[3]}" if matching >= _ALIKE else match[0]
