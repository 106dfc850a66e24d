"""Which characters a reader cannot see: one table, from Unicode's own data.

Most of it follows from the general category, which Python knows (`unicodedata`; what its version of Unicode has not
assigned counts as unseen). The rest is written out from Unicode 16.0: DerivedCoreProperties.txt
(Default_Ignorable_Code_Point) and the letters and symbols that fonts leave blank.
"""

from __future__ import annotations

import unicodedata

_IGNORABLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Default_Ignorable_Code_Point: shown as nothing by every font that follows the standard."""
_BLANK = frozenset(
    "\u2800"  # Braille pattern without a dot
    "\u303f"  # ideographic half fill space
    "\ufffc"  # object replacement character
    "\U0001d159"  # musical symbol null notehead
    "\U00016fe4"  # Khitan small script filler
    "\U00013441\U00013442"  # Egyptian hieroglyphs full blank, half blank
)
"""Blank characters that are neither spaces nor ignorable."""
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
_HANGUL = ((0x1100, 0x115E), (0xA960, 0xA97C), (0xAC00, 0xD7A3), (0x1161, 0x11FF), (0xD7B0, 0xD7FB))
"""What a vowel or a final of Hangul joins."""
_VOWELS = ((0x1160, 0x11FF), (0xD7B0, 0xD7FF))
_TONES = (0x1F3FB, 0x1F3FF)

JOINERS = "\u200c\u200d\ufe0e\ufe0f"
"""Ignorable, but used in emoji and some scripts, so they are kept in text that is only displayed."""


def _within(number: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= number <= high for low, high in ranges)


def is_hidden(char: str) -> bool:
    """Return whether a character is invisible, blank or without a fixed look in any position.

    A space, a tab and a line feed do not count: their look is known.
    """
    if " " <= char < "\x7f" or char in "\n\t":
        return False
    return unicodedata.category(char) in _UNSEEN or char in _BLANK or _within(ord(char), _IGNORABLE)


def hostile(char: str) -> bool:
    """Return whether a character is removed from text that is only shown: it controls the terminal, or hides."""
    if char in "\n\t" or char in JOINERS:
        return False
    category = unicodedata.category(char)
    return category in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") or _within(ord(char), _IGNORABLE)


def joins(char: str) -> bool:
    """Return whether a character is drawn on the one before it: a mark, a vowel or final of Hangul, a skin tone."""
    return unicodedata.category(char)[0] == "M" or _within(ord(char), (*_VOWELS, _TONES))


def carries(base: str, mark: str) -> bool:
    """Return whether a mark that follows a character is drawn on it."""
    if is_hidden(base):
        return False
    if _within(ord(mark), _VOWELS):
        return _within(ord(base), _HANGUL)
    if _within(ord(mark), (_TONES,)):
        return unicodedata.category(base) == "So"
    return unicodedata.category(base)[0] in "LNM" or unicodedata.category(base) == "So"
