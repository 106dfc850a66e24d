"""Hostile text. Whatever a model, a tool or the web wrote passes here before it is shown.

`neutralise` makes text harmless for panes and logs. `reveal` makes every hidden character
visible, for approval: what is approved must be what is seen (Trojan Source, CVE-2021-42574).
"""

from __future__ import annotations

import re
import unicodedata
from typing import NewType

SafeText = NewType("SafeText", str)
"""Text without control characters, escape sequences or bidirectional overrides."""

# CSI, OSC (ended by BEL or ST), DCS/SOS/PM/APC, and two-byte escapes (ECMA-48).
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)"
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\|$)"
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = frozenset(
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0"
)
_LETTERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]")
"""Those of them that Unicode has among the letters and marks, and `str.isprintable` for printable."""


def _hidden(char: str) -> bool:
    if char in "\n\t":
        return False
    if char in _BIDI or char in _INVISIBLE:
        return True
    return unicodedata.category(char) in ("Cc", "Cs", "Co", "Zl", "Zp") or (
        unicodedata.category(char) == "Cf" and char not in "\u200c\u200d"
    )


def _plain(text: str) -> bool:
    """True when nothing in it is hidden, found without looking at each character."""
    return text.replace("\n", "").isprintable() and (text.isascii() or not _LETTERS.search(text))


def neutralise(text: str) -> SafeText:
    """Text for a pane: escape sequences and hidden characters removed, tabs expanded."""
    if _plain(text):
        return SafeText(text)
    text = _ESCAPES.sub("", text.replace("\r\n", "\n")).replace("\t", "    ")
    if _plain(text):
        return SafeText(text)
    return SafeText(text.translate({ord(char): None for char in set(text) if _hidden(char)}))


def one_line(text: str, limit: int = 200) -> SafeText:
    """Neutralised text on one line, cut at `limit` characters with an ellipsis."""
    if (
        len(text) <= limit
        and "  " not in text
        and text.isprintable()
        and (text.isascii() or not _LETTERS.search(text))
        and text == text.strip()
    ):
        return SafeText(text)
    flat = " ".join(neutralise(text[: limit * 8]).split())
    return SafeText(flat if len(flat) <= limit else flat[: limit - 1] + "…")


def reveal(text: str) -> SafeText:
    """Text for approval: nothing is dropped, every hidden character is written as ⟨U+XXXX⟩.

    Carriage returns, zero-width joiners and tabs count as hidden: in code they can mislead.
    """
    if _plain(text):
        return SafeText(text)
    spelled = {
        ord(char): f"⟨U+{ord(char):04X}⟩"
        for char in set(text)
        if _hidden(char) or char in "\t\u200c\u200d\u00a0"
    }
    return SafeText(text.translate(spelled))


def hidden_characters(text: str) -> int:
    """How many characters `reveal` would have to spell out, tabs not counted."""
    if _plain(text):
        return 0
    return sum(text.count(char) for char in set(text) if _hidden(char) or char in "\u200c\u200d\u00a0")


def counted(number: int, thing: str) -> str:
    """A number and what it counts: `1 event`, `2 events`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def clip(text: str, limit: int) -> tuple[str, bool]:
    """Head and tail of a long text with a mark between them, and whether anything was cut."""
    if len(text) <= limit:
        return text, False
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}", True
