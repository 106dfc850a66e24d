"""Redacts a text that comes in pieces, so that a secret cut in two is found all the same.

A piece is released up to its last blank or letter beyond ASCII, where no key or token can continue; the rest waits for
the next piece. What still waits at the end is dropped: whoever sends pieces sends the whole afterwards.
"""

from __future__ import annotations

from os.path import commonprefix

from alita_tui.spine.redaction import Redactor

_CONTEXT = 400
"""Characters before a piece that are searched together with it, for instance `Authorization: Bearer `."""

_LONGEST = 65_536
"""Most characters held back; a longer text without a blank is no longer streamed."""

_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class PieceRedactor:
    """One text, its pieces in order."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._context = ""
        self._held_back = ""
        self._mute = False

    def take(self, piece: str) -> str:
        """Add the next piece; return the text that may now be shown, without secrets."""
        if self._mute:
            return ""
        text, start = self._context + self._held_back + piece, len(self._context)
        safe = max(start, min(len(text.rstrip(_PRINTABLE)), self._redactor.begun(text)))
        ready, self._held_back = text[:safe], text[safe:]
        if len(self._held_back) > _LONGEST:
            self._mute, self._held_back = True, ""
        clean = self._redactor.text(ready)
        repeated = len(commonprefix((self._redactor.text(self._context), clean)))
        self._context = ready[-_CONTEXT:]
        return clean[repeated:]
