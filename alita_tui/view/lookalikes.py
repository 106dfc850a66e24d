"""Words that pass for others: letters of one script that are drawn like those of another (UTS #39). Pure.

Ordinary text in any script is not reported. Reported are words of Latin letters with a Cyrillic, Greek or Armenian
letter among them that looks Latin; words of nothing but such letters on a line without other words of that script; and
letters that only look like ASCII (mathematical, full-width) within a word of ASCII.
"""

from __future__ import annotations

import re
import unicodedata

_LIKE_LATIN = frozenset(
    "аеорсухіјѕԁһԛԝӏѵүАВЕЗІЈКМНОРСТХҮЅԌԚԜӀ"  # Cyrillic
    "οανρυιγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ"  # Greek
    "օսոյցհԱՕՏՍ"  # Armenian
)
_WORD = re.compile(r"[^\W\d_]+")


def lookalikes(text: str) -> tuple[tuple[int, str], ...]:
    """Return the line (from 1) and the text of each word that passes for another."""
    if text.isascii():
        return ()
    suspects: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.isascii():
            continue
        words = _WORD.findall(line)
        plain = {_script(char) for word in words for char in word if char not in _LIKE_LATIN}
        suspects += [(number, word) for word in words if _passes(word, plain)]
    return tuple(suspects)


def spelled(word: str) -> str:
    """Return a word with every letter outside ASCII written as ⟨U+XXXX⟩."""
    return "".join(char if char.isascii() else f"⟨U+{ord(char):04X}⟩" for char in word)


def _passes(word: str, plain: set[str]) -> bool:
    foreign = [char for char in word if char in _LIKE_LATIN]
    latin = any(_script(char) == "LATIN" for char in word)
    if any(_dressed(char) for char in word) and (latin or len(word) > 1):
        return True
    if not foreign:
        return False
    if latin:
        return not _is_symbol(word)
    return len(foreign) == len(word) > 1 and not plain & {_script(char) for char in foreign}


def _is_symbol(word: str) -> bool:
    """Return whether this is a symbol such as `αx`: one Greek letter beside a Latin one."""
    return (
        len(word) <= 2
        and _script(word[0]) != _script(word[-1])
        and "GREEK" in (_script(word[0]), _script(word[-1]))
    )


def _dressed(char: str) -> bool:
    """Return whether this is an ASCII letter in another form: full-width or mathematical."""
    if not 0xFF21 <= ord(char) <= 0xFF5A and not 0x1D400 <= ord(char) <= 0x1D7FF:
        return False
    return unicodedata.normalize("NFKC", char).isascii()


def _script(char: str) -> str:
    """Return the script of a letter: the first word of its Unicode name."""
    return unicodedata.name(char, "?").split(" ")[0]
