"""Finds words that can be mistaken for others, by letters that look like those of another script (UTS #39). Pure.

Ordinary text in any script is not reported. Three cases are: a word of Latin letters with a Cyrillic, Greek or Armenian
letter that looks Latin; a word that consists of such letters, on a line without other words of that script; and an
ASCII word with letters that only look like ASCII (mathematical, full-width).
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
    """Return the line (from 1) and the text of each word that can be mistaken for another."""
    if text.isascii():
        return ()
    suspects: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.isascii():
            continue
        words = _WORD.findall(line)
        scripts = {_script(char) for word in words for char in word if char not in _LIKE_LATIN}
        suspects += [(number, word) for word in words if _passes(word, scripts)]
    return tuple(suspects)


def spelled(word: str) -> str:
    """Return a word with each letter outside ASCII written as ⟨U+XXXX⟩."""
    return "".join(char if char.isascii() else f"⟨U+{ord(char):04X}⟩" for char in word)


def _passes(word: str, scripts: set[str]) -> bool:
    foreign = [char for char in word if char in _LIKE_LATIN]
    latin = any(_script(char) == "LATIN" for char in word)
    if any(_is_styled(char) for char in word) and (latin or len(word) > 1):
        return True
    if not foreign:
        return False
    if latin:
        return not _is_symbol(word)
    return len(foreign) == len(word) > 1 and not scripts & {_script(char) for char in foreign}


def _is_symbol(word: str) -> bool:
    """Return True for a symbol such as `αx`: one Greek letter next to a Latin one."""
    return (
        len(word) <= 2
        and _script(word[0]) != _script(word[-1])
        and "GREEK" in (_script(word[0]), _script(word[-1]))
    )


def _is_styled(char: str) -> bool:
    """Return True for an ASCII letter in another form: full-width or mathematical."""
    if not 0xFF21 <= ord(char) <= 0xFF5A and not 0x1D400 <= ord(char) <= 0x1D7FF:
        return False
    return unicodedata.normalize("NFKC", char).isascii()


def _script(char: str) -> str:
    """Return the script of a letter: the first word of its Unicode name."""
    return unicodedata.name(char, "?").split(" ")[0]
