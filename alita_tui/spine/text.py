"""Hostile text. Whatever a model, a tool or the web wrote passes here before it is shown.

`neutralise` makes text harmless for panes and logs. `reveal` makes every hidden character
visible, for approval: what is approved must be what is seen (Trojan Source, CVE-2021-42574).
"""

from __future__ import annotations

import re
from typing import NewType

from alita_tui.spine.hidden_characters import carries, hostile, is_hidden, joins

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
_PRINTABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
"""Hostile characters that are letters and marks to Unicode, and printable to `str.isprintable`."""
_VISIBLE = frozenset(map(chr, range(0x20, 0x7F))) | {"\n"}


def _plain(text: str) -> bool:
    """Return True if a text is certainly harmless, a quick test without a loop over its characters."""
    return text.replace("\n", "").isprintable() and (text.isascii() or not _PRINTABLE.search(text))


def neutralise(text: str) -> SafeText:
    """Return text for a pane: without escape sequences and hidden characters, tabs expanded."""
    if _plain(text):
        return SafeText(text)
    text = _ESCAPES.sub("", text.replace("\r\n", "\n")).replace("\t", "    ")
    if _plain(text):
        return SafeText(text)
    return SafeText(text.translate({ord(char): None for char in set(text) if hostile(char)}))


def one_line(text: str, limit: int = 200) -> SafeText:
    """Return neutralised text on one line, cut at `limit` characters with an ellipsis."""
    if (
        len(text) <= limit
        and "  " not in text
        and text.isprintable()
        and (text.isascii() or not _PRINTABLE.search(text))
        and text == text.strip()
    ):
        return SafeText(text)
    flat = " ".join(neutralise(text[: limit * 8]).split())
    return SafeText(flat if len(flat) <= limit else flat[: limit - 1] + "…")


def reveal(text: str) -> SafeText:
    """Return text for approval: nothing is dropped, every invisible character is written as ⟨U+XXXX⟩.

    So are carriage returns, tabs, joiners, blanks other than the space, and combining marks without a letter.
    """
    spelled_out = _to_spell(text)
    if not spelled_out and "\t" not in text:
        return SafeText(text)
    spelled = {
        ord(char): f"⟨U+{ord(char):04X}⟩"
        for char in {*spelled_out, "\t"}
        if not joins(char) or is_hidden(char)
    }
    visible = text.translate(spelled)
    if any(map(joins, spelled_out)):
        visible = "".join(
            f"⟨U+{ord(char):04X}⟩" if joins(char) and not carries(previous, char) else char
            for previous, char in zip(" " + visible, visible, strict=False)
        )
    return SafeText(visible)


def hidden_characters(text: str) -> int:
    """Return how many characters `reveal` spells out, not counting tabs."""
    spelled_out = _to_spell(text)
    always = sum(text.count(char) for char in spelled_out if is_hidden(char))
    marks = {char for char in spelled_out if not is_hidden(char)}
    if not marks:
        return always
    pairs = zip(" " + text, text, strict=False)
    return always + sum(char in marks and not carries(previous, char) for previous, char in pairs)


def _to_spell(text: str) -> set[str]:
    """Return the characters of a text that are never seen, and those seen only on a letter."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return set()
    return {char for char in set(text) - _VISIBLE if is_hidden(char) or joins(char)} - {"\t"}


def counted(number: int, thing: str) -> str:
    """Return a number and what it counts: `1 event`, `2 events`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def clip(text: str, limit: int) -> tuple[str, bool]:
    """Return head and tail of a long text with a mark between them, and whether anything was cut."""
    if len(text) <= limit:
        return text, False
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}", True
