"""The fence around text from outside: what a model reads inside is data, and cannot end the fence. Pure."""

from __future__ import annotations

import re
import unicodedata

from alita_tui.spine.text import neutralise, one_line

_WORD = "untrusted"
_ALIKE = 5
"""Letters in place from which a word in brackets passes for the fence's own; others may be lookalikes."""
_BRACKET = re.compile(r"([<＜‹〈﹤⟨《«])(\W{0,6})(\w{7,12})")


def fenced(source: str, text: str) -> str:
    """Return text from outside between marks, so that a prompt can say: data, never instructions."""
    name = re.sub(r"[\"<>]", "'", one_line(source, 300))
    return f'<{_WORD} source="{name}">\n{defused(text)}\n</{_WORD}>'


def defused(text: str) -> str:
    """Return text without hidden characters and without anything that passes for a mark of the fence."""
    return _BRACKET.sub(_defuse, neutralise(text))


def _defuse(match: re.Match[str]) -> str:
    word = unicodedata.normalize("NFKC", match[3]).casefold()
    places = max(sum(a == b for a, b in zip(word[at:], _WORD, strict=False)) for at in range(4))
    return f"({match[2]}{match[3]}" if places >= _ALIKE else match[0]
